"""What a topic forgets: old segments by retention, older records of a key by compaction, a key for good by a tombstone."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from stack import kafka
from tests.delivery.cluster import Cluster, until


@pytest.fixture
def eager_cleaner(cluster) -> Iterator[None]:
    """Brokers look for something to compact all the time, not every fifteen seconds."""
    yield from _set(cluster, "log.cleaner.backoff.ms", "100", "15000")


def _set(cluster: Cluster, name: str, value: str, default: str) -> Iterator[None]:
    client = kafka.admin(cluster.home.kafka)
    for given in (value, default):
        entry = ConfigEntry(name, given, incremental_operation=AlterConfigOpType.SET)
        for broker in cluster.home.brokers:  # one in each call
            resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
            client.incremental_alter_configs([resource])[resource].result(timeout=30)
        if given == value:
            yield


def test_compaction_keeps_the_last_value_of_each_key_and_a_tombstone_removes_it(cluster, eager_cleaner):
    """The tombstone stays for `delete.retention.ms`: here long enough to be looked at."""
    topic = cluster.topic(
        leader=1, cleanup_policy="compact", segment_ms=200, min_cleanable_dirty_ratio=0.001, delete_retention_ms=20_000
    )

    def log() -> list[tuple[str, str | None]]:
        cluster.put(topic, "clock", "ticks")  # a segment that is written is not compacted: this ends it
        found = [(message.key().decode(), message.value()) for message in cluster.messages(topic)]
        return [(key, value and value.decode()) for key, value in found if key != "clock"]

    for key, value in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("b", None)]:
        cluster.put(topic, key, value)
    until(lambda: log() == [("a", "2"), ("c", "1"), ("b", None)], "readers see that the key was removed", 180)
    until(lambda: log() == [("a", "2"), ("c", "1")], "the tombstone is gone too", 180)
    assert [message.offset() for message in cluster.messages(topic)][:2] == [2, 3], "offsets stay what they were"


def test_retention_deletes_old_segments_and_a_reader_whose_place_is_gone_is_told_or_jumps(cluster):
    topic = cluster.topic(leader=1, retention_ms=1000, segment_ms=500)
    cluster.write(topic, [str(number) for number in range(10)])
    place = [TopicPartition(topic, 0, 2)]
    for group in ("told", "jumps"):
        member = cluster.consumer(**{"group.id": group})
        member.commit(offsets=place, asynchronous=False)
        member.close()
    asks = cluster.consumer()

    def begins() -> int:
        cluster.write(topic, ["new"])
        return asks.get_watermark_offsets(place[0], timeout=10)[0]

    until(lambda: begins() >= 10, "the first ten are deleted", 90)
    asks.close()

    told = cluster.consumer(**{"group.id": "told", "auto.offset.reset": "error"})
    told.subscribe([topic])
    with pytest.raises(KafkaException) as failure:
        _first(told)
    told.close()
    assert failure.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET
    assert f"{topic} [0]" in str(failure.value) or "out of range" in str(failure.value)

    jumps = cluster.consumer(**{"group.id": "jumps", "auto.offset.reset": "earliest"})
    jumps.subscribe([topic])
    assert _first(jumps).offset() >= 10, "no error: only its offsets show that it missed something"
    jumps.close()


def _first(consumer):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if message := consumer.poll(0.2):
            if message.error():
                raise KafkaException(message.error())
            return message
    raise AssertionError("nothing came within 20 s")
