"""Promote the candidate that passed the gate in this run: one atomic commit on baseline/<feed>, which names the candidate."""

import datetime as dt

from pyspark.sql import functions as F

from jobs import lake, settings, spark
from jobs.settings import JobError, Platform


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--by", required=True, help="who promotes: a person, or the scheduler")
    options = arguments.parse_args()
    feed, run_id = options.feed, options.run_id
    table = lake.baseline(platform, feed)
    if any(commit.note.get("run_id") == run_id for commit in table.commits()):
        print(f"baseline/{feed.table}: run {run_id} is promoted already", flush=True)
        return
    session = spark.session(f"promote_baseline {feed.name}", platform)
    version = _passed(session, platform, feed.name, run_id)
    note = {"candidate_version": version, "run_id": run_id, "gate": True, "by": options.by, "reason": "passed the gate"}
    candidate = lake.candidate(platform, feed).read(session, version)
    table.overwrite(candidate, note | {"at": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")})
    print(f"baseline/{feed.table}: version {table.version()} is in force, from candidate {version}", flush=True)


def _passed(session, platform: Platform, feed_name: str, run_id: str) -> int:
    """Version of the candidate that the gate let pass in that run."""
    results = lake.gate_results(platform)
    if results.version() < 0:
        raise JobError(f"no candidate of {feed_name} was ever checked; run jobs/check_baseline.py first")
    of_run = (F.col("Feed") == feed_name) & (F.col("RunId") == run_id)
    newest = results.read(session).where(of_run).orderBy(F.col("CheckedAt").desc()).first()
    if newest is None:
        raise JobError(f"run {run_id} of {feed_name} has no gate result; run jobs/check_baseline.py --run-id {run_id} first")
    if not newest.Success:
        raise JobError(f"run {run_id} of {feed_name}: the gate refused candidate {newest.CandidateVersion}")
    return newest.CandidateVersion


if __name__ == "__main__":
    settings.run(main)
