"""SIGKILL at every step of a night: the baseline in force is the old one or the new one, whole, and the night can go on."""

import datetime as dt
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from confluent_kafka import Producer

from contracts.feeds import load_feed
from jobs import archive, build_baseline, check_baseline, promote_baseline, rollback_baseline
from jobs.backends import tables
from jobs.backends.history_table import merge
from sources.producer import encoder
from stack.deploy import schemas, topics
from tests.jobs.readings import arrived
from tests.jvm import ENVIRONMENT

pytestmark = [pytest.mark.kill, pytest.mark.full]

FEED = load_feed("road-traffic")
REPO = Path(__file__).parents[2]
AS_OF = dt.date(2026, 9, 22)  # a Tuesday
MODULES = {
    module.__name__.removeprefix("jobs."): module for module in (archive, build_baseline, check_baseline, promote_baseline)
}
# Every write of the night, in its order: job, method of lake.Table, points
STEPS = {
    "archive": ("replace", ["before", "during", "after"]),
    "build_baseline": ("write", ["before", "during", "after"]),
    "check_baseline": ("add", ["before", "after"]),
    "promote_baseline": ("write", ["before", "during", "after"]),
}


def arguments(job: str, run_id: str) -> list[str]:
    more = {"build_baseline": ["--as-of", str(AS_OF)], "promote_baseline": ["--by", "tests"]}
    return ["--feed", FEED.name, "--run-id", run_id, *more.get(job, [])]


def killed(platform, job: str, method: str, point: str, *options: str) -> None:
    names = {"SUNDIAL_KAFKA": platform.kafka, "SUNDIAL_REGISTRY": platform.registry, "SUNDIAL_LAKE": platform.lake}
    names |= {"SUNDIAL_STREAMS": platform.streams, "SUNDIAL_JARS": platform.jars, "PYTHONPATH": str(REPO)}
    command = [sys.executable, str(Path(__file__).with_name("killed.py")), job, method, point, *options]
    ran = subprocess.run(
        command,
        env=os.environ | names | ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
        cwd=REPO,
    )
    assert ran.returncode == -signal.SIGKILL, f"{job} was not killed {point} {method}: {ran.stderr[-2000:]}"


def in_force(spark, platform) -> list:
    return sorted(map(tuple, tables.baseline(platform, FEED).read(spark).collect()))


def hourly(first: dt.date, days: int, value: int) -> list[tuple[dt.datetime, int]]:
    start = dt.datetime.combine(first, dt.time(), FEED.zone).astimezone(dt.UTC)
    return [(start + dt.timedelta(hours=number), value + number % 24) for number in range(24 * days)]


@pytest.fixture
def night(spark, run_job, live_platform, broker):
    """A baseline in force as of the night before, and a day of readings in the topic that is yet to be archived."""
    topics.deploy(broker.kafka, FEED.topics)
    schemas.register(broker.registry, FEED.topics)
    first = AS_OF - dt.timedelta(days=36)
    rows = [("I-94", at, value, 0, -1) for at, value in hourly(first, 35, 100)]
    frame = arrived(spark, FEED, rows).cache()
    merge(spark, tables.history(live_platform, FEED), frame, {})
    for job in ("build_baseline", "check_baseline", "promote_baseline"):
        yesterday = [str(AS_OF - dt.timedelta(days=1)) if each == str(AS_OF) else each for each in arguments(job, "n1")]
        run_job(MODULES[job], live_platform, *yesterday)
    producer, encode = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True}), encoder(FEED, broker.registry)
    for at, value in hourly(AS_OF - dt.timedelta(days=1), 1, 120):
        payload = encode.encode(np.array([int(at.timestamp() * 1000)]), np.array([value]))[0]
        producer.produce(FEED.topic, payload, b"I-94")
    assert producer.flush(30) == 0


@pytest.mark.timeout(900)
def test_a_night_that_is_killed_at_every_step(spark, run_job, live_platform, night):
    old = in_force(spark, live_platform)
    for job, (method, points) in STEPS.items():
        for point in points:
            killed(live_platform, job, method, point, *arguments(job, "n2"))
            promoted = (job, point) == ("promote_baseline", "after")
            assert (in_force(spark, live_platform) == old) is not promoted, f"after a kill {point} the write of {job}"
        run_job(MODULES[job], live_platform, *arguments(job, "n2"))
    new = in_force(spark, live_platform)
    assert [row[-1][-1] for row in new if row[1] == 1] == [AS_OF - dt.timedelta(days=1)], "yesterday, a Monday, counts"
    assert [row for row in new if row[1] != 1] == [row for row in old if row[1] != 1]
    table = tables.history(live_platform, FEED)
    assert table.read(spark).count() == 36 * 24, "no reading is lost or doubled"
    assert len([commit for commit in tables.baseline(live_platform, FEED).commits() if commit.note.get("run_id") == "n2"]) == 1
    build_full = [*arguments("build_baseline", "full"), "--full"]
    run_job(build_baseline, live_platform, *build_full)
    assert sorted(map(tuple, tables.candidate(live_platform, FEED).read(spark).collect())) == new
    back = ["--feed", FEED.name, "--to-version", "0", "--by", "tests", "--reason", "killed"]
    killed(live_platform, "rollback_baseline", "restore", "before", "--run-id", "r1", *back)
    assert in_force(spark, live_platform) == new
    killed(live_platform, "rollback_baseline", "restore", "after", "--run-id", "r1", *back)
    assert in_force(spark, live_platform) == old
    run_job(rollback_baseline, live_platform, "--run-id", "r1", *back)
    assert tables.baseline(live_platform, FEED).version() == 2, "the repeated rollback finds that it is done"
