"""Listeners hear of a stream when its state changes, and not while it only goes on."""

import datetime as dt
import json

import pytest

from serving.stream_watch import StreamWatch
from supervision.files import StreamFolder, locked
from tests.serving.live import Heard
from tests.support.waiting import until


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def look(run_state, heard):
    """look(): the streams that have changed since the last look."""
    watch = StreamWatch(run_state, "", heard)

    def looked() -> list[dict]:
        watch.look()
        found, heard.found = heard.found, []
        return [json.loads(each.record) for each in found]

    return looked


def states(found: list[dict]) -> list[tuple]:
    return [(each["feed"], each["stream"], each["state"], each["given_up"], each["switched_off"]) for each in found]


def test_each_change_of_a_stream_s_state_is_one_event(look, run_state, feed):
    assert look() == []
    stream = StreamFolder.of(run_state, feed.name, "score")
    stream.make()
    name = (feed.name, "score")
    with locked(stream.driver_lock):
        assert states(look()) == [(*name, "starting", False, False)]
        for state in ("running", "swapping", "running"):
            stream.write_heartbeat({"state": state, "at": now(), "baseline_version": 3})
            [found] = look()
            assert states([found]) == [(*name, state, False, False)]
            assert found["baseline_version"] == 3
            stream.write_heartbeat({"state": state, "at": now(), "baseline_version": 4})
            assert look() == [], "it only goes on"
        stream.mark_given_up()
        assert states(look()) == [(*name, "running", True, False)]
    assert states(look()) == [(*name, "dead", True, False)]
    stream.write_heartbeat({"state": "stopping", "at": now()})
    assert states(look()) == [(*name, "stopped", True, True)]
    assert look() == []


def test_a_stream_of_queries_is_of_no_feed_and_what_ran_before_is_nothing_new(run_state, heard, feed):
    for owner, kind in ((feed.name, "score"), ("shared", "queries")):
        StreamFolder.of(run_state, owner, kind).make()
    watch = StreamWatch(run_state, "", heard)
    watch.look()
    assert heard.found == []
    for owner, kind in ((feed.name, "score"), ("shared", "queries")):
        StreamFolder.of(run_state, owner, kind).write_heartbeat({"state": "stopping", "at": now()})
    watch.look()
    assert [(each.kind, each.feed, json.loads(each.record)["feed"]) for each in heard.found] == [
        ("stream", feed.name, feed.name),
        ("stream", "", "shared"),
    ]


def test_a_look_that_fails_is_said_once_and_followed_by_others(run_state, heard, feed, monkeypatch, caplog):
    monkeypatch.setattr("serving.stream_watch.EVERY", 0.01)
    looks: list[bool] = []

    def streams(*_):
        looks.append(len(looks) != 2)
        if looks[-1]:
            raise OSError("no permission")
        return []

    monkeypatch.setattr("serving.stream_watch.streams", streams)
    watch = StreamWatch(run_state, "", heard)
    watch.start()
    try:
        until("it has looked often enough", lambda: len(looks) > 5)
    finally:
        watch.stop()
    assert caplog.messages == ["stream-watch: a look failed; trying again"] * 2


def now() -> str:
    return dt.datetime.now(dt.UTC).isoformat()
