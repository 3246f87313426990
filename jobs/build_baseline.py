"""Build a baseline candidate: history/<feed> to baseline_candidate/<feed>, one commit. The baseline in force is not touched.

A candidate is made from the last four dates of each day type before `--as-of`. Only day types whose inputs are others than those
of the candidate before are computed: another set of dates, other rows in one of them, another declaration, another formula. The
rest stays as it is, so the candidate is what a full rebuild would give, at the cost of what changed.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from contracts.baseline_log import changed_day_types
from contracts.feeds import Feed
from jobs.backends import history_runs, history_table, settings, spark, tables
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.transforms import baseline, calendar, growth

FORMULAS = (baseline, calendar, growth)


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--as-of", type=settings.iso_date, help="local date that the baseline is for (default: today)")
    arguments.add_argument("--full", action="store_true", help="compute every day type, whatever has changed")
    options = arguments.parse_args()
    feed: Feed = options.feed
    as_of = options.as_of or dt.datetime.now(feed.zone).date()
    history, table = history_table.opened(platform, feed), tables.candidate(platform, feed)
    version, before = history.version(), table.version()
    if version < 0:
        raise JobError(f"history/{feed.table} does not exist; archive the feed first (jobs/archive.py --feed {feed.name})")
    wanted = inputs(feed, as_of, history.fingerprints(version))
    if not wanted:
        dates = sorted(date for dates in feed.baseline_dates(as_of).values() for date in dates)
        raise JobError(f"history/{feed.table} has no reading of any of the dates that count, {dates[0]} to {dates[-1]}")
    known = {} if options.full else _known_inputs(table, before)
    stale = changed_day_types(wanted, known)
    note = {"run_id": options.run_id, "as_of": as_of.isoformat(), "history_version": version, "inputs": wanted}
    if stale:
        _build(platform, feed, as_of, stale, note, whole=not known, after=before)
    else:
        table.commit_note(note, after=before)
    done = f"day types {', '.join(map(str, stale))} computed" if stale else "nothing has changed"
    print(f"baseline_candidate/{feed.table}: version {table.version()} as of {as_of}, {done}", flush=True)


def inputs(feed: Feed, as_of: dt.date, history_dates: dict[str, str]) -> dict[str, str]:
    """By day type (as text), a digest of all that its rows are made from; day types without a reading are left out.

    history_dates: the dates of history/<feed>, each with the fingerprint of its files.
    """
    formula = [hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest() for module in FORMULAS]
    declared = [feed.timezone, feed.interval_seconds, feed.spread_windows, feed.growth]
    digests = {}
    for day_type, dates in feed.baseline_dates(as_of).items():
        used = {date.isoformat(): history_dates[date.isoformat()] for date in dates if date.isoformat() in history_dates}
        if used:
            digests[str(day_type)] = hashlib.sha256(json.dumps([formula, declared, used]).encode()).hexdigest()[:16]
    return digests


def _known_inputs(table: tables.Table, version: int) -> dict[str, str]:
    """The inputs that the newest candidate's rows were made from; empty if something else has written to the table since."""
    newest = table.newest_commit_with("inputs")
    return newest.note["inputs"] if newest and table.fingerprints(newest.version) == table.fingerprints(version) else {}


def _build(platform: Platform, feed: Feed, as_of: dt.date, day_types: list[int], note: dict, whole: bool, after: int) -> None:
    """These day types into one commit. Each is a Spark job of its own, two at a time, whose rows pass through here."""
    session, by_type = spark.session(f"build_baseline {feed.name}", platform), feed.baseline_dates(as_of)
    frames = {day_type: _built(session, platform, feed, by_type[day_type], note["history_version"]) for day_type in day_types}

    def computed(day_type: int) -> pa.Table:
        print(f"day type {day_type}: reading {', '.join(map(str, by_type[day_type]))}", flush=True)
        return frames[day_type].toArrow()

    def rows() -> Iterator[pa.RecordBatch]:
        with ThreadPoolExecutor(2) as two:  # what one leaves idle while its last tasks run, the other uses
            for table in two.map(computed, day_types):
                yield from table.to_batches()

    tables.candidate(platform, feed).write(rows(), range(1, 8) if whole else day_types, note, after)


def _built(session: SparkSession, platform: Platform, feed: Feed, dates: list[dt.date], version: int) -> DataFrame:
    runs = history_runs.read(session, tables.history(platform, feed), version, dates)
    holidays = feed.holiday_dates(dates[0], dates[-1])
    return baseline.build(runs, holidays, feed.slots, feed.spread_windows, feed.growth)


if __name__ == "__main__":
    settings.run(main)
