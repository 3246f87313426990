"""Build a baseline candidate: history/<feed> to baseline_candidate/<feed>, one commit. The baseline in force is not touched.

A candidate is made from the last four dates of each day type before `--as-of`, that date excluded.
"""

import datetime as dt

from pyspark.sql import functions as F

from contracts.feeds import Feed
from jobs import lake, settings, spark
from jobs.settings import JobError, Platform
from jobs.transforms import baseline


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--as-of", type=settings.iso_date, help="local date that the baseline is for (default: today)")
    options = arguments.parse_args()
    feed: Feed = options.feed
    as_of = options.as_of or dt.datetime.now(feed.zone).date()
    dates = feed.baseline_dates(as_of)
    history = lake.history(platform, feed)
    if history.version() < 0:
        raise JobError(f"history/{feed.table} does not exist; archive the feed first (jobs/archive.py --feed {feed.name})")
    if history.dates().isdisjoint(dates):
        raise JobError(f"history/{feed.table} has no reading of any of the dates that count, {dates[0]} to {dates[-1]}")
    session = spark.session(f"build_baseline {feed.name}", platform)
    rows = history.read(session).where(F.col("Date").isin(dates))
    placed = baseline.readings_by_slot(rows, feed.timezone, feed.interval_seconds, feed.holiday_dates(dates[0], as_of))
    packed = baseline.build(placed, feed.slots, feed.spread_window_seconds // feed.interval_seconds)
    table = lake.candidate(platform, feed)
    table.overwrite(packed, {"run_id": options.run_id, "as_of": as_of.isoformat(), "history_version": history.version()})
    print(f"baseline_candidate/{feed.table}: version {table.version()} as of {as_of}", flush=True)


if __name__ == "__main__":
    settings.run(main)
