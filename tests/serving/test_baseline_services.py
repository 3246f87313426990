"""Memory is told which services the baselines know, while the consumer goes on, and whatever the lake does."""

import logging
import threading

import pytest

from serving.baseline_services import BaselineServices
from serving.lake import Lake
from serving.memory import Memory, Reading
from serving.tables import Tables
from tests.serving import world
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
    monkeypatch.setattr("serving.baseline_services.EVERY", 0.05)
    watch = BaselineServices(lambda: {feed.name: feed}, tables, memory)
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
