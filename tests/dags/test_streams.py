"""Supervision of a stream, with real processes: launch, find again, bring back, give up, stop."""

import asyncio
import json
import os
import signal
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, TaskDeferred

from dags.stream_operator import StreamOperator
from dags.stream_state import AlreadyRunning, StreamState
from dags.stream_trigger import StreamTrigger

ATTEMPT = SimpleNamespace(id="attempt-1")


def trigger(**overrides) -> StreamTrigger:
    """What the operator hands to the triggerer, after its journey through Airflow's database."""
    settings = {"task_id": "score", "feed": "service-use", "stream": "score", "hang_after": 1.5, "start_within": 10}
    with pytest.raises(TaskDeferred) as deferral:
        StreamOperator(**settings | overrides).execute({"ti": ATTEMPT})
    assert deferral.value.method_name == "given_up"
    path, arguments = deferral.value.trigger.serialize()
    assert path == "dags.stream_trigger.StreamTrigger"
    return StreamTrigger(**json.loads(json.dumps(arguments)))


class Triggerer:
    """Runs a trigger in a thread of its own, as Airflow's triggerer would; leaving it is the triggerer's shutdown."""

    def __init__(self, trigger: StreamTrigger):
        self.trigger, self.stream, self.events = trigger, trigger.stream, []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=[self._run()])

    async def _run(self):
        with suppress(asyncio.CancelledError):
            async for event in self.trigger.run():
                self.events.append(event.payload)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        for task in asyncio.all_tasks(self.loop):
            self.loop.call_soon_threadsafe(task.cancel)
        self.thread.join(10)


def until(condition, seconds: float = 15):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)
    return result


def starts(streams) -> list[int]:
    """Pids of every driver that ever got the lock."""
    file = streams / "starts"
    return [int(line.split()[0]) for line in file.read_text().splitlines()] if file.exists() else []


def alive(pid: int) -> bool:
    """A process that only waits for its parent to read its exit code is not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def jvm(pid: int) -> int:
    return psutil.Process(pid).ppid()


def kill(pid: int, sign: int = signal.SIGKILL):
    os.kill(pid, sign)


@pytest.fixture
def running(streams):
    """A triggerer with a launched stream that gives heartbeats."""
    with Triggerer(trigger()) as triggerer:
        until(lambda: triggerer.stream.heartbeat_mark())
        yield triggerer


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


def test_the_launcher_refuses_while_a_driver_started_otherwise_holds_the_lock(running, streams):
    running.stream.launch_lock.unlink()
    assert not running.stream.gone()
    with pytest.raises(AlreadyRunning, match=f"pid {starts(streams)[0]}"):
        running.stream.launch(["false"], {})


@pytest.mark.parametrize("victim", ["python", "jvm", "both"])
def test_a_killed_driver_is_back_at_once(running, streams, victim):
    [pid] = starts(streams)
    for each in {"python": [pid], "jvm": [jvm(pid)], "both": [jvm(pid), pid]}[victim]:
        kill(each)
    killed = time.monotonic()
    until(lambda: len(starts(streams)) == 2)
    assert time.monotonic() - killed < 3
    assert not alive(pid)
    assert running.events == []


def test_a_half_dead_driver_leaves_nothing_beside_its_successor(running, streams):
    """The Python process stopped, its JVM gone: the lock is held, and no driver can start before that is cleared away."""
    [pid] = starts(streams)
    parent = jvm(pid)
    kill(pid, signal.SIGSTOP)
    kill(parent)
    until(lambda: len(starts(streams)) == 2)
    assert not alive(pid)


def test_a_hung_driver_is_killed_and_launched_again(running, streams):
    [pid] = starts(streams)
    kill(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    until(lambda: len(starts(streams)) == 2)
    assert not alive(pid)
    assert 1.5 < time.monotonic() - stopped < 6


def test_a_driver_that_never_gives_a_heartbeat_is_hung(streams):
    (streams / "behave").write_text("mute")
    with Triggerer(trigger(start_within=2)):
        until(lambda: len(starts(streams)) == 2)


def test_the_last_drivers_heartbeat_is_not_taken_for_the_new_ones(running, streams):
    (streams / "behave").write_text("mute")
    kill(starts(streams)[0])
    until(lambda: len(starts(streams)) == 2)
    assert running.stream.heartbeat() != {}
    assert running.stream.heartbeat_mark() == 0
    time.sleep(2.5)
    assert len(starts(streams)) == 2, "a start takes longer than a beat"


def test_after_the_budget_the_task_fails_with_the_drivers_last_words(streams):
    (streams / "behave").write_text("crash")
    with Triggerer(trigger(restarts=2)) as triggerer:
        [event] = until(lambda: triggerer.events)
    assert event["error"].startswith("service-use.score: 3 deaths within 600 s; the last time, its driver is gone")
    assert event["error"].endswith("no broker at 127.0.0.1:1")
    task = StreamOperator(task_id="score", feed="service-use", stream="score")
    with pytest.raises(AirflowException, match="no broker at 127"):
        task.given_up({}, event=event)
    assert triggerer.stream.gone()


def test_pauses_grow_and_deaths_before_the_window_are_forgotten(streams, monkeypatch):
    (streams / "behave").write_text("crash")
    pauses, clock = [], [1000.0]

    async def pause(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("dags.stream_trigger.asyncio.sleep", pause)
    monkeypatch.setattr("dags.stream_trigger.time.monotonic", lambda: clock[0])
    watch = trigger(restarts=3, window=timedelta(minutes=1))
    for death_at in (1000, 1010, 1020, 1081):
        clock[0] = death_at
        asyncio.run(watch._bring_back("test"))
    assert pauses == [0, 1, 2, 0]
    assert len(watch._deaths) == 1


def test_the_tail_is_bounded_and_only_the_last_drivers(running):
    with running.stream.log_file.open("ab") as log:
        log.write(b"x" * 100_000 + b"\n" + b"line\n" * 100)
    assert running.stream.last_lines() == "\n".join(["line"] * 40)
    before = running.stream.launched()
    running.stream.kill()
    until(lambda: running.stream.launched() != before and running.stream.launched()["pid"])
    assert "line" not in running.stream.last_lines().splitlines()


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
        StreamOperator(task_id="score", feed="service-use", stream="score").execute({"ti": ATTEMPT})
