"""The rate at which 2,000,000 waiting readings are scored: a part of `make bench NAME=latency`."""

import datetime as dt
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.platform import PROGRAMS, SERVICES, driver, platform, promote_large_baseline, running, wait_for
from contracts.feeds import Feed, load_feed
from sources.producer import encoder
from stack.instance import Instance

DRAINED = 2_000_000


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
    """Epoch seconds of the query's start, so that its first broadcast counts and the start of the JVM does not. To be asked for
    when the outputs are there; the next query may have started by then."""
    log = instance.logs / f"{PROGRAMS[system].stem}.log"
    known = len(_starts(log))
    wait_for("the query's start", lambda: len(_starts(log)) > known, 120)
    return lambda: _starts(log)[known]


def _starts(log: Path) -> list[float]:
    found = re.findall(r"^query (?:\d+ )?started at (\S+?),?(?: |$)", log.read_text(), re.MULTILINE)
    return [dt.datetime.fromisoformat(each).timestamp() for each in found]
