"""Build a baseline candidate: history/<feed> to baseline_candidate/<feed>, one commit. The baseline in force is not touched.

A candidate is made from the last dates of each day type before `--as-of`: four for the plain figures, up to twelve for the
robust normal. Only day types whose inputs are others than those of the candidate before are computed: another set of dates, other
rows in one of them, other readings that are not normal, another declaration, another formula. The rest stays as it is, so the
candidate is what a full rebuild would give, at the cost of what changed.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from contracts.baseline_log import DAY_TYPES, changed_day_types
from contracts.exclusions import Excluded
from contracts.feeds import Feed
from jobs.backends import exclusions, history_runs, history_table, not_normal, past_holidays, settings, spark, tables
from jobs.backends.past_holidays import Found
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.transforms import baseline, excluded_slots, growth, holiday_kinds, maintenance, normal, packed, weighted_median
from jobs.transforms.packed import How, Source

FORMULAS = (baseline, excluded_slots, growth, maintenance, normal, packed, weighted_median)


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
    newest = table.newest_commit_with("holidays")
    holidays = past_holidays.found(platform, feed, as_of, version, how(feed), newest.note["holidays"] if newest else {})
    of_day_types = sources(feed, as_of, not_normal.known(platform, feed), holidays)
    wanted = inputs(feed, of_day_types, history.fingerprints(version))
    if not wanted:
        dates = sorted(date for source in of_day_types.values() for date in source.last)
        raise JobError(f"history/{feed.table} has no reading of any of the dates that count, {dates[0]} to {dates[-1]}")
    taken = past_holidays.taken_for(feed, as_of, holidays, tables.log_of_baseline(platform, feed).in_force)
    known = {} if options.full else _known_inputs(table, before)
    stale = changed_day_types(wanted, known)
    note = {
        "run_id": options.run_id,
        "as_of": as_of.isoformat(),
        "history_version": version,
        "inputs": wanted,
        "holidays": holidays,
        "special_days": {str(day): each.like for day, each in taken.items()},
        "special_days_why": {str(day): each.why for day, each in taken.items()},
    }
    if stale:
        _build(platform, feed, of_day_types, stale, note, whole=not known, after=before)
    else:
        table.commit_note(note, after=before)
    done = f"day types {', '.join(map(str, stale))} computed" if stale else "nothing has changed"
    print(f"baseline_candidate/{feed.table}: version {table.version()} as of {as_of}, {done}", flush=True)


def sources(feed: Feed, as_of: dt.date, found: Iterable[Excluded], holidays: Mapping[str, Found]) -> dict[int, Source]:
    """By day type, what its rows are made from. found: readings that are not normal. holidays: by date, what they were like."""
    kinds = past_holidays.of_averages(feed, as_of, holidays)
    last, dates = feed.calendar.baseline_dates(as_of), holiday_kinds.dates_of_kinds(as_of, kinds)
    found, windows = list(found), feed.calendar.windows()
    return {
        day_type: Source(
            day_type,
            last[day_type],
            dates[day_type],
            [each for date in dates[day_type] for each in exclusions.of_date(found, date, feed)],
            [each for date in dates[day_type] for each in exclusions.of_date(windows, date, feed)],
        )
        for day_type in DAY_TYPES
    }


def inputs(feed: Feed, of_day_types: dict[int, Source], history_dates: dict[str, str]) -> dict[str, str]:
    """By day type (as text), a digest of all that its rows are made from; those without a reading of the last four dates are left
    out.

    history_dates: the dates of history/<feed>, each with the fingerprint of its files.
    """
    formula = [hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest() for module in FORMULAS]
    digests = {}
    for day_type, source in of_day_types.items():
        last, used = (
            {date.isoformat(): history_dates[date.isoformat()] for date in dates if date.isoformat() in history_dates}
            for dates in (source.last, source.normal)
        )
        if last:
            made_from = json.dumps([formula, how(feed), last, used, source.left_out, source.maintenance], default=str)
            digests[str(day_type)] = hashlib.sha256(made_from.encode()).hexdigest()[:16]
    return digests


def how(feed: Feed) -> How:
    return How(feed.zone, feed.interval_seconds, feed.spread_windows, feed.growth)


def _known_inputs(table: tables.Table, version: int) -> dict[str, str]:
    """The inputs that the newest candidate's rows were made from; empty if something else has written to the table since."""
    newest = table.newest_commit_with("inputs")
    return newest.note["inputs"] if newest and table.fingerprints(newest.version) == table.fingerprints(version) else {}


def _build(
    platform: Platform, feed: Feed, of_day_types: dict[int, Source], day_types: list[int], note: dict, whole: bool, after: int
) -> None:
    """These day types into one commit. Each is a Spark job of its own, two at a time, whose rows pass through here."""
    session = spark.session(f"build_baseline {feed.name}", platform)
    chosen = [of_day_types[day_type] for day_type in day_types]
    frames = {each.day_type: _built(session, platform, feed, each, note["history_version"]) for each in chosen}

    def computed(source: Source) -> pa.Table:
        ranges = len(source.left_out) + len(source.maintenance)
        but = f" but for {ranges} ranges that are not normal" if ranges else ""
        print(f"day type {source.day_type}: reading {', '.join(map(str, source.dates))}{but}", flush=True)
        return frames[source.day_type].toArrow()

    def rows() -> Iterator[pa.RecordBatch]:
        with ThreadPoolExecutor(2) as two:  # what one leaves idle while its last tasks run, the other uses
            for table in two.map(computed, chosen):
                yield from table.to_batches()

    tables.candidate(platform, feed).write(rows(), DAY_TYPES if whole else day_types, note, after)


def _built(session: SparkSession, platform: Platform, feed: Feed, source: Source, version: int) -> DataFrame:
    runs = history_runs.read(session, tables.history(platform, feed), version, source.dates)
    return packed.build(runs, source, how(feed))


if __name__ == "__main__":
    settings.run(main)
