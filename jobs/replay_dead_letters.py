"""Replay dead letters: what was refused, and can be read by now, goes back to its feed's topic; without `--send` it is only told.

A letter can be read later than it came because its schema was registered meanwhile, or the contract corrected. It is judged here
as archive and streams judge it. What is sent is remembered in the table dead_letter_replays, so no run sends a letter again, but
one that was killed between the two: then its reading comes twice, which makes no difference.
"""

import datetime as dt

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.feeds import Feed
from jobs import kafka, lake, readings, settings, spark, wire
from jobs.settings import Platform

READABLE = "can be read now"


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--since", type=settings.iso_date, help="only what was dead-lettered on that local date or later")
    arguments.add_argument("--reason", default="", metavar="TEXT", help="only letters whose reason contains this text")
    arguments.add_argument("--send", action="store_true", help="send what can be read now; without it nothing is changed")
    options = arguments.parse_args()
    feed: Feed = options.feed
    ranges = kafka.available(platform, feed.dead_letter_topic)
    if options.since:
        since = kafka.offsets_since(platform, feed.dead_letter_topic, dt.datetime.combine(options.since, dt.time(), feed.zone))
        ranges = {partition: kafka.Range(max(each.start, since[partition]), each.end) for partition, each in ranges.items()}
    if not any(each.end > each.start for each in ranges.values()):
        print(f"{feed.dead_letter_topic}: no dead letters", flush=True)
        return
    session = spark.session(f"replay_dead_letters {feed.name}", platform)
    letters = kafka.read_ranges(session, platform, feed.dead_letter_topic, ranges, headers=True)
    writers = kafka.Registry(platform).writers(avro.subject(feed.topic), refused=None)
    judged = readings.decode(_originals(letters, feed, options.reason), feed, writers)
    waiting = _not_replayed(session, judged, platform, feed).cache()
    verdicts = waiting.groupBy(F.coalesce("Error", F.lit(READABLE)).alias("Verdict")).count().orderBy(F.desc("count")).collect()
    print(f"{feed.dead_letter_topic}: {sum(row['count'] for row in verdicts):,} letters that were not replayed yet", flush=True)
    for row in verdicts:
        print(f"{row['count']:>12,}  {row.Verdict}", flush=True)
    readable = waiting.where("Error IS NULL")
    if options.send:
        sent = _send(readable, platform, feed, options.run_id)
        print(f"{feed.topic}: {sent:,} records sent again", flush=True)


def _originals(letters: DataFrame, feed: Feed, reason: str) -> DataFrame:
    """The records as they came to the feed's topic (key, value, partition, offset), each once: archive and stream may both have
    dead-lettered it."""
    ours = F.filter("headers", lambda header: header.key.isin(*wire.LETTER))
    said = letters.select("value", F.map_from_entries(F.transform(ours, lambda h: F.struct(h.key, h.value))).alias("said"))

    def header(name: str):
        return F.col("said")[name].cast("string")

    of_feed = said.where(header("topic") == feed.topic).where(header("reason").contains(reason))
    return of_feed.select(
        F.col("said")["key"].alias("key"),
        "value",
        header("partition").cast("int").alias("partition"),
        header("offset").cast("long").alias("offset"),
    ).dropDuplicates(["partition", "offset"])


def _not_replayed(session: SparkSession, letters: DataFrame, platform: Platform, feed: Feed) -> DataFrame:
    table = lake.dead_letter_replays(platform)
    if table.version() < 0:
        return letters
    replayed = table.read(session).where(F.col("Feed") == feed.name)
    return letters.join(replayed, ["KafkaPartition", "KafkaOffset"], "left_anti")


def _send(readable: DataFrame, platform: Platform, feed: Feed, run_id: str) -> int:
    origin = F.concat_ws("-", F.lit(feed.topic), "KafkaPartition", "KafkaOffset").cast("binary")
    header = F.array(F.struct(F.lit("replayed-from").alias("key"), origin.alias("value")))
    records = readable.select(
        F.lit(feed.topic).alias("topic"), F.col("Key").alias("key"), F.col("Bytes").alias("value"), header.alias("headers")
    )
    records.write.format("kafka").options(**kafka.producer_options(platform)).save()
    now = dt.datetime.now(dt.UTC)
    rows = [
        {
            "Feed": feed.name,
            "KafkaPartition": row.KafkaPartition,
            "KafkaOffset": row.KafkaOffset,
            "RunId": run_id,
            "ReplayedAt": now,
        }
        for row in readable.select("KafkaPartition", "KafkaOffset").collect()
    ]
    if rows:
        lake.dead_letter_replays(platform).add(rows, {"run_id": run_id})
    return len(rows)


if __name__ == "__main__":
    settings.run(main)
