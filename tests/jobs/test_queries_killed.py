"""The declared queries, killed in the middle of their work and started again, end with what a recompute of their input gives."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contracts.queries import load_queries, query_topics
from stack import schemas, topics
from stack.home import JARS, ROOT
from tests.jobs.rides import Reader, RidesTopic, per_vendor_minute, sample

KILLS = 3
PATIENCE = 90.0


def until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(0.1)


class Driver:
    """jobs/run_queries.py in a process of its own, its JVM in the same group."""

    def __init__(self, broker, streams: Path):
        self._folder = streams / "rides.queries"
        variables = {
            "SUNDIAL_KAFKA": broker.kafka,
            "SUNDIAL_REGISTRY": broker.registry,
            "SUNDIAL_LAKE": str(streams.parent / "lake"),
            "SUNDIAL_STREAMS": str(streams),
            "SUNDIAL_JARS": str(JARS / "spark"),
        }
        self._log = (streams / "driver.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jobs.run_queries", "--application", "rides"],
            cwd=ROOT,
            env=os.environ | variables,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def works(self) -> bool:
        """It, and none before it, says that all its queries run."""
        assert self._process.poll() is None, Path(self._log.name).read_text()[-3000:]
        who, how = (self._folder / name for name in ("driver.json", "heartbeat.json"))
        if not who.exists() or json.loads(who.read_text())["pid"] != self._process.pid or not how.exists():
            return False
        told = json.loads(how.read_text())
        return told["at"] > json.loads(who.read_text())["started_at"] and told["state"] == "running"

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def stop(self) -> int:
        (self._folder / "stop").touch()
        return self._process.wait(60)


@pytest.fixture
def start(broker, tmp_path):
    """start(): another driver on the same checkpoints; what still runs is killed in the end."""
    started = []

    def start() -> Driver:
        started.append(Driver(broker, tmp_path))
        return started[-1]

    yield start
    for driver in started:
        driver.kill()


@pytest.mark.timeout(600)
def test_killed_and_started_again_the_outputs_are_those_of_the_whole_input(broker, start):
    declared = query_topics(load_queries().values())
    topics.deploy(broker.kafka, declared)
    schemas.register(broker.registry, declared)
    source, reader = RidesTopic(broker, "rides"), Reader(broker, *(topic.name for topic in declared))
    rides, moments = sample(), random.Random(6)
    size = len(rides) // (KILLS + 1)
    source.send(*rides[:size])
    for number in range(1, KILLS + 1):
        driver = start()
        until(driver.works, "the driver works")
        source.send(*rides[number * size : (number + 1) * size if number < KILLS else None])
        time.sleep(moments.uniform(0, 2))
        driver.kill()
    last = start()
    until(lambda: reader.minutes("rides.per-vendor-minute") == per_vendor_minute(rides), "minutes are those of all rides")
    until(lambda: len(of(reader, "low") | of(reader, "high")) == len(rides), "every ride is in one of the topics")
    assert {row["total_amount"] < 40 for row in of(reader, "low").values()} == {True}
    assert {row["total_amount"] < 40 for row in of(reader, "high").values()} == {False}
    assert [message.topic() for message in reader.look() if message.topic().endswith("dead-letter")] == []
    assert last.stop() == 0


def of(reader: Reader, amount: str) -> dict[bytes, dict]:
    return reader.of(f"rides.{amount}-amount", "taxi_ride")
