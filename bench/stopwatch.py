"""Latency of single readings, from producing them to consuming what comes out: for `make bench NAME=latency`."""

import threading
import time
from collections.abc import Callable

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.platform import SERVICES, say, wait_for
from contracts.feeds import Feed
from sources.producer import encoder
from stack.instance import Instance

ANOMALOUS = 1_000_000  # requests: far from every average, so that each reading has an anomaly to wait for
WARM_UP = 20.0  # seconds that are not measured: classes load and code compiles


class Stopwatch:
    """Produces readings at a rate and notes when the record with the same key comes out of `topic`."""

    def __init__(self, instance: Instance, feed: Feed, topic: str):
        self._instance, self._feed, self._topic = instance, feed, topic
        self._encoder = encoder(feed, instance.registry)
        options = {"bootstrap.servers": instance.kafka, "linger.ms": 0, "acks": "all", "partitioner": "murmur2_random"}
        self._producer = Producer(options)
        self._consumer = Consumer({"bootstrap.servers": instance.kafka, "group.id": "stopwatch", "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(topic, each, self._end(topic, each)) for each in range(feed.partitions)])
        self._sent: dict[bytes, float] = {}
        self.samples: list[tuple[float, float]] = []  # (sent at, latency), seconds
        self._interval = feed.interval_seconds * 1000
        self._next = int(time.time() * 1000) // self._interval * self._interval
        self._done = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _end(self, topic: str, partition: int) -> int:
        return self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)[1]

    def _read(self) -> None:
        while not self._done.is_set():
            message = self._consumer.poll(0.2)
            if message is None or message.error():
                continue
            now = time.perf_counter()
            key = message.key() if self._topic != self._feed.topic else message.value()
            if (sent := self._sent.pop(key, None)) is not None:
                self.samples.append((sent, now - sent))

    def run(self, per_second: float, seconds: float) -> None:
        """One reading every 1/rate seconds, each of another service and interval, at its own due time.

        All are encoded before the first is sent: one by one, that would take a tenth of a core from what is measured.
        """
        numbers = np.arange(int(per_second * seconds))
        times = self._next + self._interval * (1 + numbers // len(SERVICES))
        self._next = int(times[-1])
        values = self._encoder.encode(times, ANOMALOUS + numbers)
        start = time.perf_counter()
        for number, (at, value) in enumerate(zip(times.tolist(), values, strict=True)):
            if (wait := start + number / per_second - time.perf_counter()) > 0:
                time.sleep(wait)
            service = SERVICES[number % len(SERVICES)]
            key = value if self._topic == self._feed.topic else f"{service}|{at}".encode()
            self._sent[key] = time.perf_counter()
            self._producer.produce(self._feed.topic, value, service.encode())
            self._producer.poll(0)  # reports of what was delivered stay in its queue, which holds 100,000
        self._producer.flush(30)

    def write_by_the_newest_schema(self) -> None:
        self._encoder = encoder(self._feed, self._instance.registry)

    def finish(self) -> list[tuple[float, float]]:
        """Waits for what is still out; raises if a record never came."""
        wait_for("the last records", lambda: not self._sent, 60)
        self._done.set()
        self._reader.join()
        self._consumer.close()
        return self.samples


def measure(
    instance: Instance, feed: Feed, topic: str, per_second: float, seconds: float, *acts: Callable[[Stopwatch], None]
) -> np.ndarray:
    """Latencies in milliseconds of the readings that were sent after the warm-up. Between equal parts of them, the acts."""
    watch = Stopwatch(instance, feed, topic)
    watch.run(per_second, WARM_UP)
    begin = time.perf_counter()
    for number in range(len(acts) + 1):
        watch.run(per_second, seconds / (len(acts) + 1))
        for act in acts[number : number + 1]:
            act(watch)
    samples = np.array(watch.finish())
    measured = samples[samples[:, 0] >= begin]
    say(f"{per_second:g}/s, the slowest seconds: {_slowest(measured)}")
    return measured[:, 1] * 1000


def _slowest(samples: np.ndarray) -> str:
    """The five seconds with the slowest readings, in UTC, to be found again in a driver's log."""
    by_second: dict[int, float] = {}
    epoch = time.time() - time.perf_counter()
    for sent, latency in samples.tolist():
        second = int(sent + epoch)
        by_second[second] = max(latency, by_second.get(second, 0.0))
    worst = sorted(by_second.items(), key=lambda each: -each[1])[:5]
    return ", ".join(f"{latency * 1000:.0f} ms at {time.strftime('%H:%M:%S', time.gmtime(at))}" for at, latency in worst)
