"""The gate: Great Expectations decides whether a run's baseline candidate may be promoted. Exit code 1: refused.

The suite is schemas/expectations/baseline.json; its parameters come from the feed's `gate`. An expectation of severity `warning`
is reported and kept, but refuses nothing. Results are kept in the table gate_results and as Data Docs (HTML). A refused candidate
leaves the baseline in force as it is.
"""

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
from pyspark.sql import functions as F

from contracts.baseline_log import BaselineLog, changed_day_types, special_days
from contracts.feeds import Feed
from jobs.backends import exclusions, history_runs, settings, spark, tables
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.transforms import excluded_slots, packed
from jobs.transforms.profile import LeftOut, profile


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    feed: Feed = options.feed
    candidate = tables.candidate_of(platform, feed, options.run_id)
    docs = f"{platform.lake}/data_docs/{feed.table}/{options.run_id}"
    log = tables.log_of_baseline(platform, feed)
    with ThreadPoolExecutor(1) as beside:
        figures = beside.submit(profiled, platform, feed, candidate, log)
        from jobs.backends import expectations  # here, as that takes as long as Spark takes for the figures

        results = expectations.validate(figures.result(), feed, docs)
    refusing = [each["expectation"] for each in results if expectations.refuses(each)]
    judged = {"CandidateVersion": candidate.version, "ComparedWith": log.version_in_force}
    _keep(platform, feed, options.run_id, judged, not refusing, results, docs)
    for each in results:
        print(f"{expectations.verdict(each)}  {each['expectation']}", flush=True)
    for each in results:
        if not each["success"]:
            print(
                f"{expectations.verdict(each)}  {each['expectation']}: {each['notes']} Observed: {each['observed']}", flush=True
            )
            for row in each["sample"]:
                print(f"        {json.dumps(row)}", flush=True)
    if refusing:
        refused = f"gate refused candidate {candidate.version} of {feed.name}, the baseline in force is unchanged"
        raise JobError(f"{refused}: {'; '.join(refusing)}. Data Docs: {docs}/index.html, or the task's link Gate report")


def profiled(platform: Platform, feed: Feed, candidate: tables.Commit, log: BaselineLog) -> pd.DataFrame:
    """The figures of every service and day type (see `transforms.profile`), from one pass over the candidate.

    What is in force is read only where the candidate is made from other inputs: elsewhere the two are the same. A backfilled
    candidate, for an earlier night than the one in force, is judged by itself: the other knows what came after. A special day is
    in no average: the last day is the one before it. What lies in maintenance windows is not predicted.
    """
    session = spark.session(f"check_baseline {feed.name}", platform)
    as_of = dt.date.fromisoformat(candidate.note["as_of"])
    new = packed.completed(tables.candidate(platform, feed).read(session, candidate.version))
    old = new.limit(0)
    in_force = log.in_force
    if in_force and (in_force.as_of is None or in_force.as_of <= as_of):
        changed = changed_day_types(candidate.note["inputs"], in_force.inputs)
        old = packed.completed(tables.baseline(platform, feed).read(session, log.table_version))
        old = old.where(F.col("DayType").isin(changed))
    last = feed.calendar.newest_counting(as_of)
    runs = history_runs.read(session, tables.history(platform, feed), candidate.note["history_version"], [last])
    taken_for = feed.with_found(special_days(candidate.note)).calendar.other_day_types(last, last)
    last_day = packed.by_day_type(runs, taken_for)
    after, left_out = last + dt.timedelta(days=1), _left_out(feed, last)
    return profile(new, old, last_day, after, feed.slots, feed.gate.moved_percent, left_out).toArrow().to_pandas()


def _left_out(feed: Feed, date: dt.date) -> list[LeftOut]:
    """The slots of the date that maintenance windows touch, each with the pattern of its services."""
    days = np.array([(date - excluded_slots.EPOCH).days], np.int32)
    touching = [each for each in feed.calendar.windows() if exclusions.of_date([each], date, feed)]
    return [
        (each.services, excluded_slots.excluded([(each.start, each.end)], days, feed.zone, feed.interval_seconds)[0])
        for each in touching
    ]


def _keep(platform: Platform, feed: Feed, run_id: str, judged: dict, success: bool, results: list[dict], docs: str) -> None:
    row = {
        "Feed": feed.name,
        "RunId": run_id,
        **judged,
        "CheckedAt": dt.datetime.now(dt.UTC),
        "Success": success,
        "Results": json.dumps(results),
        "DocsPath": docs,
    }
    tables.gate_results(platform).add([row], {"run_id": run_id})


if __name__ == "__main__":
    settings.run(main)
