"""Memory is told which services the baselines know, and listeners what is put in force and what the gate found, while the
consumer goes on, and whatever the lake does."""

import datetime as dt
import logging
import shutil
import threading

import pytest

from serving.lake import Lake
from serving.lake_watch import LakeWatch
from serving.memory import Memory, Reading
from serving.tables import Tables
from tests.serving import world
from tests.serving.live import Heard
from tests.support.waiting import until


class Uncertain(Tables):
    """Tables that can fail or take their time."""

    def __init__(self, lake: Lake):
        super().__init__(lake)
        self.fails = False
        self.answers = threading.Event()
        self.answers.set()

    def services(self, feed):
        self.answers.wait(60)
        if self.fails:
            raise OSError("no answer")
        return super().services(feed)


@pytest.fixture
def memory() -> Memory:
    return Memory(10, 1, 10)


@pytest.fixture
def tables(lake) -> Uncertain:
    return Uncertain(Lake(str(lake)))


@pytest.fixture
def watch(feed, memory, tables, monkeypatch):
    monkeypatch.setattr("serving.lake_watch.EVERY", 0.05)
    watch = LakeWatch(lambda: {feed.name: feed}, tables, memory, Heard())
    yield watch
    tables.answers.set()
    watch.stop()


def put(memory: Memory, feed, service: str) -> None:
    memory.put_reading(feed.name, service, Reading(1, 5, None, None, None, False, -1))


def test_a_promotion_is_told_and_kept_while_the_lake_fails(watch, memory, tables, feed, lake, caplog):
    watch.start()
    world.promote(lake, feed, {"a": 100.0})
    until("it is told", lambda: feed.name in memory.crowding() and memory.crowding()[feed.name].in_baseline == 1)
    with caplog.at_level(logging.WARNING):
        tables.fails = True
        until("the failure is said", lambda: caplog.messages)
        watch.look()
        watch.look()
    assert caplog.messages == [f"services of the baseline of {feed.name} not read: no answer; trying again"]
    for service in ("a", "made-up"):
        put(memory, feed, service)
    assert set(memory.services(feed.name)) == {"a"}
    tables.fails = False
    world.promote(lake, feed, {"a": 100.0, "b": 100.0})
    until("the next is told", lambda: memory.crowding()[feed.name].in_baseline == 2)


def test_a_lake_that_takes_its_time_holds_nobody_up(watch, memory, tables, feed, lake):
    world.promote(lake, feed, {"a": 100.0})
    tables.answers.clear()
    watch.start()
    for service in ("made-up", "a"):
        put(memory, feed, service)
    assert set(memory.services(feed.name)) == {"a"}
    tables.answers.set()
    until("it is told", lambda: memory.crowding()[feed.name].in_baseline == 1)
    put(memory, feed, "made-up")
    assert set(memory.services(feed.name)) == {"a"}


@pytest.fixture
def look(feed, memory, tables):
    """look(): the events of a look at the lake as it is now."""
    heard = Heard()
    watch = LakeWatch(lambda: {feed.name: feed}, tables, memory, heard)

    def looked() -> list[tuple[str, dict]]:
        tables.lake.renew()
        watch.look()
        return heard.new()

    return looked


def test_each_commit_that_changes_the_baseline_in_force_is_one_event_and_upkeep_is_none(look, lake, feed):
    world.promote(lake, feed, {"a": 100.0})
    assert look() == [], "what was in force before is nothing new"
    world.promote(lake, feed, {"a": 120.0}, as_of="2026-11-21", candidate_version=4)
    world.roll_back(lake, feed, 0)
    world.keep_up(lake, feed)
    (kind, promotion), (_, rollback) = look()
    assert kind == "promotion"
    names = ("feed", "kind", "version", "by", "reason", "as_of", "candidate_version", "rolled_back_to")
    assert [promotion[name] for name in names] == [
        *(feed.name, "promotion", 1, "nightly_baseline", "passed the gate", "2026-11-21", 4, None)
    ]
    assert [rollback[name] for name in names] == [feed.name, "rollback", 2, "mara", "it was worse", "2026-11-20", 3, 0]
    world.keep_up(lake, feed)
    assert look() == [], "once"
    shutil.rmtree(world.baseline_path(lake, feed))
    assert look() == []
    world.promote(lake, feed, {"a": 100.0})
    assert [(each["version"], each["kind"]) for _, each in look()] == [(0, "promotion")], "a table made again"


def test_the_first_baseline_of_a_feed_is_an_event(look, lake, feed):
    assert look() == []
    world.promote(lake, feed, {"a": 100.0})
    assert [each["version"] for _, each in look()] == [0]


def test_each_result_of_the_gate_is_one_event(look, lake, feed):
    at = dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC)
    world.gate_result(lake, feed, "night-1", True, [], at)
    assert look() == []
    world.gate_result(lake, feed, "night-2", False, [world.expectation(False)], at + dt.timedelta(days=1), 4, compared_with=2)
    world.gate_result(lake, feed.model_copy(update={"name": "other"}), "night-2", True, [], at + dt.timedelta(days=1), 4)
    world.gate_result(lake, feed, "night-2", True, [], at + dt.timedelta(days=1, minutes=5), 5)
    both = [("night-2", False, 4, 2), ("night-2", True, 5, None)]
    found = look()
    assert {kind for kind, _ in found} == {"gate"}
    assert [(e["run_id"], e["success"], e["candidate_version"], e["compared_with"]) for _, e in found] == both
    assert {each["feed"] for _, each in found} == {feed.name}
    assert look() == []


def test_what_can_t_be_read_hides_nothing_else_and_is_made_up_for(look, lake, feed, caplog):
    world.gate_result(lake, feed, "night-1", True, [], dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC))
    assert look() == []
    log = lake / "gate_results" / "_delta_log"
    log.rename(lake / "away")
    (lake / "gate_results" / "_delta_log").mkdir()
    (log / f"{0:020}.json").write_text("damaged")
    world.promote(lake, feed, {"a": 100.0})
    with caplog.at_level(logging.WARNING):
        assert [kind for kind, _ in look()] == ["promotion"]
        assert look() == []
    assert [message.partition(":")[0] for message in caplog.messages] == [f"gate results of {feed.name} not read"]
    shutil.rmtree(log)
    (lake / "away").rename(log)
    world.gate_result(lake, feed, "night-2", True, [], dt.datetime(2026, 11, 21, 3, tzinfo=dt.UTC))
    assert [each["run_id"] for _, each in look()] == ["night-2"]
