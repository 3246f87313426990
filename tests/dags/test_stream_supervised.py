"""A supervised stream: launched once, found again, stopped by a person and by nothing else."""

import asyncio
import os
import time
from pathlib import Path

import psutil
import pytest
from airflow.sdk.exceptions import AirflowFailException

from dags.stream_operator import StreamOperator
from dags.stream_state import AlreadyRunning, StreamState
from tests.dags.supervision import ATTEMPT, Triggerer, kill, starts, trigger, until


def test_launches_by_the_connection_as_a_process_of_its_own(running, streams):
    [pid] = starts(streams)
    assert os.getsid(pid) == running.stream.launched()["pid"] != os.getsid(0)
    assert pid not in {child.pid for child in psutil.Process().children(recursive=True)}
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")
    said = until(lambda: "command line:" in running.stream.last_lines() and running.stream.last_lines())
    assert "--master local[3] " in said
    assert "/jobs/score.py --feed service-use" in said
    assert "spark.driver.extraClassPath=" in said


def test_the_stream_outlives_the_triggerer_and_the_next_one_finds_it(streams):
    with Triggerer(trigger()) as first:
        until(lambda: first.stream.heartbeat_mark())
    with Triggerer(trigger()) as second:
        time.sleep(1.5)
        assert len(starts(streams)) == 1
        kill(starts(streams)[0])
        until(lambda: len(starts(streams)) == 2)
    assert second.events == []


def test_two_supervisors_at_once_launch_one_driver(streams):
    with Triggerer(trigger()) as one, Triggerer(trigger()):
        until(lambda: one.stream.heartbeat_mark())
        time.sleep(1.5)
        assert len(starts(streams)) == 1
        assert one.stream.log_file.read_text().count("--- launched") == 1, "the second one did not even try"


def test_the_launcher_refuses_while_a_driver_started_otherwise_holds_the_lock(running, streams):
    running.stream.launch_lock.unlink()
    assert not running.stream.gone()
    with pytest.raises(AlreadyRunning, match=f"pid {starts(streams)[0]}"):
        running.stream.launch(["false"], {})


@pytest.mark.parametrize(
    ("task_state", "attempt_in_charge", "stops"),
    [
        ("failed", "attempt-1", True),
        ("success", "attempt-1", True),
        (None, "attempt-1", True),
        ("queued", "attempt-1", True),
        ("deferred", "attempt-2", True),
        ("deferred", "attempt-1", False),
    ],
)
def test_a_persons_act_stops_the_stream_cleanly_and_a_moved_trigger_does_not(streams, task_state, attempt_in_charge, stops):
    with Triggerer(trigger()) as triggerer:
        until(lambda: triggerer.stream.heartbeat_mark())
    stream = triggerer.stream
    triggerer.trigger._task_state = lambda: task_state
    triggerer.trigger._task_instance = ATTEMPT
    stream.supervise(attempt_in_charge)
    asyncio.run(triggerer.trigger.on_kill())
    if stops:
        until(stream.gone)
        assert stream.heartbeat()["state"] == "stopping"
    else:
        time.sleep(1)
        assert not stream.gone()
    assert not stream.stop_file.exists()


def test_a_stop_by_hand_is_a_clean_restart(running, streams):
    assert running.stream.request_stop()
    until(lambda: len(starts(streams)) == 2)
    assert not running.stream.stop_file.exists()


def test_a_stale_wish_to_stop_does_not_meet_the_next_driver(streams):
    state = StreamState(streams / "service-use.score")
    assert not state.request_stop()
    state.supervise("attempt-0")
    state.stop_file.touch()
    with Triggerer(trigger()):
        until(lambda: state.heartbeat_mark())
        time.sleep(0.5)
        assert not state.gone()
        assert len(starts(streams)) == 1


def test_what_is_not_set_up_is_named(streams, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with Triggerer(trigger(restarts=0)) as triggerer:
        [event] = until(lambda: triggerer.events)
    assert "spark-submit: not found" in event["error"]
    monkeypatch.delenv("SUNDIAL_STREAMS")
    with pytest.raises(AirflowFailException, match="SUNDIAL_STREAMS is not set"):
        StreamOperator(task_id="score", of="service-use", stream="score").execute({"ti": ATTEMPT})
