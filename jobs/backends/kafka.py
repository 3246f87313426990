"""Kafka access for jobs: offset ranges, ends of topics, and the options of Spark's Kafka source and sink."""

import datetime as dt
import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec
from pyspark.sql import DataFrame, SparkSession

from jobs.backends.settings import Platform
from jobs.errors import JobError

PATIENCE = 3.0  # seconds for an answer that is asked for every second
SAME = 3.0  # seconds in which a topic's partitions count as the same; a query reads new ones only from its next batch on


@dataclass(frozen=True)
class Range:
    """Offsets of one partition: `start` included, `end` not."""

    start: int
    end: int

    def within(self, other: "Range") -> "Range":
        """What of it lies in the other one; an empty range where nothing does."""
        start = min(max(self.start, other.start), other.end)
        return Range(start, max(start, min(self.end, other.end)))


def topics(platform: Platform) -> set[str]:
    """The names of all topics that there are. Raises JobError where the broker does not answer in time."""
    try:
        admin = AdminClient({**platform.credentials.client_options(platform.kafka), "log_level": 0})
        return set(admin.list_topics(timeout=PATIENCE).topics)
    except KafkaException as error:
        raise JobError(f"Kafka at {platform.kafka} does not say which topics there are: {error.args[0].str()}") from error


def available(platform: Platform, topic: str) -> dict[int, Range]:
    """The offsets that a topic holds now, by partition. Raises JobError where the topic or the broker is missing."""
    with _consumer(platform, topic) as (consumer, partitions):
        return {p: Range(*consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=20)) for p in partitions}


def offsets_since(platform: Platform, topic: str, moment: dt.datetime) -> dict[int, int]:
    """By partition, the first offset that was appended at that moment or later; where there is none, the end."""
    with _consumer(platform, topic) as (consumer, partitions):
        wanted = [TopicPartition(topic, p, int(moment.timestamp() * 1000)) for p in partitions]
        found = {each.partition: each.offset for each in consumer.offsets_for_times(wanted, timeout=20)}
        ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=20)[1] for p in partitions}
        return {p: offset if offset >= 0 else ends[p] for p, offset in found.items()}


class Ends:
    """Where topics end now, all their partitions together: asked often, in one request.

    committed: whether they end before the first transaction that is still open, as for those who read what is committed.
    """

    def __init__(self, platform: Platform, topics: list[str], committed: bool = True):
        self._platform, self._topics = platform, topics
        self._isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        self._partitions: list[TopicPartition] = []
        self._described_at = -math.inf
        # The error is raised, not logged.
        self._admin = AdminClient({**platform.credentials.client_options(platform.kafka), "log_level": 0})

    def now(self) -> dict[str, dict[int, int]]:
        """The end offsets by topic and partition. Raises JobError where the broker does not answer in time."""
        try:
            if time.monotonic() - self._described_at > SAME:
                self._partitions, self._described_at = self._described(), time.monotonic()
            latest = {partition: OffsetSpec.latest() for partition in self._partitions}
            ends: dict[str, dict[int, int]] = {topic: {} for topic in self._topics}
            asked = self._admin.list_offsets(latest, isolation_level=self._isolation, request_timeout=PATIENCE)
            for partition, found in asked.items():
                ends[partition.topic][partition.partition] = found.result(timeout=PATIENCE).offset
        except (KafkaException, TimeoutError) as error:
            self._described_at = -math.inf  # a topic may have fewer partitions since then
            raise JobError(
                f"Kafka at {self._platform.kafka} does not say how far {', '.join(self._topics)} go: {error}"
            ) from error
        return ends

    def _described(self) -> list[TopicPartition]:
        """All partitions of these topics. The broker is not asked for any other topic."""
        found, missing = [], []
        for name, asked in self._admin.describe_topics(TopicCollection(self._topics), request_timeout=PATIENCE).items():
            try:
                found += [TopicPartition(name, each.id) for each in asked.result(timeout=PATIENCE).partitions]
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
                missing.append(name)
        if missing:
            raise JobError(f"no topic {', '.join(sorted(missing))}; `sundial up` creates the topics of every declaration")
        return found


def count(platform: Platform, topic: str, ranges: dict[int, Range], wait: float) -> int:
    """How many committed records these offsets hold. Raises JobError if counting takes more than `wait` seconds."""
    left = {partition: each.end for partition, each in ranges.items() if each.end > each.start}
    found, deadline = 0, time.monotonic() + wait
    with _consumer(platform, topic, "sundial-streams", **{"enable.partition.eof": True}) as (consumer, _):
        consumer.assign([TopicPartition(topic, partition, ranges[partition].start) for partition in left])
        while left and time.monotonic() < deadline:
            for message in consumer.consume(10_000, timeout=0.1):
                partition, offset, error = message.partition(), message.offset(), message.error()
                if error and error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                end = ranges[partition].end
                found += not error and offset < end
                if offset >= (end if error else end - 1):
                    left.pop(partition, None)
    if left:
        raise JobError(f"topic {topic}: {len(left)} partitions could not be counted within {wait:.0f} s")
    return found


def last_value(platform: Platform, topic: str, key: bytes, group: str, wait: float) -> bytes | None:
    """The newest value of a key in its partition of a topic; None where it has none.

    What stands behind another writer's open transaction can't be read before that ends, which is waited for.
    Raises JobError where it takes longer than `wait` seconds, or the topic or the broker is missing.
    """
    found, deadline = None, time.monotonic() + wait
    with _consumer(platform, topic, group, **{"enable.partition.eof": True}) as (consumer, _):
        ends = Ends(platform, [topic], committed=False).now()[topic]
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in ends])
        whole: set[int] = set()
        while time.monotonic() < deadline:
            if (message := consumer.poll(0.5)) is None:
                continue
            if not message.error():
                found = message.value() if message.key() == key else found
            elif message.error().code() != KafkaError._PARTITION_EOF:
                raise KafkaException(message.error())
            elif message.offset() >= ends[message.partition()]:
                whole.add(message.partition())
                if whole == ends.keys():
                    return found
    raise JobError(f"topic {topic}: could not be read to its end within {wait:.0f} s; a transaction of another query may be open")


@contextmanager
def _consumer(platform: Platform, topic: str, group: str = "sundial-archive", **options) -> Iterator[tuple[Consumer, list[int]]]:
    """A consumer of what is committed that belongs to no group's business, and the topic's partitions."""
    options |= {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_committed", "fetch.queue.backoff.ms": 5}
    consumer = Consumer(platform.credentials.client_options(platform.kafka) | options)
    try:
        found = consumer.list_topics(topic, timeout=20).topics[topic]
        if found.error:
            raise JobError(f"topic {topic}: {found.error.str()}; `sundial up` creates the topics of every declaration")
        yield consumer, sorted(found.partitions)
    except KafkaException as error:
        raise JobError(f"Kafka at {platform.kafka}: {error.args[0].str()}") from error
    finally:
        consumer.close()


def read_ranges(
    spark: SparkSession, platform: Platform, topic: str, ranges: dict[int, Range], headers: bool = False
) -> DataFrame:
    """Exactly the records of those offset ranges, as a batch; with the column `headers` where they are wanted."""
    return (
        spark.read.format("kafka")
        .options(**_reader_options(platform))
        .option("subscribe", topic)
        .option("startingOffsets", json.dumps({topic: {str(p): each.start for p, each in ranges.items()}}))
        .option("endingOffsets", json.dumps({topic: {str(p): each.end for p, each in ranges.items()}}))
        .option("includeHeaders", headers)
        .load()
    )


def read_stream(
    spark: SparkSession,
    platform: Platform,
    topic: str,
    begin: str,
    most_per_batch: int | None = None,
    headers: bool = False,
) -> DataFrame:
    """A topic, or several with commas between them, live; on its first start from `begin` on (`earliest` or `latest`), later from
    the checkpoint. With the column `headers` where they are wanted.

    most_per_batch: records that a micro-batch takes at most. A real-time query has no such thing.
    """
    reader = (
        spark.readStream.format("kafka")
        .options(**_reader_options(platform))
        .option("subscribe", topic)
        .option("startingOffsets", begin)
        .option("includeHeaders", headers)
        .option("kafka.max.poll.records", "5000")
    )
    return (reader.option("maxOffsetsPerTrigger", most_per_batch) if most_per_batch else reader).load()


def read_whole(spark: SparkSession, platform: Platform, topic: str) -> DataFrame:
    """All that a topic holds, as a batch: each micro-batch that is joined with it reads it again, to its ends at that moment."""
    return (
        spark.read.format("kafka")
        .options(**_reader_options(platform))
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .load()
    )


def _reader_options(platform: Platform) -> dict[str, str]:
    """Options of the Kafka source: of transactions only what is committed, and records that are gone are an error."""
    committed = {"kafka.isolation.level": "read_committed", "failOnDataLoss": "true"}
    return platform.credentials.spark_options(platform.kafka) | committed


def producer_options(platform: Platform, acks: str | int = "all", linger: int = 0) -> dict[str, str]:
    """Options of the Kafka sink. No linger: a lone record leaves at once, and under load batches form by themselves.

    acks: brokers that confirm a record: all, 1 or 0. Fewer than all may lose it, and double or overtake what is sent again.
    linger: milliseconds that a record may wait for others, for throughput.
    """
    return {
        **platform.credentials.spark_options(platform.kafka),
        "kafka.acks": str(acks),
        "kafka.enable.idempotence": "true" if acks == "all" else "false",
        "kafka.linger.ms": str(linger),
        "kafka.batch.size": "262144",
        "kafka.compression.type": "lz4" if linger else "none",
    }
