"""Any bytes on the derived topics: a record is shown as fastavro reads it, or counted with a reason. The API still answers."""

import datetime as dt
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest
from fastapi.testclient import TestClient
from hypothesis import example, given
from hypothesis import strategies as st

from contracts import avro
from contracts.declarations import SCHEMAS
from contracts.feeds import Feed
from serving.app import create_app
from serving.event_routes import event_json
from serving.kept_events import Event
from serving.settings import Settings
from tests.serving.conftest import declare
from tests.serving.kept import kept
from tests.support import hostile
from tests.support.registry import answering

RECORDS = sorted(folder.name for folder in (SCHEMAS / "avro").iterdir())
IDS = {record: number for number, record in enumerate(RECORDS, 1)}
NO_AVRO = 1000  # the id of a schema that is JSON Schema
SCHEMA_OF = {number: {"schema": json.dumps(avro.latest(record))} for record, number in IDS.items()}
SCHEMA_OF[NO_AVRO] = {"schema": '{"type": "object"}', "schemaType": "JSON"}
SHOWN = ["scored", "anomaly", "incident"]
FEED = Feed(name="fuzzed", description="d", record="service_use_record", timezone="America/New_York")


def schema_of(path: str) -> dict | None:
    """What a registry answers of a schema id, with or without a prefix and a query."""
    asked = re.search(r"/schemas/ids/(\d+)", path)
    return SCHEMA_OF.get(int(asked[1])) if asked else None


@dataclass
class Serving:
    """What serving makes of records that it is handed as its consumer would hand them over."""

    client: TestClient

    @property
    def state(self) -> Any:
        app: Any = self.client.app
        return app.state.sundial

    def take(self, record: str, key: bytes | None, value: bytes | None) -> tuple[Event | None, str | None]:
        """The event that pages get, and the reason where it counts the record as undecodable."""
        name = {"scored": FEED.scored_topic, "anomaly": FEED.anomalies_topic, "incident": FEED.incidents_topic}[record]
        said = {"topic": name, "partition": 0, "offset": 5, "error": None, "key": key, "value": value, "timestamp": (1, 0)}
        live = self.state.live
        before = live.status.undecodable
        event = live._take(SimpleNamespace(**{field: (lambda it=it: it) for field, it in said.items()}))
        if live.status.undecodable == before:
            return event, None
        place, _, reason = live.status.last_undecodable.partition(": ")
        assert (live.status.undecodable, place) == (before + 1, f"{name}-0-5")
        return event, reason


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with answering(schema_of) as url:
        yield url


@pytest.fixture(scope="module")
def serving(registry, tmp_path_factory) -> Serving:
    """Serving that follows no Kafka and holds little."""
    folder = tmp_path_factory.mktemp("serving")
    few = {"services_per_feed": 3, "anomalies_per_feed": 3, "readings_per_service": 3}
    feeds = declare(folder / "feeds", FEED)
    settings = Settings("127.0.0.1:1", registry, str(folder / "lake"), str(folder / "streams"), feeds=feeds, **few)
    return Serving(TestClient(create_app(settings), base_url="http://127.0.0.1"))


def by_fastavro(value: bytes, record: str) -> dict | None:
    """The record, by the schema that its header names; None where it is none."""
    if len(value) < 5 or value[0] != 0 or (writer := int.from_bytes(value[1:5])) not in IDS.values():
        return None
    parsed = avro.parsed(RECORDS[writer - 1])
    try:
        return fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed, avro.parsed(record))
    except Exception:  # of many kinds
        return None


def shown(row: dict) -> bool:
    """Whether it can be shown: numbers that are finite, a time in which a page can count."""
    numbers = [each for each in row.values() if isinstance(each, float)]
    times = [each for each in row.values() if isinstance(each, dt.datetime)]
    return all(map(math.isfinite, numbers)) and all(1900 <= each.year < 2200 for each in times)


def order(row: dict) -> tuple[int, int, int]:
    """Of several rows of one time the one with the highest counts; the broker took each at 0."""
    at, offset = row["KafkaTimestamp"], row["KafkaOffset"]
    place = (0, -1) if at is None or offset is None else (round(at.timestamp() * 1000), offset)
    return (*place, row["BaselineVersion"])


@pytest.mark.parametrize("writer", [pytest.param(each, marks=() if each in SHOWN else pytest.mark.full) for each in RECORDS])
@given(data=st.data(), record=st.sampled_from(SHOWN))
def test_a_record_is_read_as_fastavro_reads_it_or_counted_with_a_reason(serving, writer, record, data):
    value = data.draw(hostile.payloads(avro.latest(writer), IDS[writer]))
    row = by_fastavro(value, record)
    event, reason = serving.take(record, b"any key", value)
    if row is None or not shown(row):
        assert event is None
        assert reason
    elif event is None:  # a correction of it is known, or a newer baseline has scored that reading
        at = round(row["Timestamp"].timestamp() * 1000)
        assert (record in ("scored", "anomaly"), reason) == (True, None)
        if record == "scored":
            known = {each.at: each for each in kept(serving.state.memory, FEED.name, row["ServiceName"], at)}
            assert known[at].order > order(row)
    else:
        assert (event.service, reason) == (row["ServiceName"], None)
        if record == "incident":
            assert (event.record.id, event.record.start) == (row["Id"], round(row["Start"].timestamp() * 1000))
            assert (event.record.end is None, event.record.peak_size) == (row["End"] is None, row["PeakSize"])
        else:
            assert (event.record.at, event.record.value) == (round(row["Timestamp"].timestamp() * 1000), row["Value"])
            numbers = (event.record.expected, event.record.spread, event.record.pct, event.record.baseline_version)
            assert numbers == (row["Expected"], row["Spread"], row["PredictedPct"], row["BaselineVersion"])
        json.loads(event_json(FEED, event), parse_constant=pytest.fail)  # NaN is no JSON
    for path in ("", "/services", "/anomalies", "/incidents"):
        assert serving.client.get(f"/api/feeds/{FEED.name}{path}").status_code == 200


@given(st.one_of(st.none(), st.binary(), st.text().map(str.encode)), st.sampled_from(SHOWN))
@example(b"a|--5", "scored")
@example("a|²".encode(), "scored")
@example(b"a|" + b"9" * 5000, "anomaly")
@example(b"a|" + b"9" * 19, "scored")
def test_a_deletion_of_any_key_stops_nothing(serving, key, record):
    event, reason = serving.take(record, key, None)
    assert event is None
    assert (reason is None) == (record == "incident" or bool(re.fullmatch(rb"(?s).+\|-?[0-9]{1,19}", key or b"")))


def test_a_record_of_a_schema_that_is_not_avro_is_counted(serving):
    event, reason = serving.take("scored", b"a|0", avro.HEADER.pack(avro.MAGIC, NO_AVRO) + b"x")
    assert event is None
    assert str(NO_AVRO) in reason
