"""Rows of queries as events, on a real broker: what is committed after a listener came, with what it missed, and no more."""

import contextlib
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from serving.query_tables import changed_rows
from serving.query_tables.models import RowEvent
from sundial.client import ApiError, Client
from tests.serving.conftest import declare_query, problem, served
from tests.serving.live import first_events
from tests.serving.query_tables.conftest import Places
from tests.support.waiting import until


@pytest.fixture
def served_state(places, online, monkeypatch):
    monkeypatch.setattr(changed_rows, "LOOK_EVERY", 0.2)
    with served(online) as (url, state):
        yield url, state


@contextlib.contextmanager
def rows(url: str, places: Places, last: str | None = None, **more) -> Iterator[Iterator[str]]:
    """The lines of the stream of the query's rows alone, once it listens."""
    headers = {} if last is None else {"Last-Event-ID": last}
    wanted = {"event": "row", "query": places.name} | more
    with httpx.stream("GET", f"{url}/api/events", params=wanted, headers=headers, timeout=30) as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": listening", stream.status_code
        yield lines


def heard(lines: Iterator[str], count: int) -> list[tuple[str | None, str, dict]]:
    """So many events; `alive` only says that a slow machine takes its time."""
    found: list[tuple[str | None, str, dict]] = []
    while len(found) < count:
        found += [each for each in first_events(lines, 1) if each[1] != "alive"]
    return found


def shown(events: list[tuple[str | None, str, dict]]) -> list[tuple]:
    return [(row["key"], row["value"] and row["value"]["Place"], row["removed"]) for _, kind, row in events if kind == "row"]


@pytest.mark.full
def test_each_row_that_changes_is_an_event_of_those_who_ask_for_it(served_state, places):
    url, _ = served_state
    places.send(places.avro, "a", "before")
    everything = httpx.stream("GET", f"{url}/api/events", timeout=30)
    with rows(url, places) as lines, everything as stream:
        places.send(places.avro, "a", "x\u2028\x85")
        places.send(places.json, "bb", "y")
        found = heard(lines, 2)
        places.send(places.avro, "a", None)
        places.send_raw(places.avro, "bad", b"\x00no record")
        found += heard(lines, 2)
        of_all = first_events(stream.iter_lines(), 1)
    assert shown(sorted(found[:2], key=lambda each: each[2]["key"])) == [("a", "x\u2028\x85", False), ("bb", "y", False)]
    assert shown(found[2:]) == [("a", None, True), ("bad", None, False)]
    assert found[2][2]["problem"] is None
    assert found[3][2]["problem"], "why it can't be read"
    first = min((row for _, _, row in found[:2]), key=lambda row: row["key"])
    assert (first["query"], first["topic"], first["partition"], first["offset"]) == (places.name, places.avro, 1, 1)
    assert (first["value"]["At"], first["problem"]) == ("2026-07-01T12:00:00Z", None)
    assert of_all[0][1] == "alive", "no rows unless they are asked for"


@pytest.mark.full
def test_what_a_listener_missed_comes_first_as_long_as_the_query_is_followed(served_state, places, monkeypatch):
    url, state = served_state
    with rows(url, places) as lines:
        places.send(places.avro, "a", "1")
        [(last, _, _)] = heard(lines, 1)
    until("it has left", lambda: not state.events.queries(), 25)
    places.send(places.avro, "a", "2")
    places.send(places.avro, "b", "3")
    with rows(url, places, last) as lines:
        places.send(places.avro, "c", "4")
        found = heard(lines, 3)
    assert shown(found) == [("a", "2", False), ("b", "3", False), ("c", "4", False)], "all are in one partition"
    until("it has left", lambda: not state.events.queries(), 25)
    monkeypatch.setattr(changed_rows, "LINGER", 0.0)
    until("the query is let go", lambda: not state.changed_rows._followed)
    monkeypatch.undo()
    places.send(places.avro, "a", "5")
    with rows(url, places, found[-1][0]) as lines:
        assert heard(lines, 1) == [(None, "resync", {})]
        places.send(places.avro, "a", "6")
        assert shown(heard(lines, 1)) == [("a", "6", False)]


def test_rows_of_a_transaction_come_once_it_is_committed(served_state, places, broker):
    """Also those that were written before somebody listened: the table does not have them yet."""
    url, _ = served_state
    producer = Producer({"bootstrap.servers": broker.kafka, "transactional.id": places.name})
    producer.init_transactions(20)
    write = {"User": "u", "Place": "x", "At": "2026-07-01T12:00:00Z"}
    for ends in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(places.json, json.dumps(write | {"Place": ends.__name__}), "a", partition=0)
        producer.flush(20)
        with rows(url, places) as lines:
            ends(20)
            if ends == producer.commit_transaction:
                assert shown(heard(lines, 1)) == [("a", "commit_transaction", False)]


@pytest.mark.full
def test_new_partitions_and_topics_that_are_made_anew_are_read_from_their_beginning(served_state, places, broker):
    url, _ = served_state
    with rows(url, places) as lines:
        admin = AdminClient({"bootstrap.servers": broker.kafka})
        admin.create_partitions([NewPartitions(places.json, 3)])[places.json].result(20)
        write = json.dumps({"User": "u", "Place": "x", "At": "2026-07-01T12:00:00Z"})
        producer = Producer({"bootstrap.servers": broker.kafka, "topic.metadata.refresh.interval.ms": 100})
        until("the producer knows it", lambda: 2 in producer.list_topics(places.json).topics[places.json].partitions)
        producer.produce(places.json, write, "new", partition=2)
        assert producer.flush(20) == 0
        assert [(row["partition"], row["key"]) for _, _, row in heard(lines, 1)] == [(2, "new")]
        places.delete()
        places.recreate()
        places.send(places.avro, "a", "again")
        assert shown(heard(lines, 1)) == [("a", "again", False)]


@pytest.mark.full
def test_a_query_that_is_no_longer_declared_ends_the_streams_of_its_rows(served_state, places, online):
    url, _ = served_state
    declare_query(online.feeds, "another", "shared")
    with rows(url, places) as lines:
        (online.feeds.parent / "queries" / f"{places.name}.yaml").unlink()
        assert [line for line in lines if line.startswith("event: row")] == [], "it ends"
    problem(httpx.get(f"{url}/api/events", params={"query": places.name}), 404, "unknown-query")


def test_what_cannot_be_listened_to_is_refused(served_state, places, online):
    url, _ = served_state
    ask = lambda **query: httpx.get(f"{url}/api/events", params=query, timeout=30)  # noqa: E731
    problem(ask(query="nope"), 404, "unknown-query")
    problem(ask(query=[places.name] * 21), 422, "invalid-parameter")
    problem(ask(event="nope"), 422, "invalid-parameter")
    assert "row goes with a query" in problem(ask(event="row"), 422, "invalid-parameter")["detail"]
    problem(ask(event="scored", query=places.name), 422, "invalid-parameter")
    file = online.feeds.parent / "queries" / f"{places.name}.yaml"
    query = yaml.safe_load(file.read_text())
    without = query | {"name": "no-table", "outputs": [query["outputs"][2] | {"topic": "no-table.rows"}]}
    file.with_stem("no-table").write_text(yaml.safe_dump(without))
    assert "writes no table" in problem(ask(query="no-table"), 422, "invalid-parameter")["detail"]
    places.delete()
    try:
        until("the topics are gone", lambda: ask(query=places.name).json()["type"] == "sundial:no-topic")
    finally:
        places.recreate()


@pytest.mark.full
def test_without_a_broker_rows_are_refused(offline, places):
    with served(offline) as (url, _):
        problem(httpx.get(f"{url}/api/events", params={"query": places.name}, timeout=30), 503, "no-kafka")


@pytest.mark.full
def test_a_slow_reader_is_told_and_slows_no_other(served_state, places):
    """It gets 20 MB of rows, and reads nothing until the other has read them all."""
    url, state = served_state
    large, number = "x" * 100_000, 200
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port)) as slow, rows(url, places) as lines:
        slow.sendall(f"GET /api/events?query={places.name} HTTP/1.1\r\nHost: {address.host}\r\n\r\n".encode())
        until("both listen", lambda: state.events.listeners == 2)
        for each in range(number):
            places.send(places.json, f"{each}", large)
            [(_, kind, row)] = heard(lines, 1)
            assert (kind, row["key"]) == ("row", str(each))
        said = slow.makefile("rb")
        assert next(line for line in said if line.startswith(b"event: resync"))
        places.send(places.json, "last", "here")
        assert next(line for line in said if b'"key":"last"' in line)


def test_the_client_types_rows_and_sends_its_choice(served_state, places):
    url, state = served_state
    with Client(url) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(next, client.events(kinds=["row", "gate"], queries=[places.name]))
        until("it listens", lambda: state.events.queries() == {places.name})
        places.send(places.avro, "a", "x")
        event = first.result(20)
        assert (event.kind, type(event.record), event.record.value["Place"]) == ("row", RowEvent, "x")
        with pytest.raises(ApiError, match="row goes with a query"):
            next(client.events(kinds=["row"]))
