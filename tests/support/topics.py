"""Topics as tests read and write them: a topic's records up to its present end, and records that are acknowledged."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.support.waiting import until

QUICK = {
    "fetch.queue.backoff.ms": 5,
    "log_level": 0,
}  # librdkafka's default pause makes a reader that catches up ten times slower
SECONDS = 30
# Errors while a broker stops or starts: the partition has no leader, or the client knows an old one.
LEADERLESS = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._NOENT,
}
Answer = TypeVar("Answer")


def _reader(kafka: str, committed: bool) -> Consumer:
    isolation = "read_committed" if committed else "read_uncommitted"
    options = {"bootstrap.servers": kafka, "group.id": "tests", "enable.auto.commit": False, "isolation.level": isolation}
    return Consumer(options | QUICK | {"enable.partition.eof": True})


def _marks(reader: Consumer, topic: str) -> dict[int, tuple[int, int]]:
    partitions = reader.list_topics(topic, timeout=SECONDS).topics[topic].partitions

    def marks() -> dict[int, tuple[int, int]]:
        return {number: reader.get_watermark_offsets(TopicPartition(topic, number), timeout=SECONDS) for number in partitions}

    return until(f"the leaders of {topic} answer", lambda: _unless_leaderless(marks))


def _unless_leaderless(ask: Callable[[], Answer]) -> Answer | None:
    """The answer; None where it has to be asked again."""
    try:
        return ask()
    except KafkaException as error:
        if error.args[0].code() not in LEADERLESS:
            raise
        return None


def _came(reader: Consumer) -> list[Message]:
    """What can be had now, after waiting for the first of it. (To ask for many at once would be to wait for so many.)"""
    first = reader.poll(SECONDS)
    return [] if first is None else [first, *reader.consume(10_000, timeout=0)]  # a tombstone is false: its length is 0


def ends(kafka: str, topic: str, committed: bool = False) -> dict[int, int]:
    """The offset after the last record, by partition. committed: after the last one before a transaction that is still open."""
    reader = _reader(kafka, committed)
    try:
        return {number: high for number, (_, high) in _marks(reader, topic).items()}
    finally:
        reader.close()


def consume(kafka: str, topic: str, since: Mapping[int, int] | None = None, committed: bool = False) -> list[Message]:
    """The records that the topic holds now, from the offsets `since` (by partition) on, partition by partition in order.

    committed: only those of committed transactions. An open transaction ends what can be read of its partition.
    """
    reader = _reader(kafka, committed)
    try:
        marks, since = _marks(reader, topic), since or {}
        begins = {number: max(since.get(number, low), low) for number, (low, _) in marks.items()}
        reading = {number for number, (_, high) in marks.items() if begins[number] < high}
        reader.assign([TopicPartition(topic, number, begins[number]) for number in sorted(reading)])
        found: dict[int, list[Message]] = {number: [] for number in sorted(reading)}
        while reading:
            messages = _came(reader)
            assert messages, f"{topic}: partitions {sorted(reading)} end at {marks}, but nothing came for {SECONDS} s"
            for message in messages:
                number, high = message.partition(), marks[message.partition()][1]
                if message.error() and message.error().code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(message.error())
                if not message.error() and message.offset() < high:
                    found[number].append(message)
                # Where a transaction's marker closes a partition, no record has the last offset: its end comes as an event.
                if message.error() or message.offset() >= high - 1:
                    reading.discard(number)
        return [message for messages in found.values() for message in messages]
    finally:
        reader.close()


class Follower:
    """Reads topics on with each look, up to where what is committed ends at that moment."""

    def __init__(self, kafka: str, *topics: str):
        self.messages: list[Message] = []
        self._kafka, self._reader = kafka, _reader(kafka, committed=True)
        self._ask_anew()
        known = self._reader.list_topics(timeout=SECONDS).topics
        self._partitions = [
            TopicPartition(topic, number, OFFSET_BEGINNING) for topic in topics for number in known[topic].partitions
        ]
        self._at = {(each.topic, each.partition): 0 for each in self._partitions}
        self._reader.assign(self._partitions)

    def look(self) -> list[Message]:
        """All that came since the first look, each partition in order."""
        self.messages += self.news()
        return self.messages

    def news(self) -> list[Message]:
        """What came since the look before, each partition in order."""
        found: list[Message] = []
        ends = self._ends()
        while ahead := {place for place, end in ends.items() if self._at[place] < end}:
            messages = _came(self._reader)
            assert messages, f"{sorted(ahead)} end at {ends}, but nothing came for {SECONDS} s"
            for message in messages:
                if message.error() and message.error().code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(message.error())
                if not message.error():
                    found.append(message)
                # The event of a partition's end has the offset that comes next, behind a transaction's marker as well.
                self._at[message.topic(), message.partition()] = message.offset() + (0 if message.error() else 1)
        return found

    def _ends(self) -> dict[tuple[str, int], int]:
        latest = {TopicPartition(*place): OffsetSpec.latest() for place in self._at}

        def offsets() -> dict[tuple[str, int], int]:
            asked = self._admin.list_offsets(latest, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=SECONDS)
            return {(each.topic, each.partition): found.result(timeout=SECONDS).offset for each, found in asked.items()}

        def ends() -> dict[tuple[str, int], int] | None:
            found = _unless_leaderless(offsets)
            if found is None:
                self._ask_anew()  # a client caches the leaders
            return found

        return until("the leaders answer", ends)

    def _ask_anew(self) -> None:
        self._admin = AdminClient({"bootstrap.servers": self._kafka, "log_level": 0})


def produce(kafka: str, topic: str, records: Iterable[tuple[bytes | None, bytes | None]], **options) -> None:
    """Send (key, value) records; returns when the broker has acknowledged all of them."""
    failures: list[str] = []
    producer = Producer(
        {"bootstrap.servers": kafka, "enable.idempotence": True, "partitioner": "murmur2_random", "log_level": 0} | options
    )
    for key, value in records:
        producer.produce(topic, value, key, on_delivery=lambda error, _: failures.append(str(error)) if error else None)
        producer.poll(0)
    left = producer.flush(SECONDS)
    assert not left, f"{left} records were not acknowledged within {SECONDS} s"
    assert not failures


def delete(kafka: str, topic: str) -> None:
    """Delete a topic, and wait until the broker has forgotten it."""
    admin = AdminClient({"bootstrap.servers": kafka} | QUICK)
    admin.delete_topics([topic])[topic].result(SECONDS)
    until("it is gone", lambda: topic not in admin.list_topics(timeout=SECONDS).topics)
