"""Plays readings into a feed's topic: as fast as Kafka takes them, or at a multiple of the pace at which they happened."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from contracts.feeds import Feed
from sources.producer import QUEUE_MESSAGES, Acks, address, encoder, producer
from sources.readings import Readings, milliseconds

CHUNK = 4096  # readings handed to librdkafka at once
FLUSH_SECONDS = 60
LONGEST_NAP = 0.25  # so that a stop and delivery reports are noticed


class Progress(Protocol):
    def advance(self, events: int) -> None: ...


@dataclass
class Report:
    """How a play went. Delivered means confirmed as `acks` says."""

    events: int = 0  # handed to the producer
    failed: int = 0  # reported as undeliverable, or not acknowledged when the flush gave up
    seconds: float = 0.0
    first: int | None = None  # smallest and largest Timestamp played, epoch milliseconds
    last: int | None = None
    stopped: bool = False  # by the caller, before the readings ended
    first_error: str | None = None
    acks: Acks = Acks.ALL

    @property
    def delivered(self) -> int:
        return self.events - self.failed

    @property
    def rate(self) -> float:
        """Delivered events per second, the final flush included."""
        return self.delivered / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Pace:
    """When a reading is due: at the end of its interval, on a clock that runs `speed` times as fast as real time."""

    speed: float  # 0: everything is due at once
    interval_ms: int
    origin_ms: int  # on the readings' clock ...
    started: float  # ... it is this time on the wall, epoch seconds

    def due(self, times: np.ndarray) -> np.ndarray:
        """Epoch seconds on the wall at which each reading is due; never before the one in front of it."""
        return np.maximum.accumulate(self.started + (times + self.interval_ms - self.origin_ms) / 1000 / self.speed)


def play(
    readings: Readings,
    feed: Feed,
    *,
    speed: float = 0,
    kafka: str | None = None,
    registry: str | None = None,
    origin_ms: int | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    acks: Acks = Acks.ALL,
) -> Report:
    """Play readings into the feed's topic and wait until Kafka has acknowledged them, if it is to.

    speed 0 plays as fast as possible, N plays N times as fast as the readings happened. The readings' clock starts at the end of
    the first one's interval when it is read; or, to play live, it agreed with the wall clock at `origin_ms` (the present).
    Setting `stop` ends the play early: what was produced is still flushed. Raises PlatformError where Kafka or the registry can't
    take them.
    """
    player = _Player(feed, speed, kafka, registry, progress, stop or threading.Event(), acks)
    return player.run(readings, origin_ms)


class _Player:
    def __init__(
        self,
        feed: Feed,
        speed: float,
        kafka: str | None,
        registry: str | None,
        progress: Progress | None,
        stop: threading.Event,
        acks: Acks,
    ):
        self.feed, self.speed, self.progress, self.stop = feed, speed, progress, stop
        self.report = Report(acks=acks)
        self.encoder = encoder(feed, address(registry, "SUNDIAL_REGISTRY", "--registry"))
        linger = 2 if speed else 50  # paced events go out at once, fast ones in large batches
        self.producer = producer(feed.topic, address(kafka, "SUNDIAL_KAFKA", "--kafka"), linger, self._undelivered, acks)

    def run(self, readings: Readings, origin_ms: int | None) -> Report:
        began = time.monotonic()
        pace = None
        try:
            for each in readings:
                if pace is None and each.num_rows:
                    pace = self._pace(origin_ms, int(milliseconds(each)[0]))
                for chunk in _chunks(each):
                    self._play(chunk, pace)
                    if self.stop.is_set():
                        self.report.stopped = True
                        return self.report
        finally:
            unacknowledged = self.producer.flush(FLUSH_SECONDS)
            if unacknowledged:
                self._count_undelivered(unacknowledged, f"not acknowledged within {FLUSH_SECONDS} s of the end")
            self.report.seconds = time.monotonic() - began
        return self.report

    def _pace(self, origin_ms: int | None, first: int) -> Pace:
        interval = self.feed.interval_seconds * 1000
        if origin_ms is None:
            return Pace(self.speed, interval, first + interval, time.time())
        return Pace(self.speed, interval, origin_ms, origin_ms / 1000)

    def _play(self, chunk: pa.RecordBatch, pace: Pace) -> None:
        times = milliseconds(chunk)
        messages = self.encoder.encode(times, chunk.column("Value").to_numpy())
        batch = [{"key": key, "value": value} for key, value in zip(_keys(chunk), messages, strict=True)]
        if not self.speed:
            self._produce(batch, times)
            return
        due, at = pace.due(times), 0
        while at < len(batch) and not self.stop.is_set():
            now = time.time()
            ready = int(np.searchsorted(due, now, side="right"))
            if ready > at:
                self._produce(batch[at:ready], times[at:ready])
                at = ready
            else:
                self.producer.poll(0)
                self.stop.wait(min(LONGEST_NAP, due[at] - now))

    def _produce(self, batch: list[dict], times: np.ndarray) -> None:
        while len(self.producer) + len(batch) > QUEUE_MESSAGES and not self.stop.is_set():
            self.producer.poll(0.05)  # wait for room: a message refused by a full queue would come after its successors
        self.producer.produce_batch(self.feed.topic, batch)
        for refused in (message["_error"] for message in batch if "_error" in message):
            self._count_undelivered(1, refused.str())
        self.producer.poll(0)
        first, last = int(times.min()), int(times.max())
        self.report.events += len(batch)
        self.report.first = first if self.report.first is None else min(first, self.report.first)
        self.report.last = last if self.report.last is None else max(last, self.report.last)
        if self.progress:
            self.progress.advance(len(batch))

    def _undelivered(self, error, message) -> None:
        if error is not None:
            self._count_undelivered(1, error.str())

    def _count_undelivered(self, count: int, reason: str) -> None:
        self.report.failed += count
        self.report.first_error = self.report.first_error or reason


def _chunks(readings: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, readings.num_rows, CHUNK):
        yield readings.slice(start, CHUNK)


def _keys(chunk: pa.RecordBatch) -> list[bytes]:
    """Service names as UTF-8; each distinct name is encoded once."""
    coded = pc.dictionary_encode(chunk.column("ServiceName"))
    names = [name.encode() for name in coded.dictionary.to_pylist()]
    return [names[code] for code in coded.indices.to_pylist()]
