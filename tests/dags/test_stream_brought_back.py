"""A stream whose driver dies or hangs is brought back, and given up when that doesn't help."""

import asyncio
import re
import signal
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from dags.stream_operator import StreamOperator
from tests.dags.supervision import Triggerer, alive, jvm, kill, starts, trigger, until


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


def test_a_jvm_that_lingers_without_its_python_process_is_not_waited_for(streams):
    (streams / "behave").write_text("linger")
    with Triggerer(trigger(hang_after=20)) as triggerer:
        until(lambda: triggerer.stream.heartbeat_mark())
        [pid] = starts(streams)
        parent = jvm(pid)
        kill(pid)
        until(lambda: len(starts(streams)) == 2, seconds=5)
    assert not alive(parent)


def test_a_driver_launched_since_the_judgement_is_not_killed(running, streams):
    judged = running.stream.launched() | {"at": 1.0}
    running.stream.kill(judged)
    time.sleep(0.5)
    assert alive(starts(streams)[0])


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


def test_after_the_budget_the_task_fails_with_the_drivers_last_words_and_people_are_told(streams, monkeypatch):
    (streams / "behave").write_text("crash")
    with Triggerer(trigger(restarts=2)) as triggerer:
        [event] = until(lambda: triggerer.events)
    assert event["error"].startswith("service-use.score: 3 deaths within 600 s; the last time, its driver is gone")
    assert event["error"].endswith("no broker at 127.0.0.1:1")
    assert triggerer.stream.gone()
    assert fails(event, monkeypatch) == [
        "stream service-use.score: 3 deaths within 600 s; the last time, its driver is gone, last state none: "
        "Its task is in DAG supervise_streams, run r; the DAG's docs are its runbook."
    ]


def fails(event: dict, monkeypatch) -> list[str]:
    """What people are told when the task fails for good with that event."""
    told = []
    monkeypatch.setattr("dags.stream_operator.tell", told.append)
    with DAG("supervise_streams", schedule=None):
        task = StreamOperator(task_id="score", of="service-use", stream="score")
    with pytest.raises(AirflowFailException, match=re.escape(event["error"])):
        task.given_up({"run_id": "r"}, event=event)
    return told


def test_a_stream_that_was_given_up_is_tried_once_more_and_nobody_is_told_again(streams, monkeypatch):
    (streams / "behave").write_text("crash")
    with Triggerer(trigger(restarts=0)) as triggerer:
        [event] = until(lambda: triggerer.events)
    assert event["first"]
    before = time.monotonic()
    with Triggerer(trigger(restarts=5, pause=timedelta(seconds=2))) as triggerer:
        [event] = until(lambda: triggerer.events)
    assert time.monotonic() - before > 2
    assert "one more try has not helped" in event["error"]
    assert fails(event, monkeypatch) == []


def test_a_stream_that_was_given_up_is_tried_at_once_where_somebody_wants_it(streams):
    (streams / "behave").write_text("crash")
    with Triggerer(trigger(restarts=0)) as triggerer:
        until(lambda: triggerer.events)
    (streams / "behave").write_text("")
    launched = triggerer.stream.launched()
    with Triggerer(trigger()) as triggerer:
        time.sleep(1.5)
        assert triggerer.stream.launched() == launched, "it waits for five minutes"
        triggerer.stream.given_up_file.unlink()
        until(lambda: triggerer.stream.launched() != launched, 5)


def test_a_stream_that_stopped_as_asked_is_launched_anew_and_has_not_died(running):
    """As when its task is cleared: the attempt before asks it to stop, while the new one watches already."""
    stopped = running.stream.driver()["pid"]
    assert running.stream.request_stop()
    until(lambda: running.stream.heartbeat_mark() and running.stream.driver().get("pid") != stopped)
    assert running.trigger._deaths == []
    assert not running.stream.ended_as_asked()


def test_a_trigger_that_dies_with_its_triggerer_gives_nothing_up(streams, monkeypatch):
    """Killed together with the driver, the triggerer is gone before its runner is, whose every word then fails."""

    class Gone:
        def __getattr__(self, level):
            raise BrokenPipeError

    watch = trigger()
    monkeypatch.setattr(type(watch), "log", Gone())
    with pytest.raises(BrokenPipeError):
        asyncio.run(anext(watch.run()))
    assert not watch.stream.given_up()


def test_clearing_the_task_of_a_stream_that_was_given_up_tries_it_at_once_and_in_earnest(streams):
    (streams / "behave").write_text("crash")
    with Triggerer(trigger(restarts=0)) as triggerer:
        until(lambda: triggerer.events)
    cleared = SimpleNamespace(id="attempt-2", try_number=2)
    with Triggerer(trigger(cleared, restarts=1)) as triggerer:
        [event] = until(lambda: triggerer.events)
    assert event["error"].startswith("service-use.score: 2 deaths")
    assert event["first"]


def test_a_driver_that_is_well_again_ends_its_troubles(streams, monkeypatch):
    monkeypatch.setattr("dags.stream_trigger.WELL_AFTER", 1.0)
    (streams / "behave").write_text("crash")
    with Triggerer(trigger(restarts=0)) as triggerer:
        until(lambda: triggerer.events)
    (streams / "behave").write_text("")
    with Triggerer(trigger(pause=timedelta(0))) as triggerer:
        until(lambda: triggerer.stream.heartbeat_mark())
        assert triggerer.stream.given_up()
        until(lambda: not triggerer.stream.given_up())


@pytest.mark.parametrize(
    ("behave", "settings", "last"),
    [
        ("stall", {"stall_after": 1.0}, "7 records wait, none done for 2 s"),
        ("swap", {"start_within": 2.0}, "swapping for more than 2 s"),
    ],
)
def test_a_driver_that_beats_but_does_nothing_is_hung(streams, behave, settings, last):
    """Its Python process is well, and tells that its query is not."""
    (streams / "behave").write_text(behave)
    with Triggerer(trigger(restarts=0, **settings)) as triggerer:
        [event] = until(lambda: triggerer.events)
    assert last in event["error"]


def test_what_the_driver_prints_comes_into_the_tasks_log_bounded(running, monkeypatch):
    lines = []
    monkeypatch.setattr(running.trigger.log, "info", lambda text, *values: lines.append(text % values))
    with running.stream.log_file.open("ab") as log:
        log.write(b"first\n")
    running.trigger._relayed_at = -1e9
    running.trigger._relay()
    with running.stream.log_file.open("ab") as log:
        log.write(b"x" * 10_000 + b"\nlast\n")
    running.trigger._relay()
    assert lines[-1].endswith("first"), "not yet again"
    running.trigger._relayed_at = -1e9
    running.trigger._relay()
    assert lines[-1].startswith("... 5,910 bytes left out\nxxx")
    assert lines[-1].endswith("x\nlast")


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
