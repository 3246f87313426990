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

from contracts.feeds import Feed
from jobs import lake, settings, spark
from jobs.settings import JobError, Platform
from jobs.transforms import baseline, calendar, growth

COLUMNS = ["ServiceName", "Slot", "Value"]
FORMULAS = (baseline, calendar, growth)


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--as-of", type=settings.iso_date, help="local date that the baseline is for (default: today)")
    arguments.add_argument("--full", action="store_true", help="compute every day type, whatever has changed")
    options = arguments.parse_args()
    feed: Feed = options.feed
    as_of = options.as_of or dt.datetime.now(feed.zone).date()
    history, table = lake.history(platform, feed), lake.candidate(platform, feed)
    version, before = history.version(), table.version()
    if version < 0:
        raise JobError(f"history/{feed.table} does not exist; archive the feed first (jobs/archive.py --feed {feed.name})")
    wanted = inputs(feed, as_of, history.parts(version))
    if not wanted:
        dates = sorted(date for dates in feed.baseline_dates(as_of).values() for date in dates)
        raise JobError(f"history/{feed.table} has no reading of any of the dates that count, {dates[0]} to {dates[-1]}")
    held = {} if options.full else _held(table, before)
    stale = sorted(day_type for day_type in wanted.keys() | held.keys() if wanted.get(day_type) != held.get(day_type))
    note = {"run_id": options.run_id, "as_of": as_of.isoformat(), "history_version": version, "inputs": wanted}
    if stale:
        _build(platform, feed, as_of, [int(day_type) for day_type in stale], note, whole=not held, after=before)
    else:
        table.remark(note, after=before)
    done = f"day types {', '.join(stale)} computed" if stale else "nothing has changed"
    print(f"baseline_candidate/{feed.table}: version {table.version()} as of {as_of}, {done}", flush=True)


def inputs(feed: Feed, as_of: dt.date, parts: dict[str, str]) -> dict[str, str]:
    """By day type (as text), a digest of all that its rows are made from; day types without a reading are left out.

    parts: the dates that history holds, each with its fingerprint.
    """
    formula = [hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest() for module in FORMULAS]
    declared = [feed.timezone, feed.interval_seconds, feed.spread_windows, feed.growth]
    digests = {}
    for day_type, dates in feed.baseline_dates(as_of).items():
        held = {date.isoformat(): parts[date.isoformat()] for date in dates if date.isoformat() in parts}
        if held:
            digests[str(day_type)] = hashlib.sha256(json.dumps([formula, declared, held]).encode()).hexdigest()[:16]
    return digests


def _held(table: lake.Table, version: int) -> dict[str, str]:
    """The inputs that the newest candidate's rows were made from; none are known where somebody else has written to it since."""
    newest = table.newest("inputs")
    return newest.note["inputs"] if newest and table.parts(newest.version) == table.parts(version) else {}


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

    lake.candidate(platform, feed).write(rows(), range(1, 8) if whole else day_types, note, after)


def _built(session: SparkSession, platform: Platform, feed: Feed, dates: list[dt.date], version: int) -> DataFrame:
    runs = lake.history(platform, feed).map_files(session, version, dates, COLUMNS, baseline.pack, baseline.RUNS)
    holidays = feed.holiday_dates(dates[0], dates[-1])
    return baseline.build(runs, holidays, feed.slots, feed.spread_windows, feed.growth)


if __name__ == "__main__":
    settings.run(main)
