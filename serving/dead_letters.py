"""The newest dead letters of a feed, read from their topic when somebody asks. Nothing is kept but the last answers."""

import datetime as dt
import threading
import time
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from serving.live_consumer import reader
from serving.partitions import NOT_DEPLOYED
from serving.problems import ProblemError

MOST = 100  # of a topic
SHOWN = 256  # bytes of a record
PATIENCE = 5.0  # seconds for Kafka
FRESH = 2.0  # seconds, for which an answer is given again: each open page asks every five
BATCH = 20  # letters of up to a megabyte at once
Marks = dict[int, tuple[int, int]]  # the first offset and the end, by partition


@dataclass(frozen=True)
class DeadLetter:
    """at: when Kafka took it. partition, offset: of the record as it came; None if the letter does not say. key: None if it had
    none. size: bytes of the record's value. begins: its first SHOWN bytes."""

    at: dt.datetime
    reason: str
    partition: int | None
    offset: int | None
    key: str | None
    size: int
    begins: bytes


@dataclass(frozen=True)
class Answer:
    asked_at: float
    marks: Marks
    letters: list[DeadLetter]


class DeadLetters:
    """One request at a time reads. `kafka`: a client's basic options."""

    def __init__(self, kafka: dict[str, str]):
        self._options = reader(kafka) | {"queued.max.messages.kbytes": 4096}
        self._lock = threading.Lock()
        self._consumer: Consumer | None = None
        self._answers: dict[str, Answer] = {}  # by topic

    def newest(self, topic: str) -> list[DeadLetter]:
        """At most MOST, newest first. A topic that does not exist has none. Raises ProblemError if Kafka does not answer."""
        with self._lock:
            self._consumer = self._consumer or Consumer(self._options)
            try:
                return self._newest(self._consumer, topic)
            except KafkaException as error:
                self._consumer.close()
                self._consumer = None
                remedy = "Try again; /health says what serving knows of Kafka."
                detail = f"{topic} cannot be read: {error.args[0].str()}"
                raise ProblemError(503, "no-kafka", "Kafka does not answer", detail, remedy) from error

    def _newest(self, consumer: Consumer, topic: str) -> list[DeadLetter]:
        known, at = self._answers.get(topic), time.monotonic()
        if known and at - known.asked_at < FRESH:
            return known.letters
        marks = _marks(consumer, topic)
        if known and known.marks == marks:
            letters = known.letters
        else:
            found = [_letter(each) for each in _read(consumer, topic, marks)]
            letters = sorted(found, key=lambda each: each.at, reverse=True)[:MOST]
        self._answers[topic] = Answer(at, marks, letters)
        return letters


def _marks(consumer: Consumer, topic: str) -> Marks:
    found = consumer.list_topics(topic, timeout=PATIENCE).topics[topic]
    if found.error is not None:
        if found.error.code() in NOT_DEPLOYED:
            return {}
        raise KafkaException(found.error)
    return {
        number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=PATIENCE) for number in found.partitions
    }


def _read(consumer: Consumer, topic: str, marks: Marks) -> list[Message]:
    """The newest MOST of each partition. Raises KafkaException if they do not come in time."""
    begins = {number: max(first, end - MOST) for number, (first, end) in marks.items() if first < end}
    consumer.assign([TopicPartition(topic, *place) for place in begins.items()])
    reading, found, given_up = set(begins), [], time.monotonic() + 4 * PATIENCE
    while reading:
        if time.monotonic() > given_up:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        for message in consumer.consume(BATCH, timeout=0.1):
            if error := message.error():
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                reading.discard(message.partition())
            else:
                found.append(message)
    consumer.unassign()
    return found


def _letter(message: Message) -> DeadLetter:
    headers: Any = message.headers() or ()  # pairs; its types allow more
    headers = {name: value for name, value in headers if value is not None}
    value = message.value() or b""
    key = headers.get("key")
    return DeadLetter(
        at=dt.datetime.fromtimestamp(message.timestamp()[1] / 1000, dt.UTC),
        reason=headers.get("reason", b"").decode(errors="replace"),
        partition=_number(headers.get("partition")),
        offset=_number(headers.get("offset")),
        key=None if key is None else key[:SHOWN].decode(errors="replace"),
        size=_number(headers.get("value-bytes")) or len(value),  # a large record is not kept whole
        begins=value[:SHOWN],
    )


def _number(text: bytes | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
