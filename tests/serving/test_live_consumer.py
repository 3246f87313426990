"""Live topics of a real broker, with schemas in a real registry, through the app behind a real port."""

import copy
import datetime as dt
import io
import json
import threading
import time
from dataclasses import replace

import fastavro
import httpx
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from contracts import avro
from serving import live_consumer
from tests.serving import derived, world
from tests.serving.conftest import bucket_rows, declare, readings, served
from tests.serving.kept import kept
from tests.serving.live import caught_up, values
from tests.support.waiting import until


def test_what_was_scored_before_the_start_is_there(topics, broker, feed, online, at):
    rows = [derived.scored("a", at(i), 100 + i) for i in range(5)] + [derived.scored("b", at(0), 7, expected=None, spread=None)]
    rows[3] = derived.scored("a", at(3), 500, Anomalous=True)
    topics.send("scored", rows)
    topics.send("anomaly", [derived.anomaly(rows[3])] * 2)
    with served(online) as (url, state):
        until("the topics are read to their ends", lambda: state.live.status.caught_up)
        client = httpx.Client(base_url=f"{url}/api/feeds/{feed.name}")
        points = [each for each in bucket_rows(client.get("/services/a/series?minutes=60").json()) if each["count"]]
        assert [(each["at"], each["mean"], each["anomalies"]) for each in points] == [
            (at(0), 100, 0), (at(1), 101, 0), (at(2), 102, 0), (at(3), 500, 1), (at(4), 104, 0),
        ]  # fmt: skip
        assert (points[0]["expected"], points[0]["low"], points[0]["high"]) == (100.0, 88.0, 112.0)
        unknown = client.get("/services/b/series?minutes=60").json()["newest"]
        assert (unknown["value"], unknown["expected"], unknown["low"], unknown["high"], unknown["pct"]) == (7, *[None] * 4)
        assert [(each["service"], each["value"], each["pct"]) for each in client.get("/anomalies").json()] == [("a", 500, 500.0)]
        health = httpx.get(f"{url}/health").json()
        assert (health["status"], health["kafka"]["state"], health["kafka"]["records"]) == ("ok", "connected", 8)


def test_anomalies_are_read_back_however_old_and_readings_from_the_end_of_history(topics, feed, lake, online, at):
    old, recent = (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=minutes) for minutes in (62, 58))
    archived = dt.datetime.now(dt.UTC) - dt.timedelta(hours=5)
    world.archive(lake, feed, {("a", archived - dt.timedelta(days=1)): 1, ("a", archived): 2})
    for number, hours in enumerate((7, 5, 3)):
        written = dt.datetime.now(dt.UTC) - dt.timedelta(hours=hours)
        topics.send("scored", [derived.scored("a", at(number - 3), number)], written=written)
    topics.send("scored", [derived.scored("a", at(i), i) for i in range(3)], written=old)
    topics.send("anomaly", [derived.anomaly(derived.scored("a", at(8), 500))], written=old)
    topics.send("scored", [derived.scored("a", at(i), i) for i in range(2, 5)], written=recent)
    with served(online) as (url, state):
        until("the topics are read to their ends", lambda: state.live.status.caught_up and not state.backlog.loading(feed))
        topics.send("anomaly", [derived.anomaly(derived.scored("a", at(9), 600))])
        until("the new anomaly is read", lambda: len(state.memory.anomalies(feed.name, 10)) == 2)
        client = httpx.Client(base_url=f"{url}/api/feeds/{feed.name}")
        series = client.get("/services/a/series?minutes=60").json()
        assert readings(series) == {at(i): i + 3 if i < 0 else i for i in (-2, -1, 0, 1, 2, 3, 4)}
        assert series["loading"] is False
        assert [each["value"] for each in client.get("/anomalies").json()] == [600, 500]


def test_of_many_anomalies_those_are_read_back_that_memory_keeps_and_few_more(topics, feed, online, at):
    old = dt.datetime.now(dt.UTC) - dt.timedelta(days=3)
    topics.send("anomaly", [derived.anomaly(derived.scored("a", at(i), i)) for i in range(100)], written=old)
    settings = replace(online, anomalies_per_feed=3)
    with served(settings) as (url, state):
        some = 2 * live_consumer.PER_ANOMALY * 3  # of each of the two partitions
        until("they are read", lambda: state.live.status.caught_up and state.live.status.records >= some)
        assert [each["value"] for each in httpx.get(f"{url}/api/feeds/{feed.name}/anomalies").json()] == [99, 98, 97]
        assert state.live.status.records == some


def test_records_repeated_after_a_restart_of_the_stream_count_once(topics, serving, at):
    rows = [derived.scored("a", at(i), i) for i in range(10)]
    topics.send("scored", rows)
    topics.send("scored", rows[5:])
    topics.send("scored", [derived.scored("a", at(9), 77)])
    caught_up(serving, 16)
    assert values(serving) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 77]


def test_a_correction_stays_though_a_query_that_is_behind_scores_after_it_what_it_corrects(topics, serving, at):
    first, correction = (
        derived.scored("a", at(0), value, Anomalous=value == 500, KafkaPartition=0, KafkaOffset=offset, KafkaTimestamp=at(1))
        for offset, value in ((7, 500), (8, 101))
    )
    topics.send("scored", [correction, first])
    topics.send("anomaly", [derived.anomaly(first)])
    caught_up(serving, 3)
    assert (values(serving), serving.get("/anomalies").json()) == ([101], [])


def test_what_does_not_decode_is_counted_and_left_out(topics, serving, feed, at):
    good = derived.scored("a", at(0), 5)
    topics.send("scored", [good])
    for bad in (
        b"",
        b"\x00",
        b"\x01\x00\x00\x00\x01xx",
        avro.HEADER.pack(0, 2_000_000_000) + b"x",
        avro.HEADER.pack(0, topics.ids["scored"]) + b"\x04",
    ):
        topics.send_raw("scored", "a|0", bad)
    topics.send_raw("scored", "no key of ours", None)
    topics.send("scored", [derived.scored("a", at(1), 6)])
    caught_up(serving, 8)
    assert values(serving) == [5, 6]
    kafka = httpx.get(f"{serving.url}/health").json()["kafka"]
    assert kafka["undecodable"] == 6
    assert kafka["last_undecodable"].startswith(f"{feed.scored_topic}-")


@pytest.mark.full
def test_what_is_wrong_with_us_ends_neither_the_thread_nor_the_records_behind_it(topics, serving, monkeypatch, at):
    put = serving.state.memory.put_reading

    def fails_for_b(feed: str, service: str, reading) -> None:
        if service == "b":
            raise OverflowError("int too large to convert")
        put(feed, service, reading)

    monkeypatch.setattr(serving.state.memory, "put_reading", fails_for_b)
    topics.send("scored", [derived.scored(service, at(0), 5) for service in "abc"])
    caught_up(serving, 3)
    assert {each["name"] for each in serving.get("/services").json()} == {"a", "c"}
    kafka = httpx.get(f"{serving.url}/health").json()["kafka"]
    assert (kafka["undecodable"], kafka["last_undecodable"].partition(": ")[2]) == (1, "OverflowError: int too large to convert")


@pytest.mark.full
def test_a_thread_that_stands_still_is_said_so_and_one_whose_turns_fail_is_not(topics, serving, monkeypatch):
    live = serving.state.live
    until("it is well", lambda: live.status.as_of and httpx.get(f"{serving.url}/health").json()["status"] == "ok")
    goes_on, failures = threading.Event(), iter([ValueError("a turn that fails")])

    def hangs() -> None:
        if error := next(failures, None):
            raise error
        goes_on.wait(60)

    monkeypatch.setattr(live, "_turn", hangs)
    monkeypatch.setattr(live.thread, "patience", 2.0)
    health = until("a standstill", lambda: (found := httpx.get(f"{serving.url}/health").json())["remedies"] and found)
    assert (health["status"], health["kafka"]["silent_seconds"] >= 2) == ("degraded", True)  # rounded
    at, as_of = (dt.datetime.fromisoformat(each) for each in (health["at"], health["kafka"]["as_of"]))
    assert dt.timedelta(seconds=2) <= at - as_of < dt.timedelta(minutes=2)
    assert abs(at - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)
    assert health["remedies"][0].startswith("Kafka has not been read for ")
    goes_on.set()


def test_a_record_deleted_from_the_topic_is_forgotten(topics, serving, at):
    row = derived.scored("a", at(0), 500, Anomalous=True)
    topics.send("scored", [row, derived.scored("a", at(1), 6)])
    topics.send("anomaly", [derived.anomaly(row)])
    caught_up(serving, 3)
    assert len(serving.get("/anomalies").json()) == 1
    key = f"a|{round(at(0).timestamp() * 1000)}"
    topics.send_raw("scored", key, None)
    topics.send_raw("anomaly", key, None)
    caught_up(serving, 5)
    assert serving.get("/anomalies").json() == []
    assert values(serving) == [6]


@pytest.mark.full
def test_topics_that_come_later_are_found_from_their_first_record(broker, feed, serving, at):
    until("all topics are missed", lambda: len(serving.state.live.status.missing_topics) == 3)
    remedy = httpx.get(f"{serving.url}/health").json()["remedies"][0]
    assert feed.scored_topic in remedy
    topics = derived.Topics(broker.kafka, broker.registry, feed)
    topics.create()
    topics.send("scored", [derived.scored("a", at(0), 5)])
    try:
        caught_up(serving, 1)
        assert serving.get("/services").json()[0]["value"] == 5
    finally:
        topics.delete()


@pytest.mark.full
def test_a_topic_made_anew_starts_over(topics, serving, at):
    topics.send("scored", [derived.scored("a", at(i), i) for i in range(20)])
    caught_up(serving, 20)
    topics.delete()
    until("the broker is done with deleting", topics.created)
    topics.send("scored", [derived.scored("a", at(20), 77), derived.scored("a", at(21), 78)])
    caught_up(serving, 22)
    assert values(serving)[-3:] == [19, 77, 78]


@pytest.mark.full
def test_a_feed_is_taken_up_when_it_is_declared_and_let_go_when_it_is_not(
    topics, serving, broker, feed, declared, monkeypatch, at
):
    monkeypatch.setattr(live_consumer, "DISCOVER_SECONDS", 0.2)
    topics.send("scored", [derived.scored("a", at(0), 5)])
    caught_up(serving, 1)
    later = feed.model_copy(update={"name": f"{feed.name}-later"})
    assert httpx.get(f"{serving.url}/api/feeds/{later.name}").status_code == 404
    of_later = derived.Topics(broker.kafka, broker.registry, later)
    of_later.create()
    try:
        of_later.send("scored", [derived.scored("b", at(0), 6)])
        declare(declared, later)
        until("its reading is there", lambda: serving.state.memory.services(later.name))
        assert {each["name"] for each in httpx.get(f"{serving.url}/api/feeds").json()} == {feed.name, later.name}
        assert httpx.get(f"{serving.url}/api/feeds/{later.name}/services").json()[0]["value"] == 6
        with httpx.stream("GET", f"{serving.url}/api/events?feed={later.name}", timeout=20) as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": listening"
            (declared / f"{later.name}.yaml").unlink()
            assert not [line for line in lines if line.startswith("event: ")], "it ends"
        until("it is let go", lambda: not serving.state.memory.services(later.name))
        assert httpx.get(f"{serving.url}/api/feeds/{later.name}").status_code == 404
        of_later.send("scored", [derived.scored("b", at(1), 7)])
        topics.send("scored", [derived.scored("a", at(1), 8)])
        until("the other feed goes on", lambda: len(kept(serving.state.memory, feed.name, "a")) == 2)
        assert serving.state.live.status.records == 3, "nothing was read of the feed that is gone"
    finally:
        of_later.delete()
    health = httpx.get(f"{serving.url}/health").json()
    assert (health["status"], health["kafka"]["missing_topics"]) == ("ok", [])
    as_of = health["kafka"]["as_of"]
    until("it is read on", lambda: httpx.get(f"{serving.url}/health").json()["kafka"]["as_of"] > as_of)


def test_a_newer_writer_is_read_by_its_own_schema(topics, broker, serving, feed, at):
    newer = copy.deepcopy(avro.latest("scored"))
    newer["fields"].insert(0, {"name": "Note", "type": "string", "default": "-"})
    schema_id = SchemaRegistryClient({"url": broker.registry}).register_schema(
        avro.subject(feed.scored_topic), Schema(json.dumps(newer), "AVRO")
    )
    value = io.BytesIO()
    fastavro.schemaless_writer(value, fastavro.parse_schema(newer), derived.scored("a", at(0), 42, Note="first field now"))
    topics.send_raw("scored", "a", avro.HEADER.pack(0, schema_id) + value.getvalue())
    caught_up(serving, 1)
    assert values(serving) == [42]


@pytest.mark.full
def test_a_broker_that_is_down_is_said_so(offline, feed):
    with served(offline) as (url, state):
        until("the broker counts as unreachable", lambda: state.live.status.broker == "unreachable")
        health = httpx.get(f"{url}/health")
        assert (health.status_code, health.json()["status"]) == (200, "degraded")
        assert "start the brokers" in health.json()["remedies"][0]
        assert health.json()["kafka"]["as_of"] is None


@pytest.mark.full
def test_it_ends_without_waiting_for_a_broker_that_is_down(offline, feed):
    with served(offline) as (_, state):
        until("the broker counts as unreachable", lambda: state.live.status.broker == "unreachable")
        asked = time.monotonic()
        state.live.stop()
        state.backlog.stop()
        assert time.monotonic() - asked < 5, "a client waits up to ten seconds for the broker's answer"
