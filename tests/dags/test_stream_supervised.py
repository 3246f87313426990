"""A supervised stream: launched once, found again, stopped by a person and by nothing else."""

import asyncio
from itertools import repeat

import pytest
from airflow.sdk.exceptions import AirflowFailException

from dags import stream_trigger
from dags.stream_operator import StreamOperator
from supervision import process
from tests.dags.triggerer import ATTEMPT, Triggerer, trigger
from tests.support.drivers import kill, started, starts
from tests.support.waiting import until


def looks(triggerer: Triggerer, number: int = 3) -> None:
    """Waits until the trigger has looked at its stream so many times more."""
    for _ in range(number):
        before = triggerer.trigger.history.heartbeat_at
        until("another heartbeat is seen", lambda seen=before: triggerer.trigger.history.heartbeat_at > seen)


def test_launches_by_the_connection(running):
    printed = until("the command line", lambda: "command line:" in running.stream.log_tail() and running.stream.log_tail())
    assert "--master local[4] " in printed, "two queries of two partitions"
    assert "/jobs/score.py --feed service-use" in printed
    assert "spark.driver.extraClassPath=" in printed


@pytest.mark.full
def test_the_stream_outlives_the_triggerer_and_the_next_one_finds_it(streams):
    with Triggerer(trigger()) as first:
        until("a heartbeat", first.stream.heartbeat_mark)
    with Triggerer(trigger()) as second:
        looks(second)
        assert len(starts(streams)) == 1
        kill(starts(streams)[0])
        until("a second driver", started(streams, 2))
    assert second.events == []


def test_two_supervisors_at_once_launch_one_driver(streams):
    with Triggerer(trigger()) as one, Triggerer(trigger()) as other:
        looks(one)
        looks(other)
        assert len(starts(streams)) == 1
        assert one.stream.log.read_text().count("--- launched") == 1, "the second one did not even try"


@pytest.mark.full
@pytest.mark.parametrize(
    ("task_state", "attempt_in_charge", "stops"),
    [
        ("failed", "attempt-1", True),
        ("success", "attempt-1", True),
        (None, "attempt-1", True),
        ("queued", "attempt-1", True),
        ("deferred", "attempt-2", True),
        ("deferred", "attempt-1", False),
        (["deferred", "deferred", "success"], "attempt-1", True),  # a busy Airflow cancels before it answers with the new state
    ],
)
def test_a_persons_act_stops_the_stream_cleanly_and_a_moved_trigger_does_not(
    streams, monkeypatch, task_state, attempt_in_charge, stops
):
    with Triggerer(trigger()) as triggerer:
        until("a heartbeat", triggerer.stream.heartbeat_mark)
    stream = triggerer.stream
    answers = iter(task_state) if isinstance(task_state, list) else repeat(task_state)
    triggerer.trigger._task_state = lambda: next(answers)
    monkeypatch.setattr(stream_trigger, "STATE_WITHIN", 3.0)
    monkeypatch.setattr(stream_trigger, "LOOK_EVERY", 0.1)
    triggerer.trigger.task_instance = ATTEMPT
    stream.write_supervisor(attempt_in_charge)
    stream.mark_given_up()
    requests = []
    monkeypatch.setattr(process, "request_stop", lambda of, ask=process.request_stop: requests.append(of) or ask(of))
    asyncio.run(triggerer.trigger.on_kill())
    assert requests == [stream] * stops
    assert stream.is_given_up() is not stops, "what a person starts again is tried at once"
    assert stream.read_supervisor() == ("" if stops and attempt_in_charge == "attempt-1" else attempt_in_charge)
    if stops:
        until("the driver is gone", lambda: process.is_gone(stream))
        assert stream.read_heartbeat()["state"] == "stopping"
    else:
        mark = stream.heartbeat_mark()
        until("a further heartbeat", lambda: stream.heartbeat_mark() > mark)
        assert not process.is_gone(stream)
    assert not stream.stop_requested()


def test_a_trigger_that_airflow_cancels_again_and_again_still_stops_its_stream(streams, monkeypatch):
    with Triggerer(trigger()) as triggerer:
        until("a heartbeat", triggerer.stream.heartbeat_mark)
    stream, answers = triggerer.stream, iter(["deferred"] * 5 + ["success"])
    triggerer.trigger._task_state = lambda: next(answers)
    monkeypatch.setattr(stream_trigger, "LOOK_EVERY", 0.1)
    triggerer.trigger.task_instance = ATTEMPT
    stream.write_supervisor("attempt-1")

    async def cancelled():
        killed = asyncio.ensure_future(triggerer.trigger.on_kill())
        await asyncio.sleep(0.2)
        killed.cancel()
        with pytest.raises(asyncio.CancelledError):
            await killed
        assert stream.read_supervisor() == "attempt-1", "too early to tell"
        await asyncio.gather(*stream_trigger._ENDING)

    asyncio.run(cancelled())
    assert stream.read_supervisor() == ""
    until("the driver is gone", lambda: process.is_gone(stream))


def test_a_stop_by_hand_is_a_clean_restart(running, streams):
    assert process.request_stop(running.stream)
    until("a second driver", started(streams, 2))
    assert not running.stream.stop_requested()


@pytest.mark.full
def test_a_request_to_stop_is_not_meant_for_the_next_driver(streams):
    watch = trigger()
    watch.stream.request_stop()
    with Triggerer(watch) as triggerer:
        looks(triggerer)
        assert not process.is_gone(watch.stream)
        assert len(starts(streams)) == 1


def test_what_is_not_set_up_is_named(streams, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with Triggerer(trigger(restarts=0)) as triggerer:
        [event] = until("the trigger fires", lambda: triggerer.events)
    assert "spark-submit: not found" in event["error"]
    monkeypatch.delenv("SUNDIAL_STREAMS")
    with pytest.raises(AirflowFailException, match="SUNDIAL_STREAMS is not set"):
        StreamOperator(task_id="score", of="service-use", stream="score").execute({"ti": ATTEMPT})
