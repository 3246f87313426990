"""Promote the candidate that passed the gate in this run: one atomic commit on baseline/<feed>, which names the candidate.

A candidate that the gate refused can be promoted by a person (`--approved-by`, with the reason); the commit says so. A candidate
for an earlier night than the one in force, as a backfill makes them, stays a candidate. One that the gate compared with another
baseline than the one in force by now is not promoted: that verdict says nothing any more. No Spark session is started.
"""

import datetime as dt

import pyarrow.dataset as ds

from contracts.baseline_log import changed_day_types
from contracts.feeds import Feed
from jobs.backends import settings, tables
from jobs.backends.settings import Platform
from jobs.errors import JobError


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--by", required=True, type=settings.line, help="who promotes: a person, or the scheduler")
    arguments.add_argument("--approved-by", type=settings.line, help="who approves a candidate that the gate refused")
    arguments.add_argument("--approved-candidate", type=int, help="the version that was approved; a later one is not promoted")
    arguments.add_argument("--reason", type=settings.line, help="why it is approved nevertheless; required with --approved-by")
    options = arguments.parse_args()
    if options.approved_by and not (options.reason or "").strip():
        raise JobError("--approved-by needs a --reason")
    feed, run_id = options.feed, options.run_id
    table, candidate = tables.baseline(platform, feed), tables.candidate(platform, feed)
    log = tables.log_of_baseline(platform, feed)
    if log.of_run(run_id):
        print(f"baseline/{feed.table}: run {run_id} is promoted already", flush=True)
        return
    version, compared_with, passed = _checked(platform, feed, run_id)
    if options.approved_candidate not in (None, version):
        changed = f"candidate {options.approved_candidate} was approved, and candidate {version} was built since"
        raise JobError(f"run {run_id} of {feed.name}: {changed}; clear check_baseline and its downstream tasks to be asked again")
    if not passed and not options.approved_by:
        raise JobError(f"run {run_id} of {feed.name}: the gate refused candidate {version}; a person may approve it")
    built = tables.candidate_of(platform, feed, run_id).note
    in_force = log.in_force
    if in_force and in_force.as_of and dt.date.fromisoformat(built["as_of"]) < in_force.as_of:
        newer = f"version {in_force.version}, as of {in_force.as_of}, is in force"
        print(f"baseline/{feed.table}: {newer}; candidate {version}, as of {built['as_of']}, stays one", flush=True)
        return
    if compared_with != log.version_in_force:
        judged = f"the gate compared candidate {version} with version {compared_with}"
        now = f"version {in_force.version} was put in force by {in_force.by} since then" if in_force else "none is in force now"
        raise JobError(f"baseline/{feed.table}: {judged}, but {now}; clear check_baseline to have it judged against that")
    note = {
        "candidate_version": version,
        "run_id": run_id,
        "as_of": built["as_of"],
        "gate": passed,
        "by": options.by if passed else options.approved_by,
        "reason": f"passed the gate{_repaired(platform, feed, run_id)}" if passed else options.reason,
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
        "inputs": built["inputs"],
        **{name: built.get(name, {}) for name in ("special_days", "special_days_why")},  # none of an earlier release's candidate
    }
    # Only day types made from other inputs are copied: the rest of the candidate is what is in force.
    if day_types := changed_day_types(built["inputs"], in_force.inputs if in_force else None):
        table.copy(candidate, version, day_types, note, log.table_version)
    else:
        table.commit_note(note, log.table_version)
    print(f"baseline/{feed.table}: version {table.version()} is in force, from candidate {version}", flush=True)


def _repaired(platform: Platform, feed: Feed, run_id: str) -> str:
    """What the run repaired, and why, where it did."""
    newest = tables.history(platform, feed).commits(100)  # a repair is a matter of hours
    notes = (commit.note for commit in newest if commit.note.get("run_id") == run_id)
    repair = next((note for note in notes if "repaired" in note), None)
    return " after a repair of {} to {}: {}".format(*repair["repaired"], repair["reason"]) if repair else ""


def _checked(platform: Platform, feed: Feed, run_id: str) -> tuple[int, int, bool]:
    """The gate's last verdict on the candidate that this run has built last: the candidate's version, the version that it was
    compared with (-1: none), and success. An earlier candidate of the run, which was cleared and built again, does not count."""
    log = tables.gate_results(platform).log()
    if log is None:
        raise JobError(f"no candidate of {feed.name} was ever checked; run jobs/check_baseline.py first")
    of_run = (ds.field("Feed") == feed.name) & (ds.field("RunId") == run_id)
    columns = ["CheckedAt", "CandidateVersion", "ComparedWith", "Success"]
    results = (
        log.to_pyarrow_dataset()
        .to_table(columns=columns, filter=of_run)
        .sort_by([("CandidateVersion", "descending"), ("CheckedAt", "descending")])
        .to_pylist()
    )
    version = tables.candidate_of(platform, feed, run_id).version
    if not results or results[0]["CandidateVersion"] != version:
        what = f"run {run_id} of {feed.name} has no gate result of candidate {version}"
        raise JobError(f"{what}; run jobs/check_baseline.py --run-id {run_id} first")
    return results[0]["CandidateVersion"], results[0]["ComparedWith"], results[0]["Success"]


if __name__ == "__main__":
    settings.run(main)
