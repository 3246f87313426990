"""A compacted topic as a table, read from its beginning and then followed, in a thread of its own."""

import logging
import threading
import time
from collections.abc import Callable
from copy import copy
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from serving.live_consumer import reader
from serving.long_lived import LongLived
from serving.partitions import Place, described
from serving.problems import ProblemError
from serving.query_tables.kept_rows import KeptRows, Record

log = logging.getLogger("serving.query_tables")

BATCH = 2000
ANSWER_SECONDS = 5.0  # within which the brokers have to answer
LOOK_EVERY = 5.0  # seconds between two looks at the topic's partitions, and at what they no longer have
TURN_SECONDS = 60.0  # that a turn may take: a tenth of a second, or what the brokers have to answer
TOO_LARGE = "too-large"
SILENT_LOOKS = 6  # of them without an answer, after which the table ends: what it says may no longer hold
QUEUE: dict[str, Any] = {"queued.max.messages.kbytes": 4096, "auto.offset.reset": "error"}

Found = tuple[list[tuple[bytes, Record]], dict[int, int]]


class TopicTable:
    """The last committed record of each key; a record without a value removes its key. `kafka`: a client's basic options.

    room: bytes of rows, beyond which it gives up. idle: seconds without a request, after which it ends. Once it has ended, it
    holds no rows.
    """

    def __init__(self, kafka: dict[str, str], admin: AdminClient, topic: str, room: int, idle: float):
        self._options, self._admin, self._topic = reader(kafka) | QUEUE, admin, topic
        self._room, self._idle = room, idle
        self._rows, self._positions = KeptRows(), dict[int, int]()
        self._reading = {-1}  # partitions whose end was not reached yet; -1 as long as they are not known
        self._lock = threading.Lock()
        self._read = threading.Event()
        self._problem: ProblemError | None = None
        self.asked_at = time.monotonic()
        self.ended_at: float | None = None  # by the monotonic clock
        self.thread = LongLived(f"table {topic}", self._run, TURN_SECONDS)
        self.thread.start()

    @property
    def too_large(self) -> bool:
        """Whether it has ended because its rows had no room."""
        problem = self._problem
        return problem is not None and problem.kind == TOO_LARGE

    @property
    def age(self) -> tuple[bool, float]:
        """The smallest of several tables is the first that is let go: one that has ended, or that was asked for longest ago."""
        return self.ended_at is None, self.asked_at

    def stop(self) -> None:
        """Its thread ends soon after."""
        self.thread.ending.set()

    def join(self) -> None:
        self.thread.stop(patience=None)

    def ask(self, question: Callable[[KeptRows], list[tuple[bytes, Record]]], patience: float) -> Found:
        """What its rows answer, and the offset by partition up to which the topic is read. Raises ProblemError if the table can't
        be read, or is not read to its end within so many seconds."""
        self.asked_at = time.monotonic()
        self._read.wait(patience)
        with self._lock:
            if self._problem:
                raise copy(self._problem)  # of an error that several threads raise, the traceback would only grow
            if self._reading:
                detail = f"Serving reads {self._topic} from its beginning."
                raise ProblemError(503, "loading", "The table is being read", detail, "Ask again in a few seconds.")
            return question(self._rows), dict(self._positions)

    def _run(self) -> None:
        try:
            consumer = Consumer(self._options)
            try:
                while not self.thread.ending.is_set():
                    self._follow(consumer)
            finally:
                consumer.close()
        except ProblemError as problem:
            self._end(problem)
        except KafkaException as error:
            self._end(no_kafka(self._topic, error))
        except Exception:
            log.exception("the table of %s has ended", self._topic)
            detail = f"{self._topic} can't be read."
            self._end(ProblemError(500, "unexpected", "This is our fault", detail, "See the log of serving."))
        else:
            self._end(None)

    def _end(self, problem: ProblemError | None) -> None:
        with self._lock:
            self._problem, self._rows, self._reading = problem, KeptRows(), {-1}
            self.ended_at = time.monotonic()
        self.thread.ending.set()  # who asks is answered with the problem, so it is no standstill
        self._read.set()

    def _follow(self, consumer: Consumer) -> None:
        """Until a stop is asked for, nobody asks any more, or the topic must be read anew."""
        places = self._places()
        partitions = [partition for _, partition in places]
        with self._lock:
            self._read.clear()
            self._rows, self._reading, self._positions = KeptRows(), set(partitions), dict.fromkeys(partitions, 0)
        consumer.assign([TopicPartition(self._topic, each, OFFSET_BEGINNING) for each in partitions])
        looked, silent = time.monotonic(), 0
        while not self.thread.ending.is_set():
            self.thread.turns()
            if time.monotonic() - self.asked_at > self._idle:
                self.thread.ending.set()
            if not self._take(consumer.consume(BATCH, timeout=0.1)):
                return
            if time.monotonic() - looked > LOOK_EVERY:
                looked = time.monotonic()
                try:
                    if self._places() != places:
                        return
                    self._forget_expired(consumer, partitions)
                    silent = 0
                except KafkaException:
                    silent += 1
                    if self._reading or silent >= SILENT_LOOKS:
                        raise

    def _places(self) -> dict[Place, str]:
        """The topic's partitions, each with the topic's id. Raises ProblemError if there is no such topic, and KafkaException."""
        found = described(self._admin, [self._topic], self.thread.ending, ANSWER_SECONDS)
        if found or found is None:
            return found or {}
        raise no_topic(self._topic)

    def _take(self, messages: list[Message]) -> bool:
        """False if records are gone that were to be read next: the topic was made anew, or they have expired."""
        with self._lock:
            for message in messages:
                error = message.error()
                if error is None:
                    self._put(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._positions[_partition(message)] = message.offset() or 0
                    self._reading.discard(_partition(message))
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    return False
                elif error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:  # of a group that it does not need
                    raise KafkaException(error)
            if not self._reading:
                self._rows.settle()
                self._read.set()
            if self._rows.size > self._room:
                detail = f"The rows of {self._topic} need more than {self._room // 1_000_000} MB."
                remedy = f"Read the topic itself: sundial read {self._topic} --latest"
                raise ProblemError(503, TOO_LARGE, "The table is too large for serving", detail, remedy)
        return True

    def _put(self, message: Message) -> None:
        partition, offset, key = _partition(message), message.offset() or 0, message.key()
        self._positions[partition] = offset + 1
        if key is not None:  # else it is no row of a table
            self._rows.put(_bytes(key), Record(message.value(), partition, offset, message.timestamp()[1]))

    def _forget_expired(self, consumer: Consumer, partitions: list[int]) -> None:
        asked = [(each, TopicPartition(self._topic, each)) for each in partitions]
        firsts = {each: consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)[0] for each, place in asked}
        with self._lock:
            self._rows.forget_before(firsts)


def no_topic(topic: str) -> ProblemError:
    remedy = "sundial topics --deploy makes the declared topics; on a secured cluster, deploy the access rules again, too."
    detail = f"Kafka has no topic {topic}, or serving may not read it."
    return ProblemError(503, "no-topic", "The table's topic cannot be read", detail, remedy)


def no_kafka(topic: str, error: KafkaException) -> ProblemError:
    remedy = "Try again; /health says what serving knows of Kafka."
    detail = f"{topic} cannot be read: {error.args[0].str()}"
    return ProblemError(503, "no-kafka", "Kafka does not answer", detail, remedy)


def _partition(message: Message) -> int:
    return message.partition() or 0


def _bytes(key: bytes | str) -> bytes:
    return key.encode() if isinstance(key, str) else key
