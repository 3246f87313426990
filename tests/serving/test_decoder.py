"""What is no record is refused with its reason; a registry that does not answer is another matter, as the record may be fine."""

import datetime as dt
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import fastavro
import pytest

from contracts import avro
from serving import decoder
from serving.decoder import Decoder, RegistryUnavailable, Undecodable
from tests.serving import derived

AT = dt.datetime(2026, 11, 20, 14, 30, tzinfo=dt.UTC)
ROW = derived.scored("a", AT, 42)


class Registry(ThreadingHTTPServer):
    """Answers `/schemas/ids/<id>` from `schemas`, or with `answer` where one is set; `asked_for` are the ids, in order."""

    def __init__(self):
        self.schemas: dict[int, dict | str] = {}
        self.answer: tuple[int, bytes] | None = None
        self.asked_for: list[int] = []
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        number = int(self.path.partition("?")[0].rpartition("/")[2])
        self.server.asked_for.append(number)
        if self.server.answer:
            code, body = self.server.answer
        elif number in self.server.schemas:
            schema = self.server.schemas[number]
            text = schema if isinstance(schema, str) else json.dumps(schema)
            code, body = 200, json.dumps({"schema": text}).encode()
        else:
            code, body = 404, json.dumps({"error_code": 40403, "message": "Schema not found"}).encode()
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    server.schemas |= {7: avro.latest("scored"), 5: {"type": "object"}, 4: 'syntax = "proto3";'}  # 5 and 4 are no Avro
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def encoded(row: dict, schema: dict, number: int) -> bytes:
    value = io.BytesIO()
    fastavro.schemaless_writer(value, fastavro.parse_schema(schema), row)
    return avro.HEADER.pack(avro.MAGIC, number) + value.getvalue()


def test_a_record_is_decoded_and_its_schema_fetched_once(registry):
    found = Decoder(registry.url)
    value = encoded(ROW, avro.latest("scored"), 7)
    assert [found.decode(value, "scored") for _ in range(3)] == [ROW] * 3
    assert registry.asked_for == [7]


def test_a_record_of_another_version_is_read_by_its_own_schema_as_the_newest(registry):
    newer = avro.latest("scored")
    registry.schemas[8] = newer | {"fields": [{"name": "Note", "type": "string", "default": "-"}, *newer["fields"]]}
    assert Decoder(registry.url).decode(encoded(ROW | {"Note": "first"}, registry.schemas[8], 8), "scored") == ROW


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "0 bytes are too few for a schema id"),
        (b"\x00\x00\x00\x07", "4 bytes are too few for a schema id"),
        (b"\x01" + bytes(20), "magic byte is 1, not 0"),  # a header with a GUID is none of ours
        (b'{"Value": 5}', "magic byte is 123, not 0"),
        (avro.HEADER.pack(0, 7), "not a scored by schema id 7: "),
        (avro.HEADER.pack(0, 7) + b"\x04", "not a scored by schema id 7: "),
        (avro.HEADER.pack(0, 7) + b"\xff" * 9 + b"\x01", "not a scored by schema id 7: "),  # text of -2**62 bytes
        (avro.HEADER.pack(0, 5) + b"x", "not a scored by schema id 5: "),
        (avro.HEADER.pack(0, 4) + b"x", "not a scored by schema id 4: "),
        (avro.HEADER.pack(0, 6) + b"x", "schema id 6 is not in the registry"),
    ],
)
def test_what_is_no_record_is_refused_with_the_reason(registry, value, reason):
    with pytest.raises(Undecodable) as refusal:
        Decoder(registry.url).decode(value, "scored")
    assert str(refusal.value).startswith(reason)


def test_an_unknown_id_is_asked_for_again_only_after_a_while(registry, monkeypatch):
    found = Decoder(registry.url)
    value = encoded(ROW, avro.latest("scored"), 9)
    for _ in range(3):
        with pytest.raises(Undecodable, match="schema id 9 is not in the registry"):
            found.decode(value, "scored")
    assert registry.asked_for == [9]
    registry.schemas[9] = avro.latest("scored")
    monkeypatch.setattr(decoder, "UNKNOWN_FOR_SECONDS", 0.0)
    assert found.decode(value, "scored") == ROW
    assert registry.asked_for == [9, 9]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((500, b"{}"), "HTTP 500 for schema id 7"),
        ((503, b"<html>busy</html>"), "HTTP 503 for schema id 7"),
        ((200, b"<html>a proxy</html>"), "JSONDecodeError at 127.0.0.1: "),
        ((200, b"[]"), "TypeError at 127.0.0.1: "),
    ],
)
def test_a_registry_that_gives_no_schema_is_unavailable_and_the_record_is_decoded_later(registry, answer, reason):
    found = Decoder(registry.url)
    value = encoded(ROW, avro.latest("scored"), 7)
    registry.answer = answer
    with pytest.raises(RegistryUnavailable) as failure:
        found.decode(value, "scored")
    assert str(failure.value).startswith(reason)
    registry.answer = None
    assert found.decode(value, "scored") == ROW


@pytest.mark.parametrize(("code", "ends"), [(400, True), (403, True), (422, True), (401, False), (429, False), (500, False)])
def test_an_id_that_the_registry_refuses_blocks_its_record_for_a_while_only(registry, monkeypatch, code, ends):
    clock = SimpleNamespace(at=1000.0)
    clock.monotonic = lambda: clock.at
    monkeypatch.setattr(decoder, "time", clock)
    found, value = Decoder(registry.url), encoded(ROW, avro.latest("scored"), 9)
    registry.answer = code, b"{}"
    for clock.at in (1000.0, 1030.0, 1059.0):
        with pytest.raises(RegistryUnavailable, match=f"HTTP {code} for schema id 9"):
            found.decode(value, "scored")
    clock.at = 1061.0
    for _ in range(2):
        with pytest.raises(Undecodable if ends else RegistryUnavailable, match=f"HTTP {code}"):
            found.decode(value, "scored")
    assert len(registry.asked_for) == (4 if ends else 5)
    registry.answer, registry.schemas[9], clock.at = None, avro.latest("scored"), 1100.0
    assert found.decode(value, "scored") == ROW


def test_a_registry_that_is_down_is_unavailable(offline):
    with pytest.raises(RegistryUnavailable, match=r"ConnectError at 127\.0\.0\.1: "):
        Decoder(offline.registry).decode(avro.HEADER.pack(0, 1) + b"x", "scored")
