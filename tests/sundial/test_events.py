"""Events go on after a lost connection, with what was missed."""

from typing import get_args

import httpx
import pytest

from serving.baseline_models import GateEvent
from serving.models import EventKind, ScoredPoint
from serving.query_tables.models import RowEvent
from sundial import events
from sundial.client import ApiError, Client
from sundial.events import RECORDS, messages


def record(id_: str, value: int) -> bytes:
    point = {"feed": "f", "service": "a\u2028b", "at": "2026-07-01T12:00:00Z", "value": value, "anomalous": False}
    point |= dict.fromkeys(("expected", "low", "high", "pct", "baseline_version"))
    return f"event: scored\nid: {id_}\ndata: {ScoredPoint(**point).model_dump_json()}\n\n".encode()


def client(*answers, asked: list) -> Client:
    """Of an API that gives these answers, one to each connection; one that is an error is raised when its bytes are read."""
    left = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("last-event-id"))
        found = next(left)
        return found if isinstance(found, httpx.Response) else httpx.Response(200, content=found)

    return Client(http=httpx.Client(transport=httpx.MockTransport(answer)))


def broken(*chunks: bytes):
    yield from chunks
    raise httpx.ReadError("connection reset")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(events, "FIRST_PAUSE", 0.0)


def test_a_lost_connection_goes_on_after_the_last_event():
    asked = []
    refused = httpx.Response(404, json={"type": "sundial:unknown-feed", "detail": "gone.", "remedy": "Ask."})
    first = broken(b": listening\nid: p-0\nretry: 2000\n\n" + record("p-1", 1)[:40], record("p-1", 1)[40:], record("p-2", 2)[:50])
    second = iter([record("p-2", 2), b"event: alive\ndata: {}\n\n", b"event: resync\ndata: {}\n\n"])
    heard = client(first, httpx.Response(503), second, refused, asked=asked).events("f")
    found = [next(heard) for _ in range(3)]
    assert [(each.kind, each.record and each.record.value) for each in found] == [("scored", 1), ("scored", 2), ("resync", None)]
    assert found[0].record.service == "a\u2028b"
    with pytest.raises(ApiError, match="404: gone"):
        next(heard)
    assert asked == [None, "p-1", "p-1", "p-2"]


def test_a_connection_that_breaks_before_the_first_event_misses_none():
    asked = []
    heard = client(broken(b": listening\nid: p-0\n\n"), iter([record("p-1", 1)]), asked=asked).events()
    assert (next(heard).record.value, asked) == (1, [None, "p-0"])


def test_each_kind_has_its_type():
    said = {"candidate_version": 4, "run_id": "night-1", "feed": "f", "checked_at": "2026-07-01T12:00:00Z", "success": False}
    gate = GateEvent(**said, compared_with=None)
    row = RowEvent(
        key="k", partition=1, offset=7, at=gate.checked_at, value={"A": 1}, problem=None, query="q", topic="t", removed=False
    )
    chunks = [f"event: {kind}\ndata: {one.model_dump_json()}\n\n".encode() for kind, one in (("gate", gate), ("row", row))]
    heard = client(iter([b"event: of a later release\ndata: {}\n\n", *chunks]), asked=[]).events()
    assert [(each.kind, each.record) for each in (next(heard), next(heard))] == [("gate", gate), ("row", row)]
    assert RECORDS.keys() == set(get_args(EventKind))


def test_a_first_connection_that_fails_is_an_error():
    with pytest.raises(ApiError, match="503"):
        next(client(httpx.Response(503, text="starting"), asked=[]).events())
    with Client("http://127.0.0.1:1") as nowhere, pytest.raises(ApiError, match="no answer"):
        next(nowhere.events())


@pytest.mark.parametrize("service", ["a&b", ["a&b"], ["a&b", "c"], None])
def test_readings_of_one_service_or_of_several_are_asked_for(service):
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params)
        return httpx.Response(200, content=record("p-1", 1))

    heard = Client(http=httpx.Client(transport=httpx.MockTransport(answer))).events("f", service)
    assert next(heard).record.value == 1
    assert [each.get_list("feed") for each in asked] == [["f"]]
    assert [each.get_list("service") for each in asked] == [[service] if isinstance(service, str) else service or []]


def test_no_service_at_all_is_not_taken_for_every_service():
    with pytest.raises(ValueError, match="name a service, or leave the services out"):
        Client("http://127.0.0.1:1").events("f", [])


def test_records_are_cut_at_line_feeds_alone():
    found = [
        (each.id, each.kind, each.data)
        for each in messages([b"id: 1\r\nevent: x\r\nda", b"ta: a\xe2\x80\xa8b\r\n\r\ndata:c\n\nid: lost"])
    ]
    assert found == [("1", "x", "a\u2028b"), (None, "message", "c")]
