"""What a topic forgets by compaction and by retention, and what becomes of a reader whose place was there."""

import time

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.support.waiting import until


def test_compaction_keeps_the_last_record_of_each_key_at_its_offset_and_a_tombstone_for_a_while(cluster):
    soon = {"segment_ms": 500, "min_cleanable_dirty_ratio": "0.01", "delete_retention_ms": 1000}
    topic = cluster.topic(leader=1, cleanup_policy="compact", **soon)
    for key, value in [("a", "1"), ("a", "2"), ("b", "1"), ("a", "3"), ("b", None)]:
        cluster.put(topic, key, value)

    def left() -> list[tuple]:
        """Without the ticks: a segment is compacted once another has begun, and that takes a record."""
        cluster.put(topic, "clock", "tick")
        return [(m.offset(), m.key(), m.value()) for m in cluster.messages(topic) if m.key() != b"clock"]

    until("the last of each key, at the offset that it had", lambda: left() == [(3, b"a", b"3"), (4, b"b", None)], 90)
    until("the tombstone goes too, readers have had time to see it", lambda: left() == [(3, b"a", b"3")], 90)


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

    until("the first ten are deleted", lambda: begins() >= 10, 90)
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
        if (message := consumer.poll(0.2)) is not None:
            if message.error():
                raise KafkaException(message.error())
            return message
    raise AssertionError("nothing came within 20 s")
