"""Latency from producing a reading to consuming its anomaly, and the rate at which 2,000,000 waiting readings are scored.

Systems: `floor` (produce and consume on the same broker, nothing between), `sundial` (jobs/score.py in real-time mode, handing
over each minute) and `microbatch` (the same transform in micro-batch mode). At 1,000/s a baseline is promoted, a schema is
registered, and the producer begins to write by it. Then 20/s are measured again (`…_20_warm`), with compiled code. Avro in and
out, baseline of 200 services x 7 day types x 8,640 slots.
"""

import argparse
import contextlib
import json
import threading
import time
from collections.abc import Callable

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient

from bench.drain import run_drain
from bench.platform import (
    PROGRAMS,
    SERVICES,
    cores,
    driver,
    figure,
    platform,
    promote_again,
    promote_large_baseline,
    running,
    say,
    wait_for,
)
from contracts import avro
from contracts.avro import Level
from contracts.feeds import Feed, load_feed
from sources.producer import encoder
from stack.deploy.schemas import register_one
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
    return samples[samples[:, 0] >= begin, 1] * 1000


def register(instance: Instance, feed: Feed) -> None:
    """A schema with one field more, which its readers do not need."""
    schema = avro.latest(feed.record)
    fields = [*schema["fields"], {"name": "Region", "type": "string", "default": "here"}]
    client = SchemaRegistryClient({"url": instance.registry})
    register_one(client, avro.subject(feed.topic), json.dumps(schema | {"fields": fields}), Level.FULL)


def run_latency(system: str, seconds: float, long: float, results: dict) -> None:
    """Quantiles at 20/s for `seconds`, at 1,000/s for `long` seconds, with the acts, and at 20/s again."""
    feed = load_feed("service-use")
    with platform() as instance:
        promote_large_baseline(instance, feed)
        topic = feed.topic if system == "floor" else feed.anomalies_topic
        with contextlib.nullcontext() if system == "floor" else driver(instance, PROGRAMS[system], "--feed", feed.name):
            if system != "floor":
                wait_for("the query", running(instance, feed, system))
            low = measure(instance, feed, topic, 20, seconds)
            acts = [] if system == "floor" else [lambda _: promote_again(instance, feed), lambda _: register(instance, feed)]
            high = measure(instance, feed, topic, 1000, long, *acts, *([Stopwatch.write_by_the_newest_schema] if acts else []))
            warm = measure(instance, feed, topic, 20, seconds)
    for part, latencies in (("20", low), ("1000", high), ("20_warm", warm)):
        for name, quantile in (("p50", 50), ("p95", 95), ("p99", 99), ("p999", 99.9), ("worst", 100)):
            results.setdefault((system, f"{name}_ms_{part}", "ms"), []).append(float(np.percentile(latencies, quantile)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each system, in turn (default 3)")
    parser.add_argument("--seconds", type=float, default=30, help="measured seconds at 20/s (default 30)")
    parser.add_argument("--long", type=float, default=300, help="measured seconds at 1,000/s (default 300: five handovers)")
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
