"""Schema ids that records name and the registry does not have: asked for together, kept for the next driver, bounded."""

import json
import socket
import uuid
from dataclasses import replace

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from contracts import avro
from contracts.avro import Level
from contracts.feeds import Feed
from jobs.formats.wire import Writers
from jobs.streams import known_writers
from jobs.streams.known_writers import MOST_REFUSED, KnownWriters
from stack.deploy import schemas
from stack.deploy import topics as deployed
from supervision.files import StreamFolder
from tests.jobs.readings import ANY_TIME
from tests.support import topics


@pytest.fixture
def feed(broker) -> Feed:
    declared = {"description": "calls", "record": "service_use_record", "timezone": "UTC", "partitions": 2}
    made = Feed(name=f"calls-{uuid.uuid4().hex[:8]}", **declared, interval_seconds=3600, spread_window_seconds=3600, **ANY_TIME)
    deployed.deploy(broker.kafka, made.topics)
    schemas.register(broker.registry, made.topics)
    return made


@pytest.fixture
def known(spark, live_platform, feed, tmp_path):
    """known(): as a driver that has just begun knows them."""
    folder = StreamFolder(tmp_path / "calls.score")
    folder.make()
    return lambda: KnownWriters(spark, live_platform, folder)


@pytest.fixture
def junk(broker, feed):
    """junk(*ids): one record for each."""
    return lambda *ids: topics.produce(
        broker.kafka, feed.topic, [(str(each).encode(), b"\0" + each.to_bytes(4, "big") + b"junk") for each in ids]
    )


@pytest.mark.full
def test_all_that_wait_are_asked_for_at_once_and_kept_until_the_registry_has_something_new(broker, feed, known, junk):
    topics.produce(broker.kafka, feed.topic, [(b"k", None), (b"k", b"\0abc"), (b"k", b"\1" + bytes(4) + b"other")])
    junk(900_001, 2**32 - 1, 900_001)
    subject = avro.subject(feed.topic)
    begun = known().of(subject)
    (schema_id, schema), *_ = begun.schemas
    assert begun.refused == frozenset()
    junk(schema_id)
    learned = known().learned(begun, 900_001, {})
    assert (learned.schemas, learned.refused) == (begun.schemas, frozenset({900_001}))
    assert known().of(subject) == learned, "another driver"
    assert known().renewed(learned) is learned
    more = json.loads(schema)
    more["fields"].append({"name": "Region", "type": "string", "default": "here"})
    new_id = schemas.register_one(SchemaRegistryClient({"url": broker.registry}), subject, json.dumps(more), Level.FULL)
    renewed = known().of(subject)
    assert new_id in dict(renewed.schemas)
    assert renewed.refused == frozenset()
    assert known().renewed(learned) == renewed
    assert new_id in dict(known().learned(learned, new_id, {}).schemas)


@pytest.mark.full
def test_what_was_dealt_with_is_not_looked_at_and_garbage_without_end_is_refused_as_a_whole(feed, known, junk, monkeypatch):
    subject, dealt_with = avro.subject(feed.topic), {0: 10**6, 1: 10**6}
    junk(*range(900_000, 900_000 + MOST_REFUSED))
    learned = known().learned(known().of(subject), 900_000, dealt_with)
    assert learned.refused == frozenset({900_000})
    assert len(known().learned(learned, 900_000, {}).refused) == MOST_REFUSED
    assert known().learned(known().of(subject), 910_000, dealt_with).refused is None
    assert known().of(subject).refused is None


@pytest.mark.full
def test_no_more_of_a_topic_is_looked_at_than_a_driver_has_time_for(feed, known, junk, monkeypatch):
    junk(*range(900_000, 900_010))
    monkeypatch.setattr(known_writers, "MOST_LOOKED_AT", 4)
    found = known().learned(known().of(avro.subject(feed.topic)), 990_000, {})
    assert 1 < len(found.refused) <= 5


def test_a_registry_that_hangs_is_asked_once_for_all_that_a_stream_reads(lake_platform, tmp_path, monkeypatch):
    """A stop waits for the answer: it must not wait for one of each subject, or for another try."""
    monkeypatch.setattr(known_writers, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        silent = replace(lake_platform, registry=f"http://127.0.0.1:{hung.getsockname()[1]}")
        known = KnownWriters(None, silent, StreamFolder(tmp_path / "rides.queries"))
        writers = [Writers(f"{name}-value", ()) for name in ("rides", "zones", "vendors")]
        assert [known.renewed(each) for each in writers] == writers
        hung.settimeout(0)
        hung.accept()[0].close()
        with pytest.raises(BlockingIOError):
            hung.accept()
        known._silent_until = 0.0
        known.renewed(writers[0])
        hung.accept()[0].close()
