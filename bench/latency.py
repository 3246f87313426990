"""Latency from producing a reading to consuming its anomaly, and the rate at which 2,000,000 waiting readings are scored.

Systems: `floor` (produce and consume on the same broker, nothing between), `sundial` (jobs/score.py in real-time mode, handing
over each minute; in the middle a baseline is promoted) and `microbatch` (the same transform in micro-batch mode). Avro in and
out, baseline of 200 services x 7 day types x 8,640 slots.
"""

import argparse
import contextlib
import datetime as dt
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.platform import (
    REPO,
    SERVICES,
    cores,
    driver,
    figure,
    heartbeat,
    platform,
    promote_again,
    promote_large_baseline,
    say,
    wait_for,
)
from contracts.feeds import Feed, load_feed
from jobs.streams.checkpoint import Checkpoint
from sources.producer import encoder
from stack.instance import Instance

DRAINED = 2_000_000
ANOMALOUS = 1_000_000  # requests: far from every average, so that each reading has an anomaly to wait for
WARM_UP = 20.0  # seconds that are not measured: classes load and code compiles
PROGRAMS = {"sundial": REPO / "jobs" / "score.py", "microbatch": REPO / "bench" / "microbatch.py"}


class Stopwatch:
    """Produces readings at a rate and notes when the record with the same key comes out of `topic`."""

    def __init__(self, instance: Instance, feed: Feed, topic: str):
        self._feed, self._topic = feed, topic
        self._encoder = encoder(feed, instance.registry)
        options = {"bootstrap.servers": instance.kafka, "linger.ms": 0, "acks": "all", "partitioner": "murmur2_random"}
        self._producer = Producer(options)
        self._consumer = Consumer({"bootstrap.servers": instance.kafka, "group.id": "stopwatch", "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(topic, each, self._end(topic, each)) for each in range(feed.partitions)])
        self._sent: dict[bytes, float] = {}
        self.samples: list[tuple[float, float]] = []  # (sent at, latency), seconds
        self._next = int(time.time() * 1000) // 10_000 * 10_000
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
        """One reading every 1/rate seconds, each of another service and interval, at its own due time."""
        start = time.perf_counter()
        for number in range(int(per_second * seconds)):
            due = start + number / per_second
            while (wait := due - time.perf_counter()) > 0:
                time.sleep(min(wait, 0.0005))
            service = SERVICES[number % len(SERVICES)]
            self._next += 10_000 if number % len(SERVICES) == 0 else 0
            (value,) = self._encoder.encode(np.array([self._next]), np.array([ANOMALOUS + number]))
            key = value if self._topic == self._feed.topic else f"{service}|{self._next}".encode()
            self._sent[key] = time.perf_counter()
            self._producer.produce(self._feed.topic, value, service.encode())
            self._producer.poll(0)
        self._producer.flush(30)

    def finish(self) -> list[tuple[float, float]]:
        """Waits for what is still out; raises if a record never came."""
        wait_for("the last records", lambda: not self._sent, 60)
        self._done.set()
        self._reader.join()
        self._consumer.close()
        return self.samples


def measure(
    instance: Instance, feed: Feed, topic: str, per_second: float, seconds: float, halfway: Callable[[], None] = lambda: None
) -> np.ndarray:
    """Latencies in milliseconds of the readings that were sent after the warm-up. `halfway` is called in the middle of them."""
    watch = Stopwatch(instance, feed, topic)
    watch.run(per_second, WARM_UP)
    begin = time.perf_counter()
    watch.run(per_second, seconds / 2)
    halfway()
    watch.run(per_second, seconds / 2)
    samples = np.array(watch.finish())
    return samples[samples[:, 0] >= begin, 1] * 1000


def preload(instance: Instance, feed: Feed) -> None:
    """2,000,000 readings within the averages, of the 200 services in turn."""
    encode = encoder(feed, instance.registry)
    options = {"bootstrap.servers": instance.kafka, "linger.ms": 50, "batch.size": 1 << 20, "compression.type": "lz4"}
    producer = Producer(options | {"queue.buffering.max.messages": DRAINED, "partitioner": "murmur2_random"})
    first = int(time.time() * 1000) // 10_000 * 10_000 - DRAINED // len(SERVICES) * 10_000
    for start in range(0, DRAINED, 100_000):
        numbers = np.arange(start, start + 100_000)
        values = encode.encode(first + numbers // len(SERVICES) * 10_000, 100 + numbers % 400)
        for number, value in zip(numbers.tolist(), values, strict=True):
            producer.produce(feed.topic, value, SERVICES[number % len(SERVICES)].encode())
        producer.poll(0)
    producer.flush(120)


class Drain:
    """When a system's outputs were there."""

    def __init__(self, instance: Instance, feed: Feed, topic: str):
        options = {
            "bootstrap.servers": instance.kafka,
            "group.id": "drain",
            "fetch.queue.backoff.ms": 5,
            "enable.auto.commit": False,
        }
        self._consumer = Consumer(options)
        self._parts = [TopicPartition(topic, each) for each in range(feed.partitions)]
        self.before = self._ends()

    def _ends(self) -> list[int]:
        return [self._consumer.get_watermark_offsets(part, timeout=10)[1] for part in self._parts]

    def wait(self) -> tuple[float, float]:
        """Epoch seconds at which a quarter of the outputs was sent, and the last of them."""
        wait_for("the outputs", lambda: sum(self._ends()) - sum(self.before) >= DRAINED, 300)
        lasts = [end - 1 for end in self._ends()]
        quarters = [first + (last - first) // 4 for first, last in zip(self.before, lasts, strict=True)]
        times = self._sent_at(quarters), self._sent_at(lasts)
        self._consumer.close()
        return times

    def _sent_at(self, offsets: list[int]) -> float:
        """When the last of these records was sent. The broker is not asked while it works: that would slow it down."""
        latest = 0.0
        for part, offset in zip(self._parts, offsets, strict=True):
            self._consumer.assign([TopicPartition(part.topic, part.partition, offset)])
            latest = max(latest, self._consumer.consume(1, timeout=20)[0].timestamp()[1] / 1000)
        return latest


def drain_floor(instance: Instance, feed: Feed) -> tuple[float, float]:
    """Readings a second that a plain consumer takes from the topic: of all, and of those after the first quarter."""
    options = {"bootstrap.servers": instance.kafka, "group.id": "floor", "fetch.queue.backoff.ms": 5, "enable.auto.commit": False}
    consumer = Consumer(options)
    parts = [TopicPartition(feed.topic, each) for each in range(feed.partitions)]
    ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
    total = sum(ends)
    consumer.assign([TopicPartition(part.topic, part.partition, 0) for part in parts])
    begin, quarter, taken = time.perf_counter(), 0.0, 0
    while taken < total:
        taken += len(consumer.consume(min(10_000, total - taken), timeout=1))  # for more than is left it would wait
        quarter = quarter or (time.perf_counter() if taken >= total / 4 else 0.0)
    end = time.perf_counter()
    consumer.close()
    return total / (end - begin), total * 0.75 / (end - quarter)


def running(instance: Instance, feed: Feed, system: str) -> Callable[[], bool]:
    """Whether the system's query reads."""
    if system == "sundial":
        return lambda: heartbeat(instance, feed).get("state") == "running"
    return lambda: Checkpoint(instance.streams / f"{feed.name}.microbatch").reached() is not None


def run_latency(system: str, seconds: float, long: float, results: dict) -> None:
    """Quantiles at 20/s for `seconds` and at 1,000/s for `long` seconds, in the middle of which a baseline is promoted."""
    feed = load_feed("service-use")
    with platform() as instance:
        promote_large_baseline(instance, feed)
        topic = feed.topic if system == "floor" else feed.anomalies_topic
        with contextlib.nullcontext() if system == "floor" else driver(instance, PROGRAMS[system], "--feed", feed.name):
            if system != "floor":
                wait_for("the query", running(instance, feed, system))
            low = measure(instance, feed, topic, 20, seconds)
            promote = (lambda: promote_again(instance, feed)) if system == "sundial" else (lambda: None)
            high = measure(instance, feed, topic, 1000, long, promote)
    for rate, latencies in ((20, low), (1000, high)):
        for name, quantile in (("p50", 50), ("p95", 95), ("p99", 99), ("p999", 99.9), ("worst", 100)):
            results.setdefault((system, f"{name}_ms_{rate}", "ms"), []).append(float(np.percentile(latencies, quantile)))


def run_drain(system: str, results: dict) -> None:
    """From the query's start, its first broadcast included, and steady: of the last three quarters of the readings."""
    feed = load_feed("service-use")
    with platform() as instance:
        promote_large_baseline(instance, feed)
        if system == "floor":
            preload(instance, feed)
            whole, steady = drain_floor(instance, feed)
        else:
            arguments = (instance, PROGRAMS[system], "--feed", feed.name)
            with driver(*arguments):  # once, so that it begins before the first of the readings
                wait_for("the query", running(instance, feed, system))
            preload(instance, feed)
            drain = Drain(instance, feed, feed.scored_topic)
            with driver(*arguments):
                begin = _query_start(instance, feed, system)
                quarter, end = drain.wait()
                whole, steady = DRAINED / (end - begin()), DRAINED * 0.75 / (end - quarter)
    results.setdefault((system, "drain_per_s", "events/s"), []).append(whole)
    results.setdefault((system, "drain_steady_per_s", "events/s"), []).append(steady)


def _query_start(instance: Instance, feed: Feed, system: str) -> Callable[[], float]:
    """Epoch seconds of the query's start, so that its first broadcast counts and the start of the JVM does not."""
    log = instance.logs / f"{PROGRAMS[system].stem}.log"
    known = len(_starts(log))
    wait_for("the query's start", lambda: len(_starts(log)) > known, 120)
    return lambda: _starts(log)[-1]


def _starts(log: Path) -> list[float]:
    found = re.findall(r"^query (?:\d+ )?started at (\S+?),?(?: |$)", log.read_text(), re.MULTILINE)
    return [dt.datetime.fromisoformat(each).timestamp() for each in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each system, in turn (default 3)")
    parser.add_argument("--seconds", type=float, default=30, help="measured seconds at 20/s (default 30)")
    parser.add_argument("--long", type=float, default=180, help="measured seconds at 1,000/s (default 180: three handovers)")
    parser.add_argument("--systems", default="floor,sundial,microbatch")
    parser.add_argument("--only", choices=["latency", "drain"], help="one of the two parts")
    options = parser.parse_args()
    say(cores())
    results: dict[tuple[str, str, str], list[float]] = {}
    for turn in range(options.repeat):
        for system in options.systems.split(","):
            say(f"run {turn + 1} of {options.repeat}: {system}")
            if options.only != "drain":
                run_latency(system, options.seconds, options.long, results)
            if options.only != "latency":
                run_drain(system, results)
    for (system, metric, unit), values in sorted(results.items()):
        figure("latency", system, metric, values, unit)


if __name__ == "__main__":
    main()
