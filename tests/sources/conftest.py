"""A broker inside the process (librdkafka's own, which speaks the protocol) and a registry that answers one question."""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from typer.testing import CliRunner

from contracts import avro
from contracts.feeds import Feed, load_feed
from stack.commands.cli import app
from tests.support.registry import answering


@dataclass
class Platform:
    kafka: str
    registry: str
    feed: Feed
    schema_id: int
    broker: Producer  # whose closing ends the broker

    def count(self) -> int:
        """How many messages the feed's topic has by now."""
        reader = Consumer({"bootstrap.servers": self.kafka, "group.id": uuid.uuid4().hex, "log_level": 0})
        try:
            partitions = reader.list_topics(self.feed.topic, timeout=10).topics[self.feed.topic].partitions
            ends = (reader.get_watermark_offsets(TopicPartition(self.feed.topic, number), timeout=10) for number in partitions)
            return sum(high for _, high in ends)
        finally:
            reader.close()

    def messages(self, expected: int) -> list[tuple[str, bytes]]:
        """(key, value) of everything in the feed's topic, partition by partition in order; waits for `expected` messages."""
        reader = Consumer({"bootstrap.servers": self.kafka, "group.id": uuid.uuid4().hex, "log_level": 0})
        partitions = reader.list_topics(self.feed.topic, timeout=10).topics[self.feed.topic].partitions
        reader.assign([TopicPartition(self.feed.topic, number, 0) for number in partitions])
        found, deadline = [], time.monotonic() + 20
        while len(found) < expected and time.monotonic() < deadline:
            batch = reader.consume(1000, timeout=0.1)
            found += [(each.partition(), each.offset(), each.key().decode(), each.value()) for each in batch]
        found += [None for _ in reader.consume(1, timeout=0.3)]
        reader.close()
        assert len(found) == expected
        return [(key, value) for _, _, key, value in sorted(found)]


@pytest.fixture
def registry() -> Iterator[tuple[str, dict]]:
    """(URL, its answers by path)."""
    answers: dict[str, dict] = {}
    with answering(answers.get) as url:
        yield url, answers


@pytest.fixture
def in_process_broker() -> Iterator[tuple[str, Producer]]:
    """(bootstrap address, owner) of a broker that has no topics."""
    owner = Producer({"bootstrap.servers": "in-process", "test.mock.num.brokers": 1, "log_level": 0})
    (node,) = owner.list_topics(timeout=10).brokers.values()
    yield f"{node.host}:{node.port}", owner
    owner.close()


@pytest.fixture
def platform(in_process_broker, registry) -> Platform:
    """A broker with the topic of service-use, and a registry with its subject under id 7."""
    (url, answers), (kafka, owner) = registry, in_process_broker
    feed = load_feed("service-use")
    made = Producer({"bootstrap.servers": kafka, "log_level": 0})
    made.list_topics(feed.topic, timeout=10)  # naming a topic creates it here
    made.close()
    subject = avro.subject(feed.topic)
    answers[f"/subjects/{subject}/versions/latest"] = {
        "subject": subject,
        "version": 1,
        "id": 7,
        "schemaType": "AVRO",
        "schema": json.dumps(avro.latest(feed.record)),
    }
    return Platform(kafka, url, feed, 7, owner)


@pytest.fixture
def run(platform):
    """Run a command against the platform."""
    environment = {"SUNDIAL_KAFKA": platform.kafka, "SUNDIAL_REGISTRY": platform.registry, "TERMINAL_WIDTH": "200"}

    def run(*arguments):
        return CliRunner(env=environment).invoke(app, [str(each) for each in arguments], catch_exceptions=False)

    return run
