"""Half an hour of readings at 5,000 a second through a whole stack, with a fault every two minutes.

Each part is killed in turn (SIGKILL): the driver's Python process, its JVM, both; the driver is stopped (SIGSTOP: a hang); then
Airflow's triggerer, its scheduler, the broker, the registry, and all of them with the driver at once. Airflow brings the driver
back; the other parts are started again by `sundial up`, as their owner would.

`back_s_<fault>`: from the fault until the stream runs and nothing waits as long as two seconds. `lag_max`: the most that waited.
`missing`: readings without a scored record in the end; `unexpected`: scored records of readings that nobody sent. `rss_mb`: the
most memory of a driver's two processes; `rss_mb_per_hour`: by how much it grew, from a minute after each start.
"""

import argparse
import datetime as dt
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.platform import SERVICES, cores, figure, promote_large_baseline, say, wait_for
from contracts.feeds import Feed, load_feed
from contracts.run_state import RunState, instant, observe
from sources.topic import encoder
from stack import kafka, lifecycle, process, registry
from stack.airflow_api import AirflowApi
from stack.home import Home

FEED = load_feed("service-use")
BACK_WITHIN = 300.0  # seconds; a fault that is not over by then ends the soak


class Load:
    """Readings at an even rate from a thread of their own. Number n is of service n % 200, and of its own millisecond today."""

    def __init__(self, home: Home, feed: Feed, rate: int):
        self.sent, self.failed = 0, 0
        self._feed, self._rate = feed, rate
        self._midnight = int(time.time() // 86_400 * 86_400_000)
        self._encoder = encoder(feed, home.registry)
        options = {"bootstrap.servers": home.kafka, "acks": "all", "enable.idempotence": True, "message.timeout.ms": 300_000}
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
        """Timestamp of readings, epoch milliseconds: slot after slot through the day, then again a millisecond later."""
        rounds = np.arange(first, first + count) // len(SERVICES)
        return self._midnight + rounds % self._feed.slots * self._feed.interval_seconds * 1000 + rounds // self._feed.slots

    def number(self, key: bytes) -> int:
        """The reading of a scored record's key."""
        service, _, millis = key.rpartition(b"|")
        slot, again = divmod(int(millis) - self._midnight, self._feed.interval_seconds * 1000)
        return (again * self._feed.slots + slot) * len(SERVICES) + int(service[-3:])

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


class Watch:
    """Looks each second at the stream: lag, and the memory of its driver."""

    def __init__(self, folder: Path, rate: int):
        self.folder, self.lag_max, self._few = folder, 0, 2 * rate
        self.memory: list[tuple[int, float, float]] = []  # (pid, seconds since the driver started, MB)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def well(self, since: dt.datetime) -> bool:
        """Runs, and as measured after that instant, nothing has waited as long as two seconds.

        A driver that has just begun does not know how long what it found had waited: so no more than two seconds' worth either.
        """
        seen = observe(self.folder)
        health = seen.heartbeat.get("health", {})
        measured = instant(health.get("measured_at"))
        known = seen.state == "running" and measured is not None and measured > since
        return known and health["lag_seconds"] < 2 and health["lag_records"] <= self._few

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            seen = observe(self.folder)
            self.lag_max = max(self.lag_max, seen.heartbeat.get("health", {}).get("lag_records", 0))
            with suppress(psutil.NoSuchProcess, TypeError):
                python = psutil.Process(seen.pid)
                age = time.time() - python.create_time()
                self.memory.append((seen.pid, age, sum(each.memory_info().rss for each in (python, python.parent())) / 1e6))

    def growth(self) -> float:
        """MB an hour, over the lives of the drivers that lasted, from a minute after their start."""
        rise, span = 0.0, 0.0
        for pid in {pid for pid, _, _ in self.memory}:
            life = [(age, mb) for each, age, mb in self.memory if each == pid and age > 60]
            if len(life) > 30:
                ages, mbs = np.array(life).T
                rise += np.polyfit(ages, mbs, 1)[0] * (ages[-1] - ages[0])
                span += ages[-1] - ages[0]
        return 3600 * rise / span if span else 0.0


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def faults(home: Home, watch: Watch) -> dict[str, Callable[[], None]]:
    def part(name: str) -> Callable[[], None]:
        return lambda: process.find(home, name).kill()

    def python() -> None:
        os.kill(driver().pid, signal.SIGKILL)

    def jvm() -> None:
        psutil.Process(driver().pid).parent().kill()

    def both() -> None:
        jvm()
        with suppress(ProcessLookupError):
            python()

    def everything() -> None:
        both()
        for name in ("airflow-triggerer", "airflow-scheduler", registry.NAME, kafka.NAME):
            part(name)()

    def driver() -> RunState:
        return observe(watch.folder)

    return {
        "driver_python": python,
        "driver_jvm": jvm,
        "driver_hangs": lambda: os.kill(driver().pid, signal.SIGSTOP),
        "triggerer": part("airflow-triggerer"),
        "scheduler": part("airflow-scheduler"),
        "broker": part(kafka.NAME),
        "registry": part(registry.NAME),
        "driver": both,
        "everything": everything,
    }


def missing_and_unexpected(home: Home, load: Load) -> tuple[int, int]:
    """How many readings sent have no scored record; how many scored records are of none that was sent."""
    consumer = Consumer({"bootstrap.servers": home.kafka, "group.id": "soak", "enable.auto.commit": False})
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
        home = Home(Path(folder)).make(0)
        try:
            return soak(home, options)
        finally:
            lifecycle.down(home, say)


def soak(home: Home, options: argparse.Namespace) -> int:
    lifecycle.up(home, say)
    promote_large_baseline(home, FEED)
    AirflowApi(home).unpause("supervise_streams")
    watch = Watch(home.streams / f"{FEED.name}.score", options.rate)
    wait_for("the stream", lambda: observe(watch.folder).state == "running", 240)
    load, backs, late = Load(home, FEED, options.rate), {}, []
    load.start()
    began = now()
    wait_for("a second without a lag", lambda: watch.well(began), 120)
    end, kinds = time.monotonic() + 60 * options.minutes, list(faults(home, watch).items())
    for name, strike in kinds * 100:
        due = time.monotonic() + options.every
        if due > end or late:
            break
        struck = time.monotonic()
        strike()
        time.sleep(3)  # as long as it takes a person, or a watchdog
        lifecycle.up(home, lambda _: None)
        later = now()  # what was measured before tells nothing of the fault
        while not (back := watch.well(later)) and time.monotonic() - struck < BACK_WITHIN:
            time.sleep(0.2)
        backs.setdefault(name, []).append(time.monotonic() - struck)
        if not back:
            late.append(name)
        say(f"{name}: back after {backs[name][-1]:.1f} s, {json.dumps(observe(watch.folder).heartbeat.get('health'))}")
        time.sleep(max(0.0, due - time.monotonic()))
    load.stop()
    ended = now()
    wait_for("an end without a lag", lambda: watch.well(ended), 120)
    watch.stop()
    missing, unexpected = missing_and_unexpected(home, load)
    for name, seconds in backs.items():
        figure("soak", "sundial", f"back_s_{name}", seconds, "s")
    figure("soak", "sundial", "events", [load.sent], "readings")
    figure("soak", "sundial", "not_acknowledged", [load.failed], "readings")
    figure("soak", "sundial", "missing", [missing], "readings")
    figure("soak", "sundial", "unexpected", [unexpected], "records")
    figure("soak", "sundial", "lag_max", [watch.lag_max], "readings")
    figure("soak", "sundial", "rss_mb", [max(mb for _, _, mb in watch.memory)], "MB")
    figure("soak", "sundial", "rss_mb_per_hour", [watch.growth()], "MB/h")
    return 1 if missing or unexpected or late else 0


if __name__ == "__main__":
    raise SystemExit(main())
