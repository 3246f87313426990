"""When each consumer group last committed an offset of a topic.

No public request gives this: the admin client's `list_consumer_group_offsets` answers what a group has committed, but not when.
Only the records of Kafka's own topic of commits have the time, so their keys are parsed here, and nowhere else.
"""

import datetime as dt
import struct
import time
from collections.abc import Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from contracts.kafka_credentials import KafkaCredentials
from stack.errors import StackError

COMMITS = "__consumer_offsets"
WAIT = 30.0


def last_commits(bootstrap: str, credentials: KafkaCredentials, topic: str) -> dict[str, dt.datetime]:
    """When each group last committed an offset of a topic that Kafka still keeps. Raises StackError if that is hidden."""
    found: dict[tuple[str, int], dt.datetime] = {}
    for message in _everything(bootstrap, credentials):
        commit = _commit(message.key())
        if not commit or commit[1] != topic:
            continue
        group, _, partition = commit
        if message.value() is None:  # forgotten
            found.pop((group, partition), None)
        else:
            found[group, partition] = dt.datetime.fromtimestamp(message.timestamp()[1] / 1000, dt.UTC)
    return {group: max(at for (name, _), at in found.items() if name == group) for group, _ in found}


def _everything(bootstrap: str, credentials: KafkaCredentials) -> Iterator[Message]:
    """All records that the topic of commits has now. It does not exist before the first commit; then there are none."""
    options = {
        "group.id": "sundial-readers",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 5,
    }
    consumer = Consumer(credentials.client_options(bootstrap) | options)
    try:
        there = consumer.list_topics(COMMITS, timeout=WAIT).topics[COMMITS]
        _refuse_hidden(there.error)
        unfinished = set(there.partitions)
        consumer.assign([TopicPartition(COMMITS, number, OFFSET_BEGINNING) for number in unfinished])
        last_message_at = time.monotonic()
        while unfinished:
            first = consumer.poll(0.2)  # to ask for many at once would be to wait for so many
            # `is None`, as a tombstone is false: its length is 0.
            messages = [] if first is None else [first, *consumer.consume(10_000, timeout=0)]
            last_message_at = time.monotonic() if messages else last_message_at
            if time.monotonic() - last_message_at > WAIT:
                raise StackError(f"{COMMITS} at {bootstrap} does not go on after {WAIT:.0f} s")
            for message in messages:
                if not message.error():
                    yield message
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    unfinished.discard(message.partition())
                else:
                    _refuse_hidden(message.error())
                    raise KafkaException(message.error())
    finally:
        consumer.close()


def _refuse_hidden(error: KafkaError | None) -> None:
    if error and error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        raise StackError(f"when groups have committed stands in {COMMITS}", remedy="ask as a user who may read that topic")


def _commit(key: bytes | None) -> tuple[str, str, int] | None:
    """Group, topic and partition of a record that keeps an offset; None of the others (groups' members, transactions' ends).

    Kafka's OffsetCommitKey, versions 0 and 1: int16 version, string group, string topic, int32 partition; a string is its length
    as int16 and its bytes.
    """
    if not key or struct.unpack_from(">h", key)[0] not in (0, 1):
        return None
    texts, at = [], 2
    for _ in range(2):
        (length,) = struct.unpack_from(">h", key, at)
        texts.append(key[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return texts[0], texts[1], struct.unpack_from(">i", key, at)[0]
