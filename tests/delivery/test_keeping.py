"""What a topic forgets by retention, and what becomes of a reader whose place was there."""

import time

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.delivery.cluster import until


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
