"""Supervision of a stream, with real processes: launch, reconnect, restart, give up, stop."""

import asyncio
import json
import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, TaskDeferred

from dags.spark_job import stream_command
from dags.stream_operator import StreamOperator
from dags.stream_state import AlreadyRunning, StreamState
from dags.stream_trigger import StreamTrigger


def operator(**overrides) -> StreamOperator:
    settings = {"task_id": "score", "feed": "service-use", "stream": "score", "hang_after": 1.5, "start_within": 10}
    return StreamOperator(**settings | overrides)


def until(condition, seconds: float = 10):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)
    return result


def starts(streams) -> list[int]:
    """Pids of every driver that ever got the lock."""
    file = streams / "starts"
    return [int(line.split()[0]) for line in file.read_text().splitlines()] if file.exists() else []


def deferred(step, *args, **kwargs) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as deferral:
        step(*args, **kwargs)
    return deferral.value


def fire(trigger: StreamTrigger, seconds: float = 20) -> dict:
    """What the trigger reports, after the journey through Airflow's database that a real one makes."""
    path, arguments = trigger.serialize()
    assert path == "dags.stream_trigger.StreamTrigger"
    again = StreamTrigger(**json.loads(json.dumps(arguments)))

    async def first():
        return await asyncio.wait_for(anext(again.run()), seconds)

    return asyncio.run(first()).payload


def resume(task: StreamOperator, deferral: TaskDeferred, event: dict) -> TaskDeferred:
    return deferred(getattr(task, deferral.method_name), {}, event=event, **deferral.kwargs)


def alive(pid: int) -> bool:
    """A process that only waits for its parent to read its exit code is not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def running(streams):
    """A launched stream whose driver gives heartbeats, and the deferral of its task."""
    task = operator()
    deferral = deferred(task.execute, {})
    until(lambda: task.state.heartbeat_mark())
    return task, deferral


def test_launches_by_the_connection_as_a_process_of_its_own(running, streams, monkeypatch):
    task, _ = running
    [pid] = starts(streams)
    assert os.getsid(pid) == task.state.launched()["pid"] != os.getsid(0)
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")
    said = until(lambda: "command line:" in task.state.last_lines() and task.state.last_lines())
    assert "--master local[3] " in said
    assert "/jobs/score.py --feed service-use" in said
    assert "spark.driver.extraClassPath=" in said


def test_airflows_own_settings_stay_out_of_the_driver(streams, monkeypatch):
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "hush")
    _, env = stream_command("score", "--feed", "service-use")
    assert not [name for name in env if "AIRFLOW" in name]
    assert env["SUNDIAL_STREAMS"] == str(streams)


def test_a_second_attempt_reconnects_and_starts_no_second_driver(running, streams):
    _, deferral = running
    again = deferred(operator().execute, {})
    assert again.trigger.serialize() == deferral.trigger.serialize()
    time.sleep(0.5)
    assert len(starts(streams)) == 1


def test_a_second_attempt_waits_for_a_driver_that_has_locked_nothing_yet(streams):
    first, second = operator(), operator()
    deferred(first.execute, {})
    deferred(second.execute, {})
    until(lambda: second.state.heartbeat_mark())
    time.sleep(0.5)
    assert len(starts(streams)) == 1


def test_the_launcher_refuses_while_any_driver_holds_the_lock(running, streams):
    task, _ = running
    task.state.launch_lock.unlink()  # as if it had been started by hand
    assert not task.state.gone()
    with pytest.raises(AlreadyRunning, match=f"pid {starts(streams)[0]}"):
        task.state.launch(["false"], {})
    os.kill(starts(streams)[0], signal.SIGKILL)
    until(task.state.gone)


@pytest.mark.parametrize("victim", ["python", "jvm", "both"])
def test_a_killed_driver_is_launched_again(running, streams, victim):
    task, deferral = running
    [pid] = starts(streams)
    jvm = task.state.launched()["pid"]
    for each in {"python": [pid], "jvm": [jvm], "both": [jvm, pid]}[victim]:
        os.kill(each, signal.SIGKILL)
    killed = time.monotonic()
    event = fire(deferral.trigger)
    assert event == {"why": "gone"}
    assert time.monotonic() - killed < 2.5
    resume(task, deferral, event)
    until(lambda: len(starts(streams)) == 2)
    assert not alive(pid)


def test_a_half_dead_driver_leaves_nothing_beside_its_successor(running, streams):
    """The Python process stopped dead, its JVM gone: the lock is held, and no driver can start before that is cleared away."""
    task, deferral = running
    [pid] = starts(streams)
    os.kill(pid, signal.SIGSTOP)
    os.kill(task.state.launched()["pid"], signal.SIGKILL)
    event = fire(deferral.trigger)
    assert event == {"why": "gone"}
    resume(task, deferral, event)
    assert not alive(pid)
    until(lambda: len(starts(streams)) == 2)


def test_a_hung_driver_is_killed_and_launched_again(running, streams):
    task, deferral = running
    [pid] = starts(streams)
    os.kill(pid, signal.SIGSTOP)
    event = fire(deferral.trigger)
    assert event["why"] == "hung"
    assert 1 <= event["silent"] <= 4
    resume(task, deferral, event)
    until(lambda: not alive(pid) and len(starts(streams)) == 2)


def test_a_driver_that_never_gives_a_heartbeat_is_hung(streams):
    (streams / "behave").write_text("mute")
    task = operator(start_within=2)
    deferral = deferred(task.execute, {})
    assert fire(deferral.trigger)["why"] == "hung"


def test_the_last_drivers_heartbeat_is_not_taken_for_the_new_ones(running, streams):
    task, deferral = running
    (streams / "behave").write_text("mute")
    os.kill(task.state.launched()["pid"], signal.SIGKILL)
    until(lambda: not alive(starts(streams)[0]))
    resume(task, deferral, {"why": "gone"})
    until(lambda: len(starts(streams)) == 2)
    assert task.state.heartbeat() != {}
    assert task.state.heartbeat_mark() == 0


def test_after_the_budget_the_task_fails_with_the_drivers_last_error(streams):
    (streams / "behave").write_text("crash")
    task = operator(restarts=2)
    deferral = deferred(task.execute, {})
    for _ in range(2):
        deferral = resume(task, deferral, fire(deferral.trigger))
    event = fire(deferral.trigger)
    with pytest.raises(AirflowException, match=r"service-use\.score died 3 times(.|\n)*no broker at 127\.0\.0\.1:1"):
        task.resume({}, event=event, **deferral.kwargs)
    assert task.state.gone()


def test_restarts_out_of_the_window_are_forgotten_and_pauses_grow(streams, monkeypatch):
    (streams / "behave").write_text("crash")
    task, pauses = operator(restarts=3, window=timedelta(minutes=1)), []
    monkeypatch.setattr(task, "_pause", pauses.append)
    now = time.time()
    kept = deferred(task.resume, {}, event={"why": "gone"}, restarts=[now - 600, now - 300, now - 61]).kwargs["restarts"]
    kept = deferred(task.resume, {}, event={"why": "gone"}, restarts=kept).kwargs["restarts"]
    kept = deferred(task.resume, {}, event={"why": "gone"}, restarts=kept).kwargs["restarts"]
    assert pauses == [0, 1, 2]
    assert len(kept) == 3


def test_the_tail_is_bounded_and_only_the_last_drivers(running):
    task, _ = running
    offset = task.state.launched()["log_offset"]
    with task.state.log_file.open("ab") as log:
        log.write(b"x" * 100_000 + b"\n" + b"line\n" * 100)
    assert task.state.last_lines() == "\n".join(["line"] * 40)
    assert offset == 0
    task.state.kill()
    deferred(task.execute, {})
    assert "line" not in task.state.last_lines().splitlines()


@pytest.mark.parametrize(
    ("task_state", "stops"), [("failed", True), ("success", True), (None, True), ("queued", True), ("deferred", False)]
)
def test_a_persons_act_stops_the_stream_cleanly_and_a_moved_trigger_does_not(running, streams, task_state, stops):
    task, deferral = running
    trigger = deferral.trigger
    trigger._task_state = lambda: task_state
    asyncio.run(trigger.on_kill())
    if stops:
        until(task.state.gone)
        assert task.state.heartbeat()["state"] == "stopping"
        assert not task.state.stop_file.exists()
    else:
        time.sleep(0.7)
        assert not task.state.gone()
        assert not task.state.stop_file.exists()


def test_a_killed_task_launches_nothing_more(streams):
    task = operator()
    task.on_kill()
    with pytest.raises(AirflowException, match="nothing is launched"):
        task.execute({})
    assert task.state.gone()


def test_a_stale_wish_to_stop_does_not_meet_the_next_driver(streams):
    state = StreamState(streams / "service-use.score")
    assert not state.request_stop()
    state.folder.mkdir()
    state.stop_file.touch()
    task = operator()
    deferred(task.execute, {})
    until(lambda: task.state.heartbeat_mark())
    time.sleep(0.5)
    assert not task.state.gone()


def test_what_is_not_set_up_is_named(streams, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AirflowFailException, match="spark-submit must be on the PATH"):
        operator().execute({})
    monkeypatch.delenv("SUNDIAL_STREAMS")
    with pytest.raises(AirflowFailException, match="SUNDIAL_STREAMS is not set"):
        operator().execute({})
