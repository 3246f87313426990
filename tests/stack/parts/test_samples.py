"""The samples on a real broker: the history once, its last day again for the streams, and on from there, always the same."""

import gzip
import json
import time

import pytest

from contracts.feeds import load_feed
from stack.instance import ROOT, Instance
from stack.parts import process, samples, watcher
from stack.parts.restarts import Limits
from tests.end_to_end import oracle
from tests.support import topics
from tests.support.waiting import until

SAMPLE = samples.SAMPLES[0]
FEED = load_feed(SAMPLE.feed)
HOUR = 3_600_000
WEEK = 7 * 24 * HOUR


def readings(instance: Instance) -> list[tuple[int, int]]:
    """(time, value) in the order in which they came."""
    records = [oracle.record(each.value(), FEED.record) for each in topics.consume(instance.kafka, FEED.topic)]
    return [(record[FEED.time], record[FEED.value]) for record in records]


@pytest.mark.parts
@pytest.mark.full
def test_history_once_then_its_last_day_for_the_streams_then_on(instance):
    now = int(time.time() * 1000)
    count = samples.load_history(instance, SAMPLE)
    history = readings(instance)
    assert len(history) == count
    assert now - samples.WEEKS * WEEK <= history[0][0] < now - samples.WEEKS * WEEK + 3 * HOUR
    assert now - 3 * HOUR < history[-1][0] <= now
    assert samples.load_history(instance, SAMPLE) == 0
    kept = json.loads(SAMPLE.kept(instance).read_text())
    assert instance.others() == [], "the stack knows the file as its own"

    samples.start(instance, SAMPLE)
    day = [each for each in history if each[0] >= kept["end"] - 24 * HOUR]
    assert len(day) > 20
    until("the last day again", lambda: len(readings(instance)) >= count + len(day))
    assert readings(instance)[count : count + len(day)] == day

    SAMPLE.kept(instance).write_text(json.dumps({"weeks": kept["weeks"]}))  # as if the load had been interrupted
    process.stop(instance, SAMPLE.name)
    before = len(readings(instance))
    samples.load_history(instance, SAMPLE)
    assert set(readings(instance)[before:]) <= set(history) | set(readings(instance)[before - 3 :]), "equal readings"
    assert json.loads(SAMPLE.kept(instance).read_text())["weeks"] == kept["weeks"]


@pytest.mark.parts
@pytest.mark.full
def test_one_that_ended_is_started_again_where_the_topic_ends(instance):
    samples.load_history(instance, SAMPLE)
    samples.start(instance, SAMPLE)
    kept, history = json.loads(SAMPLE.kept(instance).read_text()), len(readings(instance))
    until("the last day", lambda: len(readings(instance)) > history + 20 or process.find(instance, SAMPLE.name) is None)
    killed = process.find(instance, SAMPLE.name)
    killed.kill()
    assert not process.wait_gone([killed], 60)
    watcher.Watcher(print, Limits(first_pause=0)).look(instance, watcher.watched(instance))
    command = process.find(instance, SAMPLE.name).cmdline()
    assert command[command.index("--shift-weeks") + 1] == str(kept["weeks"])
    assert "--repeat" in command
    since = command[command.index("--from") + 1]
    assert abs(samples.dt.datetime.fromisoformat(since).timestamp() - time.time() + 2 * FEED.interval_seconds) < 120


def test_a_sample_has_the_file_and_the_columns_that_it_names():
    for sample in samples.SAMPLES:
        with gzip.open(ROOT / "samples" / sample.file, "rt") as lines:
            assert {sample.time_column, sample.value_column} <= set(lines.readline().strip().split(","))
