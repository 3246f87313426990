"""A stream's state follows from its heartbeat and from whether its very process lives."""

import datetime as dt
import os
import subprocess
import sys

import pytest

from serving.streams import streams
from tests.serving import world

NOW = dt.datetime.now(dt.UTC)


def ago(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


@pytest.fixture(scope="module")
def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def only(run_state):
    (found,) = streams(run_state, NOW)
    return found


@pytest.mark.parametrize("state", ["starting", "running", "swapping", "stopping"])
def test_a_living_stream_is_what_its_heartbeat_says(run_state, feed, state):
    world.stream(run_state, feed, "score", os.getpid(), NOW, {"at": NOW.isoformat(), "state": state, "baseline_version": 4})
    found = only(run_state)
    assert (found.feed, found.stream, found.state, found.problem) == (feed.name, "score", state, None)
    assert (found.baseline_version, found.batch_id, found.heartbeat_age_seconds) == (4, 7, 0.0)


def test_a_living_process_that_does_not_report_is_stale(run_state, feed):
    world.stream(run_state, feed, "score", os.getpid(), ago(0), {"at": (NOW + dt.timedelta(seconds=1)).isoformat()})
    (found,) = streams(run_state, NOW + dt.timedelta(seconds=31))
    assert (found.state, found.heartbeat_age_seconds) == ("stale", 30.0)
    assert "has not reported for 30 s" in found.problem


def test_a_killed_stream_is_dead_however_fresh_its_heartbeat(run_state, feed, dead_pid):
    world.stream(run_state, feed, "score", dead_pid, ago(60), {"at": NOW.isoformat()})
    found = only(run_state)
    assert found.state == "dead"
    assert f"no process {dead_pid}" in found.problem


def test_a_pid_used_again_by_another_process_is_dead(run_state, feed):
    world.stream(run_state, feed, "score", os.getpid(), ago(86_400), {"at": NOW.isoformat()})
    assert only(run_state).state == "dead"


def test_a_stream_that_ended_as_told_is_stopped(run_state, feed, dead_pid):
    world.stream(run_state, feed, "score", dead_pid, ago(60), {"at": ago(5).isoformat(), "state": "stopping"})
    assert (only(run_state).state, only(run_state).problem) == ("stopped", None)


def test_before_its_first_heartbeat_a_stream_is_starting(run_state, feed):
    world.stream(run_state, feed, "score", os.getpid(), NOW, None)
    assert only(run_state).state == "starting"


def test_the_heartbeat_of_an_earlier_driver_does_not_count(run_state, feed):
    world.stream(run_state, feed, "score", os.getpid(), NOW, {"at": ago(600).isoformat(), "state": "stopping"})
    assert (only(run_state).state, only(run_state).heartbeat_age_seconds) == ("starting", None)


def test_half_written_files_are_no_error(run_state, feed):
    world.stream(run_state, feed, "score", os.getpid(), NOW, {"at": NOW.isoformat()})
    (run_state / f"{feed.name}.score" / "heartbeat.json").write_text('{"at": "20')
    assert only(run_state).state == "starting"
    (run_state / f"{feed.name}.score" / "driver.json").write_text("[]")
    assert only(run_state).state == "dead"
    assert "driver.json" in only(run_state).problem


def test_no_folder_no_streams(run_state):
    assert streams(run_state, NOW) == []
