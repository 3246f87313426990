"""Archive: what came into a feed's topic since the last archive becomes rows of history/<feed>.

The offset range that a commit covers stands in that commit's own note, so a run repeated or killed at any point leaves the same
table. A reading is identified by (ServiceName, Timestamp); of two for one identity the later offset wins: it is a correction.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts.feeds import Feed
from jobs import kafka, lake, settings, spark, wire
from jobs.settings import JobError, Platform
from jobs.transforms import calendar


def main(platform: Platform) -> None:
    feed = settings.parser(__doc__).parse_args().feed
    table = lake.history(platform, feed)
    ranges = pending(kafka.available(platform, feed.topic), _archived(table), feed)
    waiting = sum(each.end - each.start for each in ranges.values())
    print(f"{feed.topic}: {waiting:,} records to archive", flush=True)
    if not waiting:
        return
    session = spark.session(f"archive {feed.name}", platform)
    schemas = kafka.Registry(platform).writer_schemas(feed.topic)
    decoded = wire.decode(kafka.read_ranges(session, platform, feed.topic, ranges), feed, schemas).cache()
    bad = decoded.where(F.col("Error").isNotNull())
    bad.select(*wire.dead_letter(feed)).write.format("kafka").options(**kafka.producer_options(platform)).save()
    rows = history_rows(decoded.where(F.col("Error").isNull()), feed)
    note = {"offsets": {str(partition): each.end for partition, each in ranges.items()}}
    _write(session, table, rows, note)
    print(f"history/{feed.table}: version {table.version()}, {bad.count():,} records to {feed.dead_letter_topic}", flush=True)


def pending(held: dict[int, kafka.Range], archived: dict[int, int], feed: Feed) -> dict[int, kafka.Range]:
    """The offsets of each partition that are yet to be archived. Raises JobError where the topic has already lost some."""
    ranges = {}
    for partition, each in held.items():
        start = archived.get(partition, each.start)
        if start < each.start:
            raise JobError(
                f"topic {feed.topic}, partition {partition}: offsets {start} to {each.start - 1} were deleted before they were "
                f"archived; raise retention_days in schemas/feeds/{feed.name}.yaml and replay that span from its source"
            )
        if start > each.end:
            raise JobError(
                f"topic {feed.topic}, partition {partition}: archived up to offset {start}, but the topic ends at {each.end}; "
                "the topic was deleted and made anew: archive it as a new feed, or restore it"
            )
        ranges[partition] = kafka.Range(start, each.end)
    return ranges


def history_rows(readings: DataFrame, feed: Feed) -> DataFrame:
    """One row for each (ServiceName, Timestamp), that of the latest offset, with its local Date."""
    latest = readings.groupBy("ServiceName", "Timestamp").agg(
        F.max_by(F.struct("Value", "KafkaPartition", "KafkaOffset"), F.col("KafkaOffset")).alias("_latest")
    )
    date = calendar.local_date(calendar.wall_clock(F.col("Timestamp"), feed.timezone))
    return latest.select("ServiceName", "Timestamp", "_latest.*", date.alias("Date"))


def _archived(table: lake.Table) -> dict[int, int]:
    noted = next((commit.note["offsets"] for commit in table.commits() if "offsets" in commit.note), {})
    return {int(partition): end for partition, end in noted.items()}


def _write(session: SparkSession, table: lake.Table, rows: DataFrame, note: dict) -> None:
    if table.version() < 0:
        table.append(rows.repartition("Date").sortWithinPartitions("Date", "ServiceName", "Timestamp"), note, partition_by="Date")
        return
    rows = rows.cache()
    dates = [row.Date for row in rows.select("Date").distinct().collect()]
    touched = ", ".join(f"DATE'{date.isoformat()}'" for date in sorted(dates)) or "NULL"
    rows.createOrReplaceTempView("arrived")
    with table.noting(session, note):
        session.sql(f"""
            MERGE INTO {table.sql} AS kept USING arrived
            ON kept.Date IN ({touched}) AND kept.Date = arrived.Date
               AND kept.ServiceName = arrived.ServiceName AND kept.Timestamp = arrived.Timestamp
            WHEN MATCHED AND arrived.KafkaOffset > kept.KafkaOffset THEN UPDATE SET *
            WHEN NOT MATCHED THEN INSERT *
        """)


if __name__ == "__main__":
    settings.run(main)
