"""Metric events at a rate: what `bench/streams.py` feeds to a system, and the records that it looks for in what comes out.

Event n is of metric n % 2,000. Events are spread evenly over event time, which runs `speed` times as fast as the clock, so that
windows end while one looks; one in a hundred is late, by up to half an hour. Values lie around a mean of each metric's own.
For the join, event n is a request and, five seconds later, its response; their key is the id.
"""

import io
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import fastavro
import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from contracts import avro
from contracts.avro import HEADER, MAGIC
from sources.encoding import varints
from stack.instance import Instance

METRICS = [f"environment={env}:metric=m{number:03d}".encode() for number in range(500) for env in ("prod", "test", "dev", "ci")]
LATE_SHARE, LATE_MS = 0.01, 30 * 60_000
ANSWER_MS = 5000
TICK = 0.05  # seconds
SCHEMA_ID = 1  # of the events; a system that knows schemas by the registry says the id to use
SIX_BYTES = (1 << 40, 1 << 41)  # instants that Avro writes in six bytes: from 2004 to 2039
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}


def record(name: str, **fields: str | dict) -> avro.ParsedSchema:
    columns = [{"name": field, "type": kind} for field, kind in fields.items()]
    return fastavro.parse_schema({"type": "record", "name": name, "fields": columns})


METRIC = avro.parsed("metric_event")
MOMENTS = ("Average", "Minimum", "Maximum", "Variance", "StandardDeviation")  # of the population
SUMMARY = record("summary", WindowStart=MILLIS, Count="long", **dict.fromkeys(MOMENTS, "double"))
WINDOW = record("window", WindowStart=MILLIS, Count="long", Sum="double")
JOINED = record("joined", Waited="long", Left="double", Right="double")


@dataclass(frozen=True)
class Job:
    """What a system is to do: from which topics to which, what it writes, and how late an event may be."""

    name: str
    inputs: tuple[str, ...]
    output: str
    schema: avro.ParsedSchema
    grace_seconds: int


SUMMARIES = Job("summaries", ("metrics",), "metrics.summaries", SUMMARY, 3600)
WINDOWS = Job("windows", ("metrics",), "metrics.per-minute", WINDOW, 3600)
JOIN = Job("join", ("requests", "responses"), "requests.answered", JOINED, 10)
JOBS = {job.name: job for job in (SUMMARIES, WINDOWS, JOIN)}


def ids(first: int, rows: int) -> np.ndarray:
    """16 hexadecimal digits for each of the numbers from `first`, as bytes of shape (rows, 16)."""
    numbers = np.arange(first, first + rows)
    return np.frombuffer(b"0123456789abcdef", np.uint8)[(numbers[:, None] >> np.arange(60, -4, -4)) & 15]


def encode(first: int, milliseconds: np.ndarray, values: np.ndarray, schema_id: int = SCHEMA_ID) -> list[bytes]:
    """Events as Kafka's values, with ids from `first` on."""
    rows = len(milliseconds)
    if not (SIX_BYTES[0] <= milliseconds.min() and milliseconds.max() < SIX_BYTES[1]):
        raise ValueError("a metric's time is before 2004 or after 2039: its length on the wire would vary")
    id_ = bytes([1 << 1, 16 << 1])  # the second type of the union: a text of 16 bytes
    head = np.frombuffer(HEADER.pack(MAGIC, schema_id) + id_, np.uint8)
    columns = (
        np.broadcast_to(head, (rows, len(head))),
        ids(first, rows),
        varints(milliseconds)[0][:, :6],
        values.astype("<f8").view(np.uint8).reshape(rows, 8),
    )
    return split(np.concatenate(columns, axis=1))


def split(matrix: np.ndarray) -> list[bytes]:
    """The rows of a matrix of bytes."""
    flat, size = matrix.tobytes(), matrix.shape[1]
    return [flat[start : start + size] for start in range(0, len(flat), size)]


def decode(schema: avro.ParsedSchema, message: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(message[HEADER.size :]), schema)


class Load:
    """Sends `rate` events a second from a thread of its own, `sent` of them so far; a request and its response are two."""

    def __init__(self, bootstrap: str, job: Job, speed: float, schema_id: int = SCHEMA_ID, seed: int = 1):
        self.rate, self.sent = 0, 0
        self._job, self._speed, self._schema_id = job, speed, schema_id
        self._random, self._failed = np.random.default_rng(seed), 0
        self._clock = float(int(time.time()) // 3600 - 12) * 3_600_000  # the past: a broker refuses what is an hour ahead of it
        options = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "partitioner": "murmur2_random", "log_level": 2}
        batches = {"compression.type": "lz4", "linger.ms": 20, "batch.size": 1 << 20, "queue.buffering.max.messages": 1_000_000}
        self._producer = Producer(options | batches | {"delivery.report.only.error": True, "on_delivery": self._delivered})
        self._requests = 0
        self._open: deque[tuple[int, np.ndarray]] = deque()  # requests without a response: number of the first, times
        self._error: Exception | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Sends the responses that are due to the last requests. Raises RuntimeError if not all that was sent has arrived."""
        self._stop.set()
        self._thread.join()
        while self._open:
            self._respond(*self._open.popleft())
        left = self._producer.flush(120) + self._failed
        if left or self._error:
            raise RuntimeError(f"{left} of {self.sent} events did not reach the broker") from self._error

    def _delivered(self, error, _) -> None:
        self._failed += error is not None

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._stop.is_set():
                if self.rate:
                    self._tick(int(self.rate * TICK))
                due = max(due + TICK, time.monotonic() - 1)  # what is not made up for within a second is lost to the rate
                time.sleep(max(0.0, due - time.monotonic()))
        except Exception as error:
            self._error = error

    def _tick(self, events: int) -> None:
        span = 1000 * TICK * self._speed
        if self._job is JOIN:
            self._request(self._clock + np.arange(events // 2) * span / (events // 2))
        else:
            self._measure(self._clock + np.arange(events) * span / events)
        self._clock += span
        while self._open and self._open[0][1][0] + ANSWER_MS < self._clock:
            self._respond(*self._open.popleft())

    def _measure(self, times: np.ndarray) -> None:
        late = self._random.random(len(times)) < LATE_SHARE
        times = times - np.where(late, self._random.random(len(times)) * LATE_MS, 0)
        metrics = np.arange(self.sent, self.sent + len(times)) % len(METRICS)
        values = self._random.normal(100.0 + metrics, 10.0)
        self._send(self._job.inputs[0], self.sent, times, values, [METRICS[each] for each in metrics.tolist()])

    def _request(self, times: np.ndarray) -> None:
        self._exchange(self._job.inputs[0], self._requests, times)
        self._open.append((self._requests, times))
        self._requests += len(times)

    def _respond(self, first: int, times: np.ndarray) -> None:
        self._exchange(self._job.inputs[1], first, times + ANSWER_MS)

    def _exchange(self, topic: str, first: int, times: np.ndarray) -> None:
        self._send(topic, first, times, self._random.normal(100.0, 10.0, len(times)), split(ids(first, len(times))))

    def _send(self, topic: str, first: int, times: np.ndarray, values: np.ndarray, keys: list[bytes]) -> None:
        messages = encode(first, times.astype(np.int64), values, self._schema_id)
        batch = [{"value": value, "key": key} for value, key in zip(messages, keys, strict=True)]
        self.sent += len(batch)
        while batch:
            if self._producer.produce_batch(topic, batch) == len(batch):
                break
            batch = [{"value": each["value"], "key": each["key"]} for each in batch if "_error" in each]  # the queue is full
            self._producer.poll(TICK)
        self._producer.poll(0)


def ends(instance: Instance, topic: str) -> list[tuple[int, int]]:
    """First and next offset of each partition."""
    with closing(Consumer({"bootstrap.servers": instance.kafka, "group.id": "bench"})) as consumer:
        partitions = sorted(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
        return [consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=30) for each in partitions]


def records(instance: Instance, topic: str) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of all records that a topic has now."""
    limits = ends(instance, topic)
    left = {number for number, (first, last) in enumerate(limits) if last > first}
    options = {"bootstrap.servers": instance.kafka, "group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 5}
    with closing(Consumer(options)) as consumer:
        consumer.assign([TopicPartition(topic, each, limits[each][0]) for each in left])
        while left:
            for message in consumer.consume(10_000, timeout=5):
                yield message.key(), message.value()
                if message.offset() + 1 >= limits[message.partition()][1]:
                    left.discard(message.partition())


def counted(instance: Instance, job: Job, schema: avro.ParsedSchema) -> int:
    """Events that the output, of that schema, tells of: the last record of each key says how many.

    A pair is two, and less if it came twice.
    """
    if job is JOIN:
        pairs = np.fromiter((int(key, 16) for key, _ in records(instance, job.output)), np.int64)
        distinct = len(np.unique(pairs))
        return 2 * (distinct - (len(pairs) - distinct))
    return sum(decode(schema, value)["Count"] for value in dict(records(instance, job.output)).values())
