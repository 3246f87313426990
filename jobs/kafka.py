"""Kafka and the registry as the jobs meet them: writer schemas, offset ranges, reader and writer options."""

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2  # what confluent-kafka's registry client speaks, and raises where nobody answers
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from pyspark.sql import DataFrame, SparkSession

from contracts import avro
from contracts.feeds import Feed
from jobs.settings import JobError, Platform

PATIENCE = 3.0  # seconds for an answer that is asked for every second


@dataclass(frozen=True)
class Range:
    """Offsets of one partition: `start` included, `end` not."""

    start: int
    end: int


class Registry:
    """The schemas that the registry knows, by subject of a topic's value."""

    def __init__(self, platform: Platform):
        self._url = platform.registry
        self._client = SchemaRegistryClient({"url": platform.registry})

    def writer_schemas(self, topic: str) -> dict[int, str]:
        """Every registered schema of a topic's values: Avro JSON by id."""
        subject = avro.subject(topic)
        try:
            found = [self._client.get_version(subject, version) for version in self._client.get_versions(subject)]
        except (SchemaRegistryError, httpx2.HTTPError) as error:
            raise JobError(
                f"registry {self._url}, subject {subject}: {error}; `sundial schemas register` registers it"
            ) from error
        return {each.schema_id: each.schema.schema_str for each in found}

    def newest_id(self, topic: str) -> int:
        """Id of the newest schema of a topic's values."""
        try:
            return self._client.get_latest_version(avro.subject(topic)).schema_id
        except (SchemaRegistryError, httpx2.HTTPError) as error:
            raise JobError(
                f"registry {self._url}, subject {avro.subject(topic)}: {error}; run `sundial schemas register`"
            ) from error


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
    """Where topics end now, all their partitions together: asked often, in one request."""

    def __init__(self, platform: Platform, topics: list[str]):
        self._platform, self._topics = platform, topics
        quiet = {"log_level": 0}  # the error is raised, not logged
        self._admin = AdminClient(platform.access.client_options(platform.kafka) | quiet)

    def now(self) -> dict[str, int]:
        """The sum of the partitions' end offsets by topic. Raises JobError where the broker does not answer in time."""
        try:
            known = self._admin.list_topics(timeout=PATIENCE).topics
            latest = {TopicPartition(t, p): OffsetSpec.latest() for t in self._topics for p in known[t].partitions}
            ends = dict.fromkeys(self._topics, 0)
            for partition, found in self._admin.list_offsets(latest, request_timeout=PATIENCE).items():
                ends[partition.topic] += found.result(timeout=PATIENCE).offset
        except (KafkaException, KeyError, TimeoutError) as error:
            raise JobError(
                f"Kafka at {self._platform.kafka} does not say how far {', '.join(self._topics)} go: {error}"
            ) from error
        return ends


@contextmanager
def _consumer(platform: Platform, topic: str) -> Iterator[tuple[Consumer, list[int]]]:
    """A consumer that belongs to no group's business, and the topic's partitions."""
    options = {"group.id": "sundial-archive", "enable.auto.commit": False}
    consumer = Consumer(platform.access.client_options(platform.kafka) | options)
    try:
        found = consumer.list_topics(topic, timeout=20).topics[topic]
        if found.error:
            raise JobError(f"topic {topic}: {found.error.str()}; `sundial up` creates the topics of every declared feed")
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
        .options(**platform.access.spark_options(platform.kafka))
        .option("subscribe", topic)
        .option("startingOffsets", json.dumps({topic: {str(p): each.start for p, each in ranges.items()}}))
        .option("endingOffsets", json.dumps({topic: {str(p): each.end for p, each in ranges.items()}}))
        .option("failOnDataLoss", "true")
        .option("includeHeaders", headers)
        .load()
    )


def read_stream(spark: SparkSession, feed: Feed, platform: Platform) -> DataFrame:
    """A feed's topic, live; on its first start from the newest record on, later from the checkpoint."""
    return (
        spark.readStream.format("kafka")
        .options(**platform.access.spark_options(platform.kafka))
        .option("subscribe", feed.topic)
        .option("startingOffsets", "latest")
        .option("failOnDataLoss", "true")
        .option("kafka.max.poll.records", "5000")
        .load()
    )


def producer_options(platform: Platform) -> dict[str, str]:
    """Options of the Kafka sink. No linger: a lone record leaves at once, and under load batches form by themselves."""
    return {
        **platform.access.spark_options(platform.kafka),
        "kafka.acks": "all",
        "kafka.enable.idempotence": "true",
        "kafka.linger.ms": "0",
        "kafka.batch.size": "262144",
        "kafka.compression.type": "lz4",
    }
