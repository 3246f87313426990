"""Tables of queries on a real broker: read from the beginning, followed, and asked for by key, prefix and range."""

import datetime as dt
import json
import threading
from contextlib import suppress

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from serving.problems import ProblemError
from serving.query_tables import query_tables, topic_table
from serving.query_tables.query_tables import QueryTables, plain
from sundial.client import ApiError, Client
from tests.serving.query_tables.conftest import AT
from tests.support.waiting import until


def held(answer: httpx.Response) -> dict[str, str]:
    return {row["key"]: row["value"]["Place"] for row in answer.json()["rows"]}


def test_the_last_row_of_each_key_with_the_offsets_up_to_which_it_is_read(ask, places):
    for key, place in [("b", "old"), ("aa", "x"), ("b", "new"), ("gone", "y"), ("gone", None)]:
        places.send(places.avro, key, place)
    answer = ask().json()
    assert (answer["query"], answer["topic"], answer["offsets"]) == (places.name, places.avro, {"0": 3, "1": 2})
    assert [(row["key"], row["partition"], row["offset"], row["problem"]) for row in answer["rows"]] == [
        ("aa", 0, 0, None),
        ("b", 1, 1, None),
    ]
    assert answer["rows"][1]["value"] == {"User": "u", "Place": "new", "At": "2026-07-01T12:00:00Z"}
    places.send(places.avro, "b", "newest")
    places.send(places.avro, "aa", None)
    until("it is followed", lambda: held(ask()) == {"b": "newest"})
    assert ask().json()["offsets"] == {"0": 4, "1": 3}


@pytest.mark.full
def test_rows_are_found_by_key_prefix_and_range_page_by_page(ask, places):
    names = ["a", "a/1", "a/2", "b", "ö", "z"]
    for name in names:
        places.send(places.avro, name, f"at {name}")
    assert held(ask(key="a/1")) == {"a/1": "at a/1"}
    assert held(ask(key="a/")) == {}
    assert list(held(ask(prefix="a/"))) == ["a/1", "a/2"]
    assert list(held(ask(**{"from": "a/2", "to": "z"}))) == ["a/2", "b", "z"]
    assert list(held(ask(**{"from": "b"}))) == ["b", "z", "ö"], "by the bytes of UTF-8"
    with Client(ask.url) as sundial:
        rows = sundial.query_rows(places.name, places.avro, limit=4)
        assert rows.to_pandas()["key"].tolist() == ["a", "a/1", "a/2", "b"]
        assert json.loads(rows[0].value)["Place"] == "at a"
        [info] = [each for each in sundial.queries() if each.name == places.name]
    assert [(each.topic, each.table) for each in info.outputs] == [
        (places.avro, True),
        (places.json, True),
        (f"{places.name}.all", False),
    ]
    first = ask(limit=4)
    second = httpx.get(httpx.URL(ask.path).join(first.links["next"]["url"]))
    assert [*held(first), *held(second)] == sorted(names, key=str.encode)
    assert "next" not in second.links


@pytest.mark.full
def test_json_and_what_cannot_be_read_are_shown(ask, places):
    places.send(places.json, "a", "here")
    places.send_raw(places.json, b"\xff", b"{not json")
    places.send_raw(places.avro, "x", b"\x00\x00\x0f\xff\xff12")
    found = ask(topic=places.json).json()["rows"]
    assert [(row["key"], row["value"] and row["value"]["Place"]) for row in found] == [
        ("a", "here"),
        ("\N{REPLACEMENT CHARACTER}", None),
    ]
    assert "unexpected" in found[1]["problem"] or "expected" in found[1]["problem"]
    [row] = ask().json()["rows"]
    assert (row["value"], row["problem"]) == (None, "schema id 1048575 is not in the registry")
    lines = ask("text/csv", topic=places.json).text.splitlines()
    assert lines[0] == '"key","partition","offset","at","value","problem"'
    assert len(lines) == 3


def test_what_is_no_table_or_no_page_is_refused_with_what_to_do(ask, places):
    with Client(ask.url) as sundial, pytest.raises(ApiError, match="No query 'nope' is declared"):
        sundial.query_rows("nope")
    for query, says in [
        ({"topic": "other"}, "writes no table 'other'"),
        ({"topic": f"{places.name}.all"}, "writes no table"),
        ({"key": "a", "prefix": "b"}, "key: it does not go with prefix."),
        ({"prefix": "a", "to": "b"}, "prefix: it does not go with from."),
        ({"cursor": "WzFd"}, "cursor: no page of this answer has it."),
        ({"cursor": "WyLigqwiXQ"}, "cursor: no page of this answer has it."),
    ]:
        answer = ask(**query)
        assert (answer.status_code, answer.json()["type"]) == (422, "sundial:invalid-parameter"), query
        assert says in answer.json()["detail"]
    both = httpx.get(ask.path)
    assert "Name one of" in both.json()["remedy"]


@pytest.mark.full
def test_a_table_without_room_is_refused_and_another_is_not(ask, places, monkeypatch):
    monkeypatch.setattr(query_tables, "ROOM", 400)
    monkeypatch.setattr(query_tables, "AGAIN", 0.0)
    places.send(places.json, "a", "x" * 200)
    answer = ask(topic=places.json)
    assert (answer.status_code, answer.json()["type"]) == (503, "sundial:too-large")
    assert "sundial read" in answer.json()["remedy"]
    places.send(places.avro, "a", "x")
    assert held(ask()) == {"a": "x"}, "another one has room"
    monkeypatch.setattr(query_tables, "ROOM", 10_000)
    assert ask(topic=places.json).json()["type"] == "sundial:too-large", "it is not read again at once"
    monkeypatch.setattr(query_tables, "LARGE_AGAIN", 0.0)
    assert held(ask(topic=places.json)) == {"a": "x" * 200}


@pytest.mark.full
def test_a_table_that_is_being_read_is_asked_for_again_later(ask, places, monkeypatch):
    answers = threading.Event()
    monkeypatch.setattr(topic_table, "described", lambda *how, read=topic_table.described: answers.wait(60) and read(*how))
    monkeypatch.setattr(query_tables, "PATIENCE", 0.1)
    places.send(places.avro, "a", "x")
    refused = httpx.get(ask.path, params={"topic": places.avro})
    assert (refused.status_code, refused.json()["type"]) == (503, "sundial:loading")
    answers.set()
    with Client(ask.url) as sundial:
        assert [row.key for row in sundial.query_rows(places.name, places.avro)] == ["a"]


@pytest.mark.full
def test_of_too_many_tables_the_one_that_was_asked_for_longest_ago_goes(broker, places, monkeypatch):
    monkeypatch.setattr(query_tables, "MOST", 1)
    tables = QueryTables({"bootstrap.servers": broker.kafka}, broker.registry)
    for topic in (places.avro, places.json, places.json):
        with suppress(ProblemError):  # it may still be read
            tables.ask(topic, lambda kept: kept.between(b"", None, None, 10))
        assert list(tables._tables) == [topic]
    tables.stop()


def test_only_what_is_committed_counts(broker, ask, places):
    producer = Producer({"bootstrap.servers": broker.kafka, "transactional.id": places.name})
    producer.init_transactions(20)
    for key, end in [("a", producer.commit_transaction), ("b", producer.abort_transaction), ("c", None)]:
        producer.begin_transaction()
        producer.produce(places.json, json.dumps({"Place": "x"}), key, partition=0)
        producer.flush(20)
        if end:
            end(20)
    assert list(held(ask(topic=places.json))) == ["a"]
    producer.commit_transaction(20)
    until("the last one counts, too", lambda: list(held(ask(topic=places.json))) == ["a", "c"])


@pytest.mark.full
def test_partitions_that_are_added_are_read(broker, ask, places):
    places.send(places.json, "a", "x")
    assert list(held(ask(topic=places.json))) == ["a"]
    admin = AdminClient({"bootstrap.servers": broker.kafka})
    admin.create_partitions([NewPartitions(places.json, 3)])[places.json].result(20)
    producer = Producer({"bootstrap.servers": broker.kafka})  # one that knows of the third
    producer.produce(places.json, b'{"Place": "y"}', "b", partition=2)
    assert producer.flush(20) == 0
    until("it is there", lambda: list(held(ask(topic=places.json))) == ["a", "b"])


@pytest.mark.full
def test_a_topic_that_is_deleted_and_made_anew_is_read_again(ask, places):
    places.send(places.avro, "a", "before")
    assert held(ask()) == {"a": "before"}
    places.delete()
    until("its end is noticed", lambda: ask().status_code == 503)
    assert ask().json()["type"] == "sundial:no-topic"
    places.recreate()
    places.send(places.avro, "b", "after")
    until("it is read again", lambda: ask().status_code == 200 and held(ask()) == {"b": "after"})


@pytest.mark.full
def test_a_table_that_nobody_asks_for_is_let_go(broker, places, monkeypatch):
    monkeypatch.setattr(query_tables, "IDLE", 2.0)
    places.send(places.json, "a", "x")
    tables = QueryTables({"bootstrap.servers": broker.kafka}, broker.registry)
    with suppress(ProblemError):  # it may still be read
        tables.ask(places.json, lambda kept: kept.between(b"", None, None, 10))
    [table] = tables._tables.values()
    until("its thread has ended", lambda: table.ended_at is not None)
    table.join()
    tables.stop()


def test_values_are_as_json_has_them():
    assert plain({"a": b"\xff", "b": [float("nan"), 1.5, AT], "c": dt.date(2026, 7, 1)}) == {
        "a": "/w==",
        "b": [None, 1.5, "2026-07-01T12:00:00Z"],
        "c": "2026-07-01",
    }
