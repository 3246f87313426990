"""The streams benchmark's Kafka Streams peer does the work it is measured at, on a real broker, as plain Python does it."""

import dataclasses
import datetime as dt
import statistics
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from bench import metrics
from bench.kafka_streams import KafkaStreams
from bench.metrics import JOBS, JOIN, SUMMARIES, WINDOWS
from bench.platform import wait_for
from stack.deploy.cluster import admin
from stack.deploy.topics import create
from stack.instance import JARS, Instance
from stack.parts import process

pytestmark = pytest.mark.skipif(
    not (JARS / "kafka-streams").exists(),
    reason="Kafka Streams' jars are not there; the first run of make bench NAME=streams fetches them",
)
START = 1_577_836_800_000  # of the year 2020, UTC
MINUTE = 60_000
GRACE = 30  # minutes


@pytest.fixture(scope="module")
def topics(broker) -> Instance:
    names = {topic for job in JOBS.values() for topic in (*job.inputs, job.output)} | {"minutes"}
    create(admin(broker.kafka), [NewTopic(name, 2, 1) for name in names])
    return broker


@contextmanager
def at_work(instance: Instance, job: metrics.Job, grace_seconds: int) -> Iterator[KafkaStreams]:
    system = KafkaStreams(instance, dataclasses.replace(job, grace_seconds=grace_seconds))
    try:
        system.start()
        yield system
    finally:
        system.stop()


def send(instance: Instance, topic: str, rows: list[tuple[str, int, float]]) -> None:
    """(key, milliseconds, value) in this order."""
    producer = Producer({"bootstrap.servers": instance.kafka, "partitioner": "murmur2_random"})
    _, times, values = zip(*rows, strict=True)
    for (key, _, _), message in zip(rows, metrics.encode(0, np.array(times), np.array(values)), strict=True):
        producer.produce(topic, message, key)
    assert producer.flush(20) == 0


def latest(instance: Instance, job: metrics.Job) -> dict[str, dict]:
    """The last record of each key."""
    return {key.decode(): metrics.decode(job.schema, value) for key, value in metrics.records(instance, job.output)}


def events() -> list[tuple[str, int, float]]:
    """Three metrics over twenty minutes, every tenth up to 15 minutes late, the last of all 29 minutes after the one before it;
    of values so alike that squares would lose them.

    All lie within 35 minutes, so that none is too late for a window of 5 or 10 minutes in whatever order two partitions are read:
    the summaries' second step takes what the first makes of either. Those of a partition stay in their order.
    """
    random, names = np.random.default_rng(7), [metrics.METRICS[each].decode() for each in (0, 1, 2)]
    times = np.sort(random.integers(0, 20 * MINUTE, 600))
    times[:-1:10] -= random.integers(0, 15 * MINUTE, 60)
    values = 1e9 + random.normal(0, 1, 601)
    rows = [(names[number % 3], int(START + times[number]), float(values[number])) for number in range(600)]
    key, last, _ = rows[-1]
    return [*rows, (key, last - 29 * MINUTE, float(values[600]))]


def grouped(rows: list[tuple[str, int, float]], minutes: int) -> dict[str, list[float]]:
    found = defaultdict(list)
    for key, time, value in rows:
        found[f"{key}|{time - time % (minutes * MINUTE)}"].append(value)
    return found


def test_summaries_are_those_of_plain_python_late_events_included_and_what_is_too_late_left_out(topics):
    rows = events()
    too_late = (rows[0][0], rows[-2][1] - (GRACE + 10) * MINUTE, 0.0)
    with at_work(topics, SUMMARIES, 60 * GRACE) as system:
        send(topics, "metrics", [*rows, too_late])
        wait_for("the summaries", lambda: system.lag() == 0, 60)
        assert system.state_mb() > 0
        assert 50 < system.rss_mb() < 2000
    assert process.log_file(topics, "kafka-streams-summaries").read_text().endswith("state NOT_RUNNING\n")
    assert metrics.counted(topics, SUMMARIES, SUMMARIES.schema) == len(rows)
    found, expected = latest(topics, SUMMARIES), grouped(rows, 10)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        start = dt.datetime.fromtimestamp(int(key.rpartition("|")[2]) / 1000, dt.UTC)
        assert found[key] == {
            "WindowStart": start,
            "Count": len(values),
            "Average": pytest.approx(statistics.mean(values), rel=1e-15),
            "Minimum": min(values),
            "Maximum": max(values),
            "Variance": pytest.approx(statistics.pvariance(values), rel=1e-6),
            "StandardDeviation": pytest.approx(statistics.pstdev(values), rel=1e-6),
        }


def test_windows_hold_count_and_sum_of_each_minute(topics):
    rows, job = events(), dataclasses.replace(WINDOWS, inputs=("minutes",))
    with at_work(topics, job, 60 * GRACE) as system:
        send(topics, "minutes", rows)
        wait_for("the windows", lambda: system.lag() == 0, 60)
    found = {key: (each["Count"], each["Sum"]) for key, each in latest(topics, WINDOWS).items()}
    assert found == {key: (len(values), pytest.approx(sum(values))) for key, values in grouped(rows, 1).items()}


def test_requests_meet_their_responses_within_a_minute_in_either_order(topics):
    requests = [(f"{number:016x}", START + 1000 * number, float(number)) for number in range(100)]
    waits = [(-1) ** number * 700 * number for number in range(100)]
    responses = [(key, time + wait, -value) for (key, time, value), wait in zip(requests, waits, strict=True)]
    with at_work(topics, JOIN, 120) as system:
        send(topics, "responses", responses[:50])
        send(topics, "requests", requests)
        send(topics, "responses", responses[50:])
        wait_for("the pairs", lambda: system.lag() == 0, 60)
    assert latest(topics, JOIN) == {
        key: {"Left": value, "Right": -value, "Waited": wait}
        for (key, _, value), wait in zip(requests, waits, strict=True)
        if abs(wait) <= MINUTE
    }


def test_the_load_sends_what_it_counts_and_answers_every_request(topics):
    load = metrics.Load(topics.kafka, JOIN, speed=1000)
    before = {topic: sum(last for _, last in metrics.ends(topics, topic)) for topic in JOIN.inputs}
    load.rate = 2000
    wait_for("some events", lambda: load.sent > 1000, 20)
    load.stop()
    sent = {topic: sum(last for _, last in metrics.ends(topics, topic)) - before[topic] for topic in JOIN.inputs}
    assert set(sent.values()) == {load.sent // 2}
    requests, responses = (dict(records(topics, topic)) for topic in JOIN.inputs)
    assert {key: time + dt.timedelta(milliseconds=metrics.ANSWER_MS) for key, time in requests.items()} == responses


def records(instance: Instance, topic: str) -> list[tuple[bytes, dt.datetime]]:
    return [(key, metrics.decode(metrics.METRIC, value)["Timestamp"]) for key, value in metrics.records(instance, topic)]
