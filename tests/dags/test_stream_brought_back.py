"""A stream whose driver dies or hangs is launched again, and given up when that does not help: Airflow's trigger does it.

What is decided when, and how processes are launched and killed, is tested in tests/supervision.
"""

import asyncio
import os
import re
import signal
import time
from types import SimpleNamespace

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from dags.stream_operator import StreamOperator
from supervision import policy, process
from tests.dags.triggerer import ATTEMPT, Triggerer, trigger
from tests.support.drivers import alive, behave, jvm, kill, started, starts
from tests.support.waiting import until


@pytest.mark.parametrize("victim", ["python", "jvm", "both"])
def test_a_killed_driver_is_launched_again(running, streams, victim):
    [pid] = starts(streams)
    for each in {"python": [pid], "jvm": [jvm(pid)], "both": [jvm(pid), pid]}[victim]:
        kill(each)
    until("a second driver", started(streams, 2))
    assert not alive(pid)
    assert running.events == []


def test_a_jvm_that_lingers_without_its_python_process_is_not_waited_for(streams):
    behave(streams, "linger")
    with Triggerer(trigger(hang_after=1000)) as triggerer:
        until("a heartbeat", triggerer.stream.heartbeat_mark)
        [pid] = starts(streams)
        parent = jvm(pid)
        kill(pid)
        until("a second driver", started(streams, 2))
    assert not alive(parent), "it would have gone on for 30 s"


def test_a_half_dead_driver_leaves_nothing_beside_its_successor(running, streams):
    """The Python process stopped, its JVM gone: the lock is taken, and no driver can start before that is cleared away."""
    [pid] = starts(streams)
    parent = jvm(pid)
    kill(pid, signal.SIGSTOP)
    kill(parent)
    until("a second driver", started(streams, 2))
    assert not alive(pid)


@pytest.mark.full
def test_a_hung_driver_is_killed_and_launched_again(running, streams):
    [pid] = starts(streams)
    kill(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    until("a second driver", started(streams, 2))
    assert not alive(pid)
    assert time.monotonic() - stopped > 1.2, "it had its 1.5 s since the last heartbeat"


@pytest.mark.full
def test_a_driver_that_never_gives_a_heartbeat_is_hung(streams):
    behave(streams, "mute")
    with Triggerer(trigger(start_within=2)):
        until("a second driver", started(streams, 2))


def test_the_last_drivers_heartbeat_is_not_taken_for_the_new_ones(running, streams):
    behave(streams, "mute")
    kill(starts(streams)[0])
    until("a second driver", started(streams, 2))
    assert running.stream.read_heartbeat() == {}
    assert running.stream.heartbeat_mark() == 0
    looked_at = running.trigger.history.heartbeat_at
    until("it is looked at for longer than the time between two heartbeats", lambda: time.monotonic() > looked_at + 3)
    assert len(starts(streams)) == 2, "a start takes longer than a beat"


@pytest.mark.full
def test_after_the_budget_the_task_fails_with_the_drivers_last_lines_and_a_message_is_sent(streams, monkeypatch):
    behave(streams, "crash")
    with Triggerer(trigger(restarts=2)) as triggerer:
        [event] = until("the trigger fires", lambda: triggerer.events)
    assert event["error"].startswith("service-use.score: 3 deaths, and no driver ran well for 300 s; the last time, its")
    assert event["error"].endswith("no broker at 127.0.0.1:1")
    assert process.is_gone(triggerer.stream)
    assert messages(event, monkeypatch) == [
        "stream service-use.score: 3 deaths, and no driver ran well for 300 s; "
        "the last time, its driver is gone, last state none: "
        "Its task is in DAG supervise_streams.service-use, run r; the DAG's docs are its runbook."
    ]


def messages(event: dict, monkeypatch, answers: bool = True) -> list[str]:
    """What is sent when the task fails for good with that event. answers: whether the webhook takes it."""
    sent: list[str] = []
    monkeypatch.setattr("dags.stream_operator.tell", lambda text: sent.append(text) or answers)
    with DAG("supervise_streams.service-use", schedule=None):
        task = StreamOperator(task_id="score", of="service-use", stream="score")
    with pytest.raises(AirflowFailException, match=re.escape(event["error"])):
        task.given_up({"run_id": "r"}, event=event)
    return sent


def given_up(streams) -> Triggerer:
    """The trigger of a stream whose driver crashes, after it has fired."""
    behave(streams, "crash")
    with Triggerer(trigger(restarts=0)) as triggerer:
        until("the trigger fires", lambda: triggerer.events)
    assert not triggerer.stream.is_told()
    return triggerer


@pytest.mark.full
def test_a_stream_that_was_given_up_is_tried_once_more_and_no_second_message_is_sent(streams, monkeypatch):
    first = given_up(streams)
    last = first.stream.read_launch()
    assert len(messages(first.events[0], monkeypatch)) == 1
    before = time.monotonic()
    with Triggerer(trigger(restarts=5, pause=2)) as triggerer:
        [event] = until("the trigger fires", lambda: triggerer.events)
    assert time.monotonic() - before > 2
    assert triggerer.stream.read_launch() != last
    assert triggerer.stream.log.read_text().count("--- launched") == 2
    assert "one more try has not helped" in event["error"]
    assert messages(event, monkeypatch) == []


def test_a_message_that_the_webhook_did_not_take_is_sent_when_the_stream_is_given_up_the_next_time(streams, monkeypatch):
    [event] = given_up(streams).events
    assert len(messages(event, monkeypatch, answers=False)) == 1
    assert len(messages(event, monkeypatch)) == 1
    assert messages(event, monkeypatch) == []


@pytest.mark.full
def test_a_stream_that_was_given_up_is_tried_at_once_where_a_person_wants_it(streams):
    given_up(streams)
    behave(streams, "")
    with Triggerer(trigger()) as triggerer:
        until("it waits for five minutes", lambda: triggerer.trigger.history.retry_at)
        launched = triggerer.stream.read_launch()
        triggerer.stream.clear_given_up()
        until("a launch", lambda: triggerer.stream.read_launch() != launched)
        until("its driver starts", lambda: starts(streams))
    assert len(starts(streams)) == 1


def test_a_stream_that_stopped_on_request_is_launched_again_and_has_not_died(running):
    """As when its task is cleared: the attempt before asks it to stop, while the new one watches already."""
    stopped = running.stream.read_driver()["pid"]
    assert process.request_stop(running.stream)
    until("a new driver", lambda: running.stream.heartbeat_mark() and running.stream.read_driver().get("pid") != stopped)
    assert running.trigger.history.deaths == 0
    assert not process.is_gone(running.stream)


def test_a_trigger_that_dies_with_its_triggerer_gives_nothing_up(streams, monkeypatch):
    """Killed together with the driver, the triggerer is gone before its runner is, and whatever the runner logs then fails."""

    class Gone:
        def __getattr__(self, level):
            raise BrokenPipeError

    watch = trigger()
    monkeypatch.setattr(type(watch), "log", Gone())
    with pytest.raises(BrokenPipeError):
        asyncio.run(anext(watch.run()))
    assert not watch.stream.is_given_up()


@pytest.mark.full
def test_clearing_the_task_of_a_stream_that_was_given_up_tries_it_at_once_and_with_the_whole_budget(streams):
    given_up(streams)
    cleared = SimpleNamespace(id="attempt-2", try_number=2)
    with Triggerer(trigger(cleared, restarts=1)) as triggerer:
        [event] = until("the trigger fires", lambda: triggerer.events)
    assert event["error"].startswith("service-use.score: 2 deaths")
    assert not triggerer.stream.is_told()


@pytest.mark.parametrize(("seconds", "at_once"), [(10, False), (400, True)])
def test_a_stream_that_was_given_up_waits_no_longer_than_the_pause_since_its_last_supervision(streams, seconds, at_once):
    """As when its DAG is paused, and unpaused much later."""
    stream = given_up(streams).stream
    then = time.time() - seconds
    os.utime(stream.supervisor_file, (then, then))
    behave(streams, "")
    trigger(SimpleNamespace(id="attempt-2", try_number=1))
    assert stream.is_given_up() is not at_once


def test_a_stream_that_is_switched_off_and_on_while_it_waits_is_tried_at_once(streams):
    given_up(streams)
    behave(streams, "")
    with Triggerer(trigger()) as first:
        until("it waits for five minutes", lambda: first.trigger.history.retry_at)
    first.trigger.task_instance, first.trigger._task_state = ATTEMPT, lambda: "success"
    asyncio.run(first.trigger.on_kill())
    with Triggerer(trigger(SimpleNamespace(id="attempt-2", try_number=1))):
        until("its driver starts", lambda: starts(streams))


@pytest.mark.full
def test_a_driver_that_runs_well_ends_the_giving_up(streams):
    given_up(streams)
    behave(streams, "")
    with Triggerer(trigger(pause=3, well_after=1.0)) as triggerer:
        until("a heartbeat", triggerer.stream.heartbeat_mark)
        until("the stream is no longer given up", lambda: not triggerer.stream.is_given_up())
    assert triggerer.trigger.history.state == "running"
    assert triggerer.events == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("how", "settings", "last"),
    [
        ("stall", {"stall_after": 1.0}, "7 records wait, none done for 2 s"),
        ("swap", {"start_within": 2.0}, "swapping for more than 2 s"),
    ],
)
def test_a_driver_that_gives_heartbeats_but_does_nothing_is_hung(streams, how, settings, last):
    """Its Python process is well, and reports that its query is not."""
    behave(streams, how)
    with Triggerer(trigger(restarts=0, **settings)) as triggerer:
        [event] = until("the trigger fires", lambda: triggerer.events)
    assert last in event["error"]


def test_what_the_driver_prints_comes_into_the_tasks_log_bounded(streams, monkeypatch):
    watch, lines = trigger(), []
    monkeypatch.setattr(watch.log, "info", lambda text, *values: lines.append(text % values))
    with watch.stream.log.open("ab") as log:
        log.write(b"first\n")
    watch._relay_log()
    with watch.stream.log.open("ab") as log:
        log.write(b"x" * 10_000 + b"\nlast\n")
    watch._relay_log()
    assert lines == ["first"], "not yet again"
    watch._relayed_at = -1e9
    watch._relay_log()
    [_, relayed] = lines
    assert relayed.startswith("... 5,910 bytes left out\nxxx")
    assert relayed.endswith("x\nlast")


def test_the_state_comes_into_the_tasks_log_when_it_changes(streams, monkeypatch):
    watch, lines = trigger(), []
    monkeypatch.setattr(watch.log, "info", lambda text, *values: lines.append(text % values))
    heartbeat = {"state": "running", "baseline_version": 3, "last_error": None}
    for each in (heartbeat, heartbeat | {"generation": 7}, heartbeat | {"baseline_version": 4}):
        watch._log_state(each)
    assert lines == [
        "service-use.score: state running, baseline_version 3, last_error None",
        "service-use.score: state running, baseline_version 4, last_error None",
    ]


def test_the_pause_that_the_policy_wants_is_made_before_the_launch(streams, monkeypatch):
    watch, done = trigger(), []

    async def pause(seconds):
        done.append(seconds)

    async def launch():
        done.append("launched")

    monkeypatch.setattr("dags.stream_trigger.asyncio.sleep", pause)
    monkeypatch.setattr(watch, "_launch", launch)
    asyncio.run(watch._carry_out(policy.Relaunch("test", 4)))
    assert done == [4, "launched"]
