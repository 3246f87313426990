"""The simulated readings on a real broker: they go on where the topic ends, and the watcher starts them again."""

import datetime as dt
import time

import pytest

from contracts.feeds import load_feed
from sources.replay import play
from sources.simulator import Simulation
from stack.parts import live, process, watcher
from stack.parts.restarts import Limits
from tests.support import topics
from tests.support.waiting import until

FEED = load_feed("service-use")


@pytest.fixture
def instance(instance):
    """Kafka and the registry with one minute of readings that has just passed."""
    now = int(time.time() * 1000) // 60_000 * 60_000
    readings = Simulation(FEED, ["checkout"], seed=1).readings(now - 60_000, now)
    assert not play(readings, FEED, kafka=instance.kafka, registry=instance.registry).failed
    return instance


@pytest.mark.parts
@pytest.mark.full
def test_they_are_started_again_where_the_topic_ends(instance):
    def sent() -> int:
        return sum(topics.ends(instance.kafka, FEED.topic).values())

    watching, before = watcher.Watcher(print, Limits(first_pause=0)), sent()
    assert before == 60 // FEED.interval_seconds
    live.start(instance)
    until("simulated readings", lambda: sent() > before)
    killed = process.find(instance, live.NAME)
    killed.kill()
    assert not process.wait_gone([killed], 60)
    before, newest = sent(), max(message.timestamp()[1] for message in topics.consume(instance.kafka, FEED.topic))
    watching.look(instance, watcher.watched(instance))
    again = process.find(instance, live.NAME)
    assert again not in (None, killed)
    command = again.cmdline()
    two_intervals_ago = dt.datetime.fromtimestamp(newest / 1000 - 20, FEED.zone)
    assert command[command.index("--from") + 1] == f"{two_intervals_ago:%Y-%m-%d %H:%M:%S}"
    until("more of them", lambda: sent() > before)
    assert {name: told.restarts for name, told in watching.told.items()} == {live.NAME: 1}
