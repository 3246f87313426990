"""Half an hour of readings at 5,000 a second through a whole stack, with a fault every two minutes.

Each part is killed in turn (SIGKILL): the driver's Python process, its JVM, both; the driver is stopped (SIGSTOP: a hang); then
Airflow's triggerer, its scheduler, the broker, the registry, and all of them with the driver at once. Airflow brings the driver
back, and the watcher the other parts.

`back_s_<fault>`: from when the killed part was there again (`bench/soak_faults.py`) until the stream runs and nothing waits as
long as two seconds; `back_after_fault_s_<fault>`: from the fault itself. `lag_max`: the most that waited. `missing`: readings
without a scored record in the end; `unexpected`: scored records of readings that nobody sent. `mb_start_<part>`, `mb_end_<part>`:
memory of the driver, of each part and of the whole stack, the median of the first third of the run, and of the last;
`mb_max_<part>`: the most. Memory that processes share is counted once.
"""

import argparse
import datetime as dt
import json
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.platform import SERVICES, cores, figure, promote_large_baseline, say, wait_for
from bench.soak_faults import FAULTS
from bench.watch import Watch
from contracts.feeds import Feed, load_feed
from sources.producer import encoder
from stack.instance import Instance
from stack.parts import lifecycle
from stack.parts.airflow_api import AirflowApi
from stack.parts.streams import Stream
from supervision.files import StreamFolder
from supervision.status import read_status

FEED = load_feed("service-use")
DAY = 86_400  # seconds
REACH = 30.0  # seconds after the part within which the stream is to be back
BACK_WITHIN = 300.0  # seconds; a fault that is not over by then ends the soak


class Load:
    """Readings at an even rate from a thread of their own. Number n is of service n % 200. The readings of a service
    are a second apart, as long as the day lasts: nearly an hour at 5,000 a second."""

    def __init__(self, instance: Instance, feed: Feed, rate: int):
        self.sent, self.failed = 0, 0
        self._feed, self._rate = feed, rate
        self._midnight = int(time.time() // DAY * DAY * 1000)
        self._encoder = encoder(feed, instance.registry)
        options = {"bootstrap.servers": instance.kafka, "acks": "all", "enable.idempotence": True, "message.timeout.ms": 300_000}
        self._producer = Producer(options | {"partitioner": "murmur2_random", "linger.ms": 5, "log_level": 0})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        if left := self._producer.flush(120):
            raise RuntimeError(f"{left} readings were never acknowledged")

    def times(self, first: int, count: int) -> np.ndarray:
        """Timestamp of readings, epoch milliseconds: second after second through the day, then again a millisecond later."""
        again, second = np.divmod(np.arange(first, first + count) // len(SERVICES), DAY)
        return self._midnight + 1000 * second + again

    def number(self, key: bytes) -> int:
        """The reading of a scored record's key."""
        service, _, millis = key.rpartition(b"|")
        second, again = divmod(int(millis) - self._midnight, 1000)
        return (again * DAY + second) * len(SERVICES) + int(service[-3:])

    def _run(self) -> None:
        step, keys, due = self._rate // 20, [name.encode() for name in SERVICES], time.monotonic()
        while not self._stop.is_set():
            values = self._encoder.encode(self.times(self.sent, step), np.full(step, 300))
            for number, value in enumerate(values, self.sent):
                self._produce(value, keys[number % len(keys)])
            self.sent += step
            due += 0.05
            time.sleep(max(0.0, due - time.monotonic()))

    def _produce(self, value: bytes, key: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._feed.topic, value, key, on_delivery=self._delivered)
                self._producer.poll(0)
                return
            except BufferError:  # the broker is away
                self._producer.poll(0.5)

    def _delivered(self, error, _) -> None:
        self.failed += error is not None


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def missing_and_unexpected(instance: Instance, load: Load) -> tuple[int, int]:
    """How many readings sent have no scored record; how many scored records are of none that was sent."""
    consumer = Consumer({"bootstrap.servers": instance.kafka, "group.id": "soak", "enable.auto.commit": False})
    ends = [TopicPartition(FEED.scored_topic, p, 0) for p in range(FEED.partitions)]
    last = {p.partition: consumer.get_watermark_offsets(p, timeout=20)[1] for p in ends}
    consumer.assign(ends)
    seen, unexpected = np.zeros(load.sent, bool), 0
    reached = dict.fromkeys(last, 0)
    while any(reached[p] < end for p, end in last.items()):
        for message in consumer.consume(10_000, timeout=5):
            reached[message.partition()] = message.offset() + 1
            number = load.number(message.key())
            if number < load.sent:
                seen[number] = True
            else:
                unexpected += 1
    consumer.close()
    return int((~seen).sum()), unexpected


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=5000, help="readings a second (default 5000)")
    parser.add_argument("--every", type=float, default=120, help="seconds between two faults (default 120)")
    options = parser.parse_args()
    say(cores())
    with tempfile.TemporaryDirectory(prefix="sundial-soak-") as folder:
        instance = Instance(Path(folder)).make(0)
        try:
            return soak(instance, options)
        finally:
            lifecycle.down(instance, say)


def soak(instance: Instance, options: argparse.Namespace) -> int:
    lifecycle.up(instance, say)
    promote_large_baseline(instance, FEED)
    AirflowApi(instance).unpause(Stream(FEED.name, "score").dag)
    watch = Watch(instance, StreamFolder.of(instance.streams, FEED.name, "score"), options.rate)
    wait_for("the stream", lambda: read_status(watch.folder).state == "running", 240)
    load = Load(instance, FEED, options.rate)
    load.start()
    began = now()
    wait_for("a second without a lag", lambda: watch.well(began), 120)
    backs = under_faults(instance, watch, options)
    load.stop()
    ended = now()
    wait_for("an end without a lag", lambda: watch.well(ended), 120)
    watch.stop()
    missing, unexpected = missing_and_unexpected(instance, load)
    for name, times in backs.items():
        after_fault, after_part = zip(*times, strict=True)
        figure("soak", "sundial", f"back_s_{name}", list(after_part), "s")
        figure("soak", "sundial", f"back_after_fault_s_{name}", list(after_fault), "s")
    figure("soak", "sundial", "events", [load.sent], "readings")
    figure("soak", "sundial", "not_acknowledged", [load.failed], "readings")
    figure("soak", "sundial", "missing", [missing], "readings")
    figure("soak", "sundial", "unexpected", [unexpected], "records")
    figure("soak", "sundial", "lag_max", [watch.lag_max], "readings")
    for part, megabytes in watch.megabytes.items():
        third = max(1, len(megabytes) // 3)
        figure("soak", "sundial", f"mb_max_{part}", [max(megabytes)], "MB")
        figure("soak", "sundial", f"mb_start_{part}", megabytes[:third], "MB")
        figure("soak", "sundial", f"mb_end_{part}", megabytes[-third:], "MB")
    late = any(after_part > REACH for times in backs.values() for _, after_part in times)
    return 1 if missing or unexpected or late else 0


def under_faults(instance: Instance, watch: Watch, options: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """By fault, each time that it befell: seconds until the stream was back, from the fault and from when the part was back."""
    backs, end = {}, time.time() + 60 * options.minutes
    for fault in FAULTS * 100:
        struck = time.time()
        if struck + options.every > end:
            break
        part_back = fault.befall(instance, watch.folder)
        later = now()  # what was measured before tells nothing of the fault
        wait_for(f"the stream after {fault.name}", lambda since=later: watch.well(since), BACK_WITHIN)
        back = time.time()
        backs.setdefault(fault.name, []).append((back - struck, back - part_back))
        health = json.dumps(read_status(watch.folder).heartbeat.get("health"))
        say(f"{fault.name}: back {back - struck:.1f} s after it, {back - part_back:.1f} s after the part: {health}")
        time.sleep(max(0.0, struck + options.every - time.time()))
    time.sleep(max(0.0, end - time.time()))
    return backs


if __name__ == "__main__":
    raise SystemExit(main())
