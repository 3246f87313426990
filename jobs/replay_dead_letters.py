"""Replay dead letters: what was refused, and can be read by now, goes back to its topic; without `--send` it is only told.

A letter can be read later than it came because its schema was registered meanwhile, or the contract or the query corrected. It is
judged here as those judge it that read the topic: a feed's archive and streams, or queries. What is sent is remembered in the
table dead_letter_replays, so no run sends a letter again, but one that was killed between the two: then its record comes twice.
"""

import datetime as dt

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.declarations import dead_letter_topic
from contracts.feeds import load_feeds
from contracts.queries import load_queries
from contracts.query_io import Input
from jobs import kafka, lake, readings, rows, settings, spark, wire
from jobs.settings import JobError, Platform

READABLE = "can be read now"
PLACE = ["KafkaPartition", "KafkaOffset"]


def main(platform: Platform) -> None:
    arguments = settings.topic_parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--since", type=settings.iso_date, help="only what was dead-lettered on that date or later")
    arguments.add_argument("--reason", default="", metavar="TEXT", help="only letters whose reason contains this text")
    arguments.add_argument("--send", action="store_true", help="send what can be read now; without it nothing is changed")
    options = arguments.parse_args()
    topic, letters_topic, feed = options.topic, dead_letter_topic(options.topic), load_feeds().get(options.topic)
    inputs = [each for query in load_queries().values() for each in query.inputs.values() if each.topic == topic]
    if not feed and not inputs:
        raise JobError(f"--topic {topic}: no feed and no query reads it; `sundial topics` lists the declared ones")
    ranges = kafka.available(platform, letters_topic)
    if options.since:
        midnight = dt.datetime.combine(options.since, dt.time(), feed.zone if feed else dt.UTC)
        since = kafka.offsets_since(platform, letters_topic, midnight)
        ranges = {partition: kafka.Range(max(each.start, since[partition]), each.end) for partition, each in ranges.items()}
    if not any(each.end > each.start for each in ranges.values()):
        print(f"{letters_topic}: no dead letters", flush=True)
        return
    session = spark.session(f"replay_dead_letters {topic}", platform)
    letters = _originals(kafka.read_ranges(session, platform, letters_topic, ranges, headers=True), topic, options.reason)
    registry = kafka.Registry(platform)
    judged = [_judged(letters, each, registry) for each in inputs]
    if feed:
        judged.append(readings.decode(letters, feed, registry.writers(avro.subject(topic), refused=None)))
    waiting = _not_replayed(session, _together(judged), platform, topic).cache()
    verdicts = waiting.groupBy(F.coalesce("Error", F.lit(READABLE)).alias("Verdict")).count().orderBy(F.desc("count")).collect()
    print(f"{letters_topic}: {sum(row['count'] for row in verdicts):,} letters that were not replayed yet", flush=True)
    for row in verdicts:
        print(f"{row['count']:>12,}  {row.Verdict}", flush=True)
    if options.send:
        sent = _send(waiting.where("Error IS NULL"), platform, topic, options.run_id)
        print(f"{topic}: {sent:,} records sent again", flush=True)


def _judged(letters: DataFrame, source: Input, registry: kafka.Registry) -> DataFrame:
    """As a query reads them. The time at which the broker took them is lost; they will have another."""
    writers = {name: registry.writers(name, refused=None) for name in rows.subjects(source)}
    return rows.decode(letters.withColumn("timestamp", F.current_timestamp()), source, writers)


def _together(judged: list[DataFrame]) -> DataFrame:
    """Each letter once, with an Error if one of its readers has one."""
    letters = [each.select("Error", "Key", "Bytes", *PLACE) for each in judged]
    all_ = letters[0]
    for each in letters[1:]:
        all_ = all_.union(each)
    return all_.groupBy(PLACE).agg(F.max("Error").alias("Error"), *(F.any_value(name).alias(name) for name in ("Key", "Bytes")))


def _originals(letters: DataFrame, topic: str, reason: str) -> DataFrame:
    """The records as they came to the topic (key, value, partition, offset), each once: several may have dead-lettered it."""
    ours = F.filter("headers", lambda header: header.key.isin(*wire.LETTER))
    said = letters.select("value", F.map_from_entries(F.transform(ours, lambda h: F.struct(h.key, h.value))).alias("said"))

    def header(name: str):
        return F.col("said")[name].cast("string")

    of_topic = said.where(header("topic") == topic).where(header("reason").contains(reason))
    return of_topic.select(
        F.col("said")["key"].alias("key"),
        "value",
        header("partition").cast("int").alias("partition"),
        header("offset").cast("long").alias("offset"),
    ).dropDuplicates(["partition", "offset"])


def _not_replayed(session: SparkSession, letters: DataFrame, platform: Platform, topic: str) -> DataFrame:
    table = lake.dead_letter_replays(platform)
    if table.version() < 0:
        return letters
    return letters.join(table.read(session).where(F.col("Topic") == topic), PLACE, "left_anti")


def _send(readable: DataFrame, platform: Platform, topic: str, run_id: str) -> int:
    origin = F.concat_ws("-", F.lit(topic), *PLACE).cast("binary")
    header = F.array(F.struct(F.lit("replayed-from").alias("key"), origin.alias("value")))
    records = readable.select(
        F.lit(topic).alias("topic"), F.col("Key").alias("key"), F.col("Bytes").alias("value"), header.alias("headers")
    )
    records.write.format("kafka").options(**kafka.producer_options(platform)).save()
    now = dt.datetime.now(dt.UTC)
    sent = [
        {
            "Topic": topic,
            "KafkaPartition": row.KafkaPartition,
            "KafkaOffset": row.KafkaOffset,
            "RunId": run_id,
            "ReplayedAt": now,
        }
        for row in readable.select(PLACE).collect()
    ]
    if sent:
        lake.dead_letter_replays(platform).add(sent, {"run_id": run_id})
    return len(sent)


if __name__ == "__main__":
    settings.run(main)
