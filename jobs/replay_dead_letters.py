"""Replay dead letters: what was refused, and can be read by now, goes back to its topic; without `--send` it is only listed.

A letter can be read later than it came because its schema was registered meanwhile, or the contract or the query corrected. It is
checked as the readers of the topic check it: a feed's archive and streams, or queries. The table dead_letter_replays lists what
was sent, so no run sends a letter again. Only if a run is killed between the two does a record come twice. A letter is not sent
if a newer record of the same reading, or of the same key of a table, has come since: it would replace the newer one.

A letter of a record that was too large to be kept whole names the record's place: it is read from the topic again.
"""

import datetime as dt

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.declarations import dead_letter_topic
from contracts.feeds import load_feeds
from contracts.queries import load_queries
from contracts.query_io import Input
from jobs.backends import kafka, settings, spark, superseded, tables
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.backends.superseded import LETTER, PLACE
from jobs.errors import JobError
from jobs.formats import dead_letters, feed_records, query_records

READABLE = "can be read now"
RECORD = ["Key", "Bytes"]


def main(platform: Platform) -> None:
    arguments = settings.topic_parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--since", type=settings.iso_date, help="only what was dead-lettered on that date or later")
    arguments.add_argument("--reason", default="", metavar="TEXT", help="only letters whose reason contains this text")
    arguments.add_argument("--send", action="store_true", help="send what can be read now; without it nothing is changed")
    options = arguments.parse_args()
    topic, letters_topic, feed = options.topic, dead_letter_topic(options.topic), load_feeds().get(options.topic)
    reading = [each for query in load_queries().values() for each in query.inputs.values() if each.topic == topic]
    inputs = [each for each in reading if each.dead_letters]
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
    letters = dead_letters.originals(
        kafka.read_ranges(session, platform, letters_topic, ranges, headers=True), topic, options.reason
    )
    # The time at which the broker took them is lost; those that are sent again have another.
    letters = _completed(session, platform, topic, letters).withColumn("timestamp", F.current_timestamp())
    registry = Registry(platform)
    judged = [_judged(session, platform, letters, each, registry) for each in inputs]
    if feed:
        readings = _hashed(feed_records.decode(letters, feed, registry.writers(avro.subject(topic), refused=None)))
        judged.append(superseded.readings(session, platform, feed, readings))
    waiting = _not_replayed(session, _together(judged), platform, topic).cache()
    verdicts = waiting.groupBy(F.coalesce("Error", F.lit(READABLE)).alias("Verdict")).count().orderBy(F.desc("count")).collect()
    print(f"{letters_topic}: {sum(row['count'] for row in verdicts):,} letters that were not replayed yet", flush=True)
    for row in verdicts:
        print(f"{row['count']:>12,}  {row.Verdict}", flush=True)
    if options.send:
        sent = _send(waiting.where("Error IS NULL"), platform, topic, options.run_id)
        print(f"{topic}: {sent:,} records sent again", flush=True)


def _completed(session: SparkSession, platform: Platform, topic: str, letters: DataFrame) -> DataFrame:
    """The records of all letters. What a letter has only the beginning of is read from the topic, if it is still there."""
    cut = letters.where(F.col("Cut").isNotNull()).cache()
    kept = letters.where(F.col("Cut").isNull()).drop("Cut")
    spans = cut.groupBy("partition").agg(F.min("offset").alias("first"), F.max("offset").alias("last")).collect()
    if not spans:
        return kept
    wanted = {row.partition: kafka.Range(row.first, row.last + 1) for row in spans}
    available = kafka.available(platform, topic)
    ranges = {partition: wanted.get(partition, kafka.Range(0, 0)).within(has) for partition, has in available.items()}
    found = dead_letters.completed(cut, kafka.read_ranges(session, platform, topic, ranges)).cache()
    if gone := cut.count() - found.count():
        print(f"{topic}: {gone:,} records are gone whose letters have only their beginning; they can't be sent", flush=True)
    return kept.union(found)


def _judged(session: SparkSession, platform: Platform, letters: DataFrame, source: Input, registry: Registry) -> DataFrame:
    """As a query reads them."""
    writers = {name: registry.writers(name, refused=None) for name in query_records.subjects(source)}
    rows = _hashed(query_records.decode(letters, source, writers))
    return superseded.rows(session, platform, source.topic, rows) if source.is_table else rows


def _hashed(judged: DataFrame) -> DataFrame:
    """With the column that LETTER has beside the place."""
    return judged.withColumn("Hash", F.xxhash64(*RECORD))


def _together(judged: list[DataFrame]) -> DataFrame:
    """Each letter once, with an Error if one of its readers has one."""
    letters = [each.select("Error", *RECORD, *LETTER) for each in judged]
    all_ = letters[0]
    for each in letters[1:]:
        all_ = all_.union(each)
    return all_.groupBy(LETTER).agg(F.max("Error").alias("Error"), *(F.any_value(name).alias(name) for name in RECORD))


def _not_replayed(session: SparkSession, letters: DataFrame, platform: Platform, topic: str) -> DataFrame:
    table = tables.dead_letter_replays(platform)
    if table.version() < 0:
        return letters
    sent = table.read(session).where(F.col("Topic") == topic)
    hash_ = F.col("Hash") if "Hash" in sent.columns else F.lit(None).cast("long")  # those of an earlier release have none
    sent = sent.select(*PLACE, hash_.alias("Sent"))
    same = F.coalesce(F.col("Sent") == F.col("Hash"), F.lit(True))
    replayed = letters.join(sent, PLACE).where(same).select(LETTER)
    return letters.join(replayed, LETTER, "left_anti")


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
            "Hash": row.Hash,
            "RunId": run_id,
            "ReplayedAt": now,
        }
        for row in readable.select(LETTER).collect()
    ]
    if sent:
        tables.dead_letter_replays(platform).add(sent, {"run_id": run_id})
    return len(sent)


if __name__ == "__main__":
    settings.run(main)
