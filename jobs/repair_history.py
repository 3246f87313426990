"""Repair history: rewrite dates of history/<feed> from what the topic still holds of them, in one commit.

For rows that were lost or damaged, or that a corrected contract can read now. Rows that the topic no longer holds (older than its
retention, or bootstrapped) stay as they are.
"""

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from contracts import avro, placed_by
from contracts.feeds import Feed
from jobs.backends import history_table, kafka, offset_ledger, settings, spark
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import feed_records
from jobs.transforms.history_rows import placed

LONGEST = 400  # days
AHEAD = dt.timedelta(days=1)  # a producer's clock may be that far ahead of the broker's, whose time the offsets are looked up by


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--from", dest="first", required=True, type=settings.iso_date, help="first local date, YYYY-MM-DD")
    arguments.add_argument("--to", dest="last", required=True, type=settings.iso_date, help="last local date, included")
    arguments.add_argument("--reason", default="", type=settings.line, help="why; kept in the table's history")
    options = arguments.parse_args()
    feed: Feed = options.feed
    table, dates = history_table.opened(platform, feed), days(options.first, options.last)
    reached = offset_ledger.archived(table)
    if not reached:
        raise JobError(f"history/{feed.table} was never archived; run jobs/archive.py --feed {feed.name} first")
    since = dt.datetime.combine(dates[0], dt.time(), feed.zone) - AHEAD
    ends = {p: (start, reached.get(p, start)) for p, start in kafka.offsets_since(platform, feed.topic, since).items()}
    ranges = {p: kafka.Range(min(start, end), end) for p, (start, end) in ends.items()}
    session = spark.session(f"repair_history {feed.name}", platform)
    inside = F.col("Date").between(F.lit(dates[0]), F.lit(dates[-1]))
    writers = Registry(platform).writers(avro.subject(feed.topic), refused=None)
    records = kafka.read_ranges(session, platform, feed.topic, ranges)
    decoded = feed_records.decode(records, feed, writers)
    read = placed(decoded.where(F.col("Error").isNull()), feed.timezone, feed.interval_seconds).where(inside)
    rows = _no_longer_in(records, history_table.read(session, table).where(inside)).unionByName(read)
    note = {"run_id": options.run_id, "repaired": [str(dates[0]), str(dates[-1])], "reason": options.reason}
    history_table.write(session, table, rows.cache(), dates, note | placed_by.note_of(feed))
    print(f"history/{feed.table}: version {table.version()}, {rows.count():,} readings of {dates[0]} to {dates[-1]}", flush=True)


def _no_longer_in(records: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows of history that came from none of these records. The broker's time is part of a record's place, as offsets begin
    again in a topic that was made anew; rows of older releases don't have it."""
    places = records.select(
        F.col("partition").alias("_partition"), F.col("offset").alias("_offset"), F.col("timestamp").alias("_at")
    )
    same = (F.col("KafkaPartition") == F.col("_partition")) & (F.col("KafkaOffset") == F.col("_offset"))
    return rows.join(places, same & F.coalesce(F.col("KafkaTimestamp") == F.col("_at"), F.lit(True)), "left_anti")


def days(first: dt.date, last: dt.date) -> list[dt.date]:
    """All dates from first to last. Raises JobError where there are none, or too many to be meant."""
    if not 0 <= (last - first).days < LONGEST:
        raise JobError(f"--from {first} --to {last}: must be 1 to {LONGEST} days in their order")
    return [first + dt.timedelta(days=number) for number in range((last - first).days + 1)]


if __name__ == "__main__":
    settings.run(main)
