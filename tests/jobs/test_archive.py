"""Archiving from a real broker: exact under repeats, corrections, late rows and garbage."""

import datetime as dt
import uuid
from dataclasses import replace

import numpy as np
import pytest
from confluent_kafka import Consumer, Producer

from contracts.feeds import Feed
from jobs import archive, kafka, lake
from jobs.kafka import Range
from jobs.settings import JobError
from sources.topic import encoder
from stack import schemas, topics

NOON = dt.datetime(2026, 11, 20, 17, tzinfo=dt.UTC)  # in New York


@pytest.fixture
def feed(broker, monkeypatch) -> Feed:
    """A feed of its own, with topics on the broker and contracts in the registry."""
    made = Feed(
        name=f"calls-{uuid.uuid4().hex[:8]}", description="calls", record="service_use_record", timezone="America/New_York"
    )
    topics.deploy(broker.kafka, [made])
    schemas.register(broker.registry, [made])
    monkeypatch.setattr("jobs.settings.load_feed", lambda name: made)
    return made


def produce(broker, feed, *records: tuple[str, dt.datetime | bytes, int]) -> None:
    """Records (service, time, value); bytes instead of a time are sent as they are."""
    encode = encoder(feed, broker.registry)
    producer = Producer({"bootstrap.servers": broker.kafka, "acks": "all"})
    for service, at, value in records:
        payload = at if isinstance(at, bytes) else encode.encode(*_columns(at, value))[0]
        producer.produce(feed.topic, payload, service.encode(), partition=len(service) % feed.partitions)
    assert producer.flush(30) == 0


def _columns(at: dt.datetime, value: int):
    return np.array([int(at.timestamp() * 1000)]), np.array([value])


def kept(spark, platform, feed) -> list[tuple]:
    rows = lake.history(platform, feed).read(spark).orderBy("ServiceName", "Timestamp").collect()
    return [(row.ServiceName, row.Timestamp.replace(tzinfo=dt.UTC), row.Value, row.Date) for row in rows]


def dead_letters(broker, feed) -> list[tuple[bytes, dict]]:
    consumer = Consumer({"bootstrap.servers": broker.kafka, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.subscribe([feed.dead_letter_topic])
    found = {}
    while messages := consumer.consume(100, timeout=5):
        found |= {message.key(): (message.value(), dict(message.headers())) for message in messages}
    consumer.close()
    return [found[key] for key in sorted(found)]


def test_history_holds_each_reading_on_its_local_date_and_garbage_is_dead_lettered(spark, run_job, live_platform, broker, feed):
    night = dt.datetime(2026, 11, 21, 4, 59, 50, tzinfo=dt.UTC)
    produce(broker, feed, ("www", NOON, 7), ("login", night, 9), ("www", b"\x00garbage", 0), ("www", night, 0))
    run_job(archive, live_platform, "--feed", feed.name)
    friday = dt.date(2026, 11, 20)
    expected = [("login", night, 9, friday), ("www", NOON, 7, friday), ("www", night, 0, friday)]
    assert kept(spark, live_platform, feed) == expected
    ((payload, headers),) = dead_letters(broker, feed)
    assert payload == b"\x00garbage"
    assert (headers["topic"], headers["offset"], headers["key"]) == (feed.topic.encode(), b"2", b"www")
    assert headers["reason"].startswith(b"unknown schema id")


def test_archiving_again_changes_nothing(spark, run_job, live_platform, broker, feed):
    produce(broker, feed, ("www", NOON, 7))
    run_job(archive, live_platform, "--feed", feed.name)
    version = lake.history(live_platform, feed).version()
    run_job(archive, live_platform, "--feed", feed.name)
    assert lake.history(live_platform, feed).version() == version
    assert kept(spark, live_platform, feed) == [("www", NOON, 7, dt.date(2026, 11, 20))]


def test_a_correction_replaces_and_a_late_reading_lands_in_its_own_date(spark, run_job, live_platform, broker, feed):
    late = NOON - dt.timedelta(days=400)
    produce(broker, feed, ("www", NOON, 7), ("www", NOON, 8))
    run_job(archive, live_platform, "--feed", feed.name)
    assert kept(spark, live_platform, feed) == [("www", NOON, 8, dt.date(2026, 11, 20))]
    produce(broker, feed, ("www", NOON, 9), ("www", late, 1))
    run_job(archive, live_platform, "--feed", feed.name)
    assert kept(spark, live_platform, feed) == [("www", late, 1, dt.date(2025, 10, 16)), ("www", NOON, 9, dt.date(2026, 11, 20))]


def test_a_run_that_dies_before_its_commit_is_made_good_by_the_next(spark, run_job, live_platform, broker, feed, monkeypatch):
    produce(broker, feed, ("www", NOON, 7), ("www", b"?", 0))
    with monkeypatch.context() as patch:
        patch.setattr(lake.Table, "append", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_job(archive, live_platform, "--feed", feed.name)
    assert lake.history(live_platform, feed).version() == -1
    run_job(archive, live_platform, "--feed", feed.name)
    assert kept(spark, live_platform, feed) == [("www", NOON, 7, dt.date(2026, 11, 20))]
    assert [payload for payload, _ in dead_letters(broker, feed)] == [b"?"]  # twice sent under one key


def test_offsets_that_the_topic_no_longer_holds_stop_the_job():
    calls = Feed(name="calls", description="calls", record="service_use_record")
    with pytest.raises(JobError, match=r"topic calls, partition 1: offsets 5 to 9 were deleted before"):
        archive.pending({0: Range(0, 9), 1: Range(10, 20)}, {1: 5}, calls)
    with pytest.raises(JobError, match="archived up to offset 30, but the topic ends at 20"):
        archive.pending({0: Range(0, 20)}, {0: 30}, calls)
    assert archive.pending({0: Range(3, 9), 1: Range(0, 4)}, {1: 2}, calls) == {0: Range(3, 9), 1: Range(2, 4)}


def test_a_topic_that_does_not_exist_is_named(broker, lake_platform):
    with pytest.raises(JobError, match=r"topic nowhere: .*`sundial up` creates"):
        kafka.available(replace(lake_platform, kafka=broker.kafka), "nowhere")


def test_a_registry_that_does_not_answer_is_named(lake_platform):
    with pytest.raises(JobError, match=r"registry http://127\.0\.0\.1:1, subject calls-value: .*refused"):
        kafka.Registry(lake_platform).writer_schemas("calls")
    with pytest.raises(JobError, match=r"registry http://127\.0\.0\.1:1, subject calls-value: .*refused"):
        kafka.Registry(lake_platform).newest_id("calls")


def test_a_subject_that_is_not_registered_is_named(live_platform):
    with pytest.raises(JobError, match=r"subject calls-value: .*`sundial schemas register` registers it"):
        kafka.Registry(live_platform).writer_schemas("calls")
