"""Latency from producing a reading to consuming its anomaly, and the rate at which 2,000,000 waiting readings are scored.

Systems: `floor` (produce and consume on the same broker, nothing between), `sundial` (jobs/score.py in real-time mode) and
`microbatch` (the same transform in micro-batch mode). Avro in and out, baseline of 200 services x 7 day types x 8,640 slots.
"""

import argparse
import datetime as dt
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.platform import REPO, SERVICES, cores, driver, figure, heartbeat, platform, promote_large_baseline, say, wait_for
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


def measure(instance: Instance, feed: Feed, topic: str, per_second: float, seconds: float) -> np.ndarray:
    """(sent at, latency) of each reading that was sent after the warm-up, as two columns in seconds."""
    watch = Stopwatch(instance, feed, topic)
    watch.run(per_second, WARM_UP)
    begin = time.perf_counter()
    watch.run(per_second, seconds)
    samples = np.array(watch.finish())
    return samples[samples[:, 0] >= begin]


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
    """How long a system takes from its first to its last output, or from the start of its query where it tells that."""

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

    def wait(self) -> float:
        """Epoch seconds at which the last of the outputs was sent."""
        wait_for("the outputs", lambda: sum(self._ends()) - sum(self.before) >= DRAINED, 300)
        lasts = [TopicPartition(each.topic, each.partition, end - 1) for each, end in zip(self._parts, self._ends(), strict=True)]
        self._consumer.assign(lasts)
        messages = self._consumer.consume(len(lasts), timeout=20)
        self._consumer.close()
        return max(message.timestamp()[1] for message in messages) / 1000


def drain_floor(instance: Instance, feed: Feed) -> float:
    """Readings a second that a plain consumer takes from the topic."""
    options = {"bootstrap.servers": instance.kafka, "group.id": "floor", "fetch.queue.backoff.ms": 5, "enable.auto.commit": False}
    consumer = Consumer(options)
    parts = [TopicPartition(feed.topic, each) for each in range(feed.partitions)]
    ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
    total = sum(ends)
    consumer.assign([TopicPartition(part.topic, part.partition, 0) for part in parts])
    begin, taken = time.perf_counter(), 0
    while taken < total:
        taken += len(consumer.consume(min(10_000, total - taken), timeout=1))  # for more than is left it would wait
    elapsed = time.perf_counter() - begin
    consumer.close()
    return taken / elapsed


def running(instance: Instance, feed: Feed, system: str) -> Callable[[], bool]:
    """Whether the system's query reads."""
    if system == "sundial":
        return lambda: heartbeat(instance, feed).get("state") == "running"
    return lambda: Checkpoint(instance.streams / f"{feed.name}.microbatch").reached() is not None


def run_latency(system: str, seconds: float, results: dict) -> None:
    """p50 and p99 at 20/s and 1,000/s; at 1,000/s the run is long enough to hold a batch boundary."""
    feed = load_feed("service-use")
    with platform() as instance:
        promote_large_baseline(instance, feed)
        if system == "floor":
            low, high, stall = (
                measure(instance, feed, feed.topic, 20, seconds),
                measure(instance, feed, feed.topic, 1000, seconds),
                None,
            )
        else:
            with driver(instance, PROGRAMS[system], "--feed", feed.name):
                wait_for("the query", running(instance, feed, system))
                low = measure(instance, feed, feed.anomalies_topic, 20, seconds)
                high = measure(instance, feed, feed.anomalies_topic, 1000, max(seconds, 150.0 if system == "sundial" else 0))
            stall = high[:, 1].max()
    for rate, samples in ((20, low), (1000, high)):
        for name, quantile in (("p50", 50), ("p95", 95), ("p99", 99)):
            results.setdefault((system, f"{name}_ms_{rate}", "ms"), []).append(np.percentile(samples[:, 1], quantile) * 1000)
    results.setdefault((system, "p999_ms_1000", "ms"), []).append(np.percentile(high[:, 1], 99.9) * 1000)
    if system == "sundial":
        results.setdefault((system, "boundary_stall_ms", "ms"), []).append(stall * 1000)


def run_drain(system: str, results: dict) -> None:
    feed = load_feed("service-use")
    with platform() as instance:
        promote_large_baseline(instance, feed)
        if system == "floor":
            preload(instance, feed)
            results.setdefault((system, "drain_per_s", "events/s"), []).append(drain_floor(instance, feed))
            return
        arguments = (instance, PROGRAMS[system], "--feed", feed.name)
        with driver(*arguments):  # once, so that it begins before the first of the readings
            wait_for("the query", running(instance, feed, system))
        preload(instance, feed)
        drain = Drain(instance, feed, feed.scored_topic)
        with driver(*arguments):
            begin = _query_start(instance, feed, system)
            elapsed = drain.wait() - begin()
        results.setdefault((system, "drain_per_s", "events/s"), []).append(DRAINED / elapsed)


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
    parser.add_argument("--seconds", type=float, default=30, help="measured seconds at each rate (default 30)")
    parser.add_argument("--systems", default="floor,sundial,microbatch")
    parser.add_argument("--only", choices=["latency", "drain"], help="one of the two parts")
    options = parser.parse_args()
    say(cores())
    results: dict[tuple[str, str, str], list[float]] = {}
    for turn in range(options.repeat):
        for system in options.systems.split(","):
            say(f"run {turn + 1} of {options.repeat}: {system}")
            if options.only != "drain":
                run_latency(system, options.seconds, results)
            if options.only != "latency":
                run_drain(system, results)
    for (system, metric, unit), values in sorted(results.items()):
        figure("latency", system, metric, values, unit)


if __name__ == "__main__":
    main()
