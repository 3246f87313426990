"""A compacted topic as a table, read from its beginning and then followed, in a thread of its own."""

import threading
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from serving.live_consumer import QUIET, reader
from serving.partitions import Place, described
from serving.problems import ProblemError
from serving.query_tables.kept_rows import KeptRows, Record

BATCH = 2000
ANSWER_SECONDS = 5.0  # within which the brokers have to answer
LOOK_EVERY = 5.0  # seconds between two looks at the topic's partitions, and at what they no longer have
QUEUE: dict[str, Any] = {"queued.max.messages.kbytes": 16_384, "auto.offset.reset": "error"}


class TopicTable:
    """The last committed record of each key; a record without a value removes its key. `kafka`: a client's basic options.

    most: bytes of rows, beyond which it gives up. `problem` is what it ended with; None while it goes on.
    """

    def __init__(self, kafka: dict[str, str], topic: str, most: int):
        self._options, self._topic, self._most = reader(kafka) | QUEUE, topic, most
        self._admin = AdminClient({**kafka, **QUIET})
        self._rows, self._positions = KeptRows(), dict[int, int]()
        self._reading: set[int] = set()  # partitions whose end was not reached yet
        self._lock = threading.Lock()
        self._read, self._stop = threading.Event(), threading.Event()
        self.problem: ProblemError | None = None
        self.ended_at: float | None = None  # by the monotonic clock
        self._thread = threading.Thread(target=self._run, name=f"table {topic}", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Until it has read the topic to its end once, or has given up; false if it needs longer."""
        return self._read.wait(seconds)

    def stop(self) -> None:
        """Its thread ends soon after."""
        self._stop.set()

    def join(self) -> None:
        self._thread.join()

    @property
    def size(self) -> int:
        return self._rows.size

    def between(
        self, first: bytes, last: bytes | None, after: bytes | None, limit: int
    ) -> tuple[list[tuple[bytes, Record]], dict[int, int]]:
        """As KeptRows.between, and the offset by partition up to which the topic is read."""
        with self._lock:
            return self._rows.between(first, last, after, limit), dict(self._positions)

    def beginning_with(self, prefix: bytes, after: bytes | None, limit: int) -> tuple[list[tuple[bytes, Record]], dict[int, int]]:
        with self._lock:
            return self._rows.beginning_with(prefix, after, limit), dict(self._positions)

    def _run(self) -> None:
        consumer = Consumer(self._options)
        try:
            while not self._stop.is_set():
                self._follow(consumer)
        except ProblemError as problem:
            self.problem = problem
        except KafkaException as error:
            detail = f"{self._topic} cannot be read: {error.args[0].str()}"
            remedy = "Try again; /health says what serving knows of Kafka."
            self.problem = ProblemError(503, "no-kafka", "Kafka does not answer", detail, remedy)
        finally:
            self.ended_at = time.monotonic()
            self._read.set()
            consumer.close()

    def _follow(self, consumer: Consumer) -> None:
        """Until a stop is asked for, or the topic has other partitions or was made anew."""
        places = self._places()
        partitions = [partition for _, partition in places]
        with self._lock:
            self._rows, self._reading, self._positions = KeptRows(), set(partitions), dict.fromkeys(partitions, 0)
            self._read.clear()
        consumer.assign([TopicPartition(self._topic, each, OFFSET_BEGINNING) for each in partitions])
        looked = time.monotonic()
        while not self._stop.is_set():
            messages = consumer.consume(BATCH, timeout=0.1)
            with self._lock:
                for message in messages:
                    self._take(message)
            if not self._reading:
                self._read.set()
            if self._rows.size > self._most:
                raise self._too_large()
            if time.monotonic() - looked > LOOK_EVERY:
                looked = time.monotonic()
                try:
                    if self._places() != places:
                        return
                    self._forget_expired(consumer, partitions)
                except KafkaException:
                    continue  # the brokers do not answer now: what was read stays

    def _places(self) -> dict[Place, str]:
        """The topic's partitions, each with the topic's id. Raises ProblemError if there is no such topic, and KafkaException."""
        found = described(self._admin, [self._topic], self._stop, ANSWER_SECONDS)
        if found or found is None:
            return found or {}
        remedy = "sundial topics --deploy makes the declared topics; on a secured cluster, deploy the access rules again, too."
        detail = f"Kafka has no topic {self._topic}, or serving may not read it."
        raise ProblemError(503, "no-topic", "The table's topic cannot be read", detail, remedy)

    def _take(self, message: Message) -> None:
        partition, offset, error = message.partition(), message.offset(), message.error()
        assert partition is not None
        assert offset is not None
        if error is None:
            self._positions[partition] = offset + 1
            key, value = message.key(), message.value()
            if key is None:
                return  # no row of a table
            if value is None:
                self._rows.remove(key)
            else:
                self._rows.put(key, Record(value, partition, offset, message.timestamp()[1]))
        elif error.code() == KafkaError._PARTITION_EOF:
            self._positions[partition] = offset
            self._reading.discard(partition)
        else:
            raise KafkaException(error)

    def _forget_expired(self, consumer: Consumer, partitions: list[int]) -> None:
        for each in partitions:
            first, _ = consumer.get_watermark_offsets(TopicPartition(self._topic, each), timeout=ANSWER_SECONDS)
            with self._lock:
                self._rows.remove_before(each, first)

    def _too_large(self) -> ProblemError:
        detail = f"The rows of {self._topic} need more than {self._most // 1_000_000} MB."
        remedy = f"Read the topic itself: sundial read {self._topic} --latest"
        return ProblemError(503, "too-large", "The table is too large for serving", detail, remedy)
