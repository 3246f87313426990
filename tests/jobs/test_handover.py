"""Queries that take turns, on a real broker: a driver that is killed at each step of a handover leaves no reading out."""

import datetime as dt
import io
import itertools
import os
import subprocess
import sys
import threading

import fastavro
import pytest

from contracts import avro
from stack.instance import JARS, ROOT
from supervision.files import StreamFolder
from tests.jobs.killed_handing_over import STEPS
from tests.jobs.readings import NOON, produce
from tests.jvm import ENVIRONMENT
from tests.support import topics
from tests.support.seed import chance
from tests.support.waiting import until

pytestmark = [pytest.mark.full, pytest.mark.kill, pytest.mark.timeout(1500)]
BATCH = 6  # seconds


class Scoring:
    """jobs/score.py in a process of its own, which can kill itself at a step: see killed_handing_over.py."""

    def __init__(self, broker, platform, feed):
        self._feed, self._platform = feed, platform
        self.folder = StreamFolder.of(platform.streams, feed.name, "score")
        self._variables = {
            "SUNDIAL_KAFKA": broker.kafka,
            "SUNDIAL_REGISTRY": broker.registry,
            "SUNDIAL_LAKE": platform.lake,
            "SUNDIAL_STREAMS": platform.streams,
            "SUNDIAL_JARS": str(JARS / "spark"),
        }

    def start(self, step: str = "never") -> subprocess.Popen:
        self.folder.make()
        options = ["--feed", self._feed.name, "--checkpoint-interval", str(BATCH)]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.jobs.killed_handing_over", step, self._feed.model_dump_json(), *options],
            cwd=ROOT,
            env=os.environ | self._variables | ENVIRONMENT,
            stdout=self.folder.log.open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def generation(self, driver: subprocess.Popen) -> int:
        """That is in force; 0 before the driver's first query works."""
        assert driver.poll() is None, self.folder.log.read_text()[-3000:]
        beat = self.folder.read_heartbeat() if self.folder.read_driver().get("pid") == driver.pid else {}
        return beat["generation"] if beat.get("state") == "running" else 0

    def generations(self) -> list[int]:
        return sorted(int(each.name) for each in self.folder.checkpoint.glob("[0-9]*"))


class Readings(threading.Thread):
    """Sends a reading every 20 ms: of interval n the value n."""

    def __init__(self, broker, feed):
        super().__init__(daemon=True)
        self._broker, self._feed, self._done, self.sent = broker, feed, threading.Event(), 0

    def run(self) -> None:
        for number in itertools.count():
            if self._done.wait(0.02):
                return
            at = NOON + dt.timedelta(seconds=self._feed.interval_seconds * number)
            produce(self._broker, self._feed, ("www", at, number), partition=number % self._feed.partitions)
            self.sent = number + 1

    def stop(self) -> int:
        self._done.set()
        self.join()
        return self.sent


def scored(broker, feed) -> dict[int, set[tuple]]:
    """What was scored, of each interval: its value, and the other fields."""
    schema, found = avro.latest("scored"), {}
    for message in topics.consume(broker.kafka, feed.scored_topic):
        row = fastavro.schemaless_reader(io.BytesIO(message.value()[5:]), schema)
        number = (row.pop("Timestamp") - NOON) // dt.timedelta(seconds=feed.interval_seconds)
        found.setdefault(number, set()).add(tuple(row.values()))
    return found


def test_a_driver_that_is_killed_at_any_step_of_a_handover_leaves_nothing_out(broker, live_platform, feed):
    scoring, readings = Scoring(broker, live_platform, feed), Readings(broker, feed)
    steps = list(STEPS)
    chance("handover").shuffle(steps)
    drivers = [scoring.start()]
    try:
        until("a query", lambda: scoring.generation(drivers[-1]), 180)
        readings.start()
        first = scoring.generation(drivers[-1])
        until("a handover", lambda: scoring.generation(drivers[-1]) > first, 120)
        os.killpg(drivers[-1].pid, 9)
        for step in steps:
            drivers[-1].wait(30)
            drivers.append(scoring.start(step))
            until(f"the kill: {step}", lambda: drivers[-1].poll() is not None, 240)
            assert drivers[-1].poll() == -9, scoring.folder.log.read_text()[-3000:]
            print(f"{step}: killed with the generations {scoring.generations()}")
        drivers.append(scoring.start())
        until("a query", lambda: scoring.generation(drivers[-1]), 180)
        last = scoring.generation(drivers[-1])
        until("a handover", lambda: scoring.generation(drivers[-1]) > last, 120)
        sent = readings.stop()
        until("all are scored", lambda: len(scored(broker, feed)) == sent, 120, lambda: (len(scored(broker, feed)), sent))
        until("no lag", lambda: scoring.folder.read_heartbeat()["health"].get("lag_records") == 0, 60)
    finally:
        readings.stop()
        for driver in drivers:
            if driver.poll() is None:
                os.killpg(driver.pid, 9)
                driver.wait(30)
    rows = scored(broker, feed)
    assert {number: {row[1] for row in of_one} for number, of_one in rows.items()} == {number: {number} for number in range(sent)}
    assert all(len(of_one) == 1 for of_one in rows.values()), "scored again, each reading is what it was"
    assert topics.consume(broker.kafka, feed.dead_letter_topic) == []
    assert len(scoring.generations()) <= 2
