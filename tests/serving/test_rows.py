"""Rows come in the format that is asked for, with the same content in each."""

import csv
import datetime as dt
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serving.memory import Anomaly, Reading
from serving.rows import ARROW, CSV, FORMATS, JSON, PARQUET, accepted
from tests.serving import world
from tests.serving.conftest import problem
from tests.serving.test_incidents import of

NOON = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
FORMULA = '=HYPERLINK("http://example.org"),1\nü'  # a service may be called that
INSTANT = pa.timestamp("ms", "UTC")


def table(answer) -> pa.Table:
    """The rows of an answer in a binary format."""
    if answer.headers["content-type"] == PARQUET:
        return pq.read_table(io.BytesIO(answer.content))
    assert answer.headers["content-type"] == ARROW
    return pa.ipc.open_stream(answer.content).read_all()


def typed(row: dict, fields: pa.Schema | pa.StructType) -> dict:
    """A row of JSON with instants where the fields are timestamps."""
    of = {field.name: field.type for field in fields}
    return {name: cell and _typed(cell, of[name]) for name, cell in row.items()}


def _typed(cell, kind: pa.DataType):
    if pa.types.is_struct(kind):
        return typed(cell, kind)
    return dt.datetime.fromisoformat(cell) if pa.types.is_timestamp(kind) else cell


@pytest.fixture
def known(client, feed, lake):
    """The path of a feed with anomalies, incidents, a verdict and gate results."""
    state, at = client.app.state.sundial, round(NOON.timestamp() * 1000)
    for service, version in (("a", 3), (FORMULA, -1)):
        state.memory.put_reading(feed.name, service, Reading(at, 90, 45.0, None, 200.0, True, version))
        state.memory.put_anomaly(feed.name, Anomaly(service, at, 90, 45.0, None, 200.0, version))
        state.incidents.put(feed.name, of(service, at))
    world.say(lake, feed, 1, "exclude", NOON, ServiceName="a")
    world.gate_result(lake, feed, "run-1", True, [world.expectation(), world.expectation(success=False)], NOON)
    return f"/api/feeds/{feed.name}"


@pytest.mark.parametrize("format_", [PARQUET, ARROW])
@pytest.mark.parametrize("path", ["/services", "/anomalies", "/incidents"])
def test_binary_rows_are_those_of_json_with_types(client, known, path, format_):
    found = table(client.get(known + path, headers={"Accept": format_}))
    assert found.schema.field("at").type == INSTANT
    assert found.to_pylist() == [typed(row, found.schema) for row in client.get(known + path).json()]


def test_columns_have_the_types_of_the_fields(client, known):
    schema = table(client.get(f"{known}/incidents", headers={"Accept": ARROW})).schema
    verdict = pa.struct([("statement", pa.int64()), ("kind", pa.string()), ("by", pa.string()), ("at", INSTANT)])
    assert {
        name: schema.field(name).type for name in ("start", "start_local", "readings", "actual", "level_shift", "members")
    } == {
        "start": INSTANT,
        "start_local": pa.string(),
        "readings": pa.int64(),
        "actual": pa.float64(),
        "level_shift": pa.bool_(),
        "members": pa.list_(pa.string()),
    }
    assert schema.field("verdict").type == pa.struct([*verdict, pa.field("reason", pa.string())])


def test_csv_keeps_text_as_it_came(client, known):
    answer = client.get(f"{known}/anomalies", headers={"Accept": "text/csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert {row["service"] for row in rows} == {"a", FORMULA}
    assert rows[0] | {"feed": "", "service": ""} == {
        "feed": "",
        "service": "",
        "at": "2026-07-01T12:00:00.000Z",
        "at_local": "2026-07-01T08:00:00-04:00",
        "value": "90",
        "expected": "45",
        "spread": "",
        "pct": "200",
        "baseline_version": "-1",
    }


def test_csv_has_a_column_for_each_field_of_a_struct_and_lists_as_json(client, known):
    rows = csv.DictReader(io.StringIO(client.get(f"{known}/incidents", headers={"Accept": CSV}).text, newline=""))
    assert {row["service"]: (row["verdict.by"], row["verdict.at"], row["members"]) for row in rows} == {
        "a": ("mara", "2026-11-21T09:30:00.000Z", "[]"),
        FORMULA: ("", "", "[]"),
    }
    (judged,) = csv.DictReader(io.StringIO(client.get(f"{known}/gate-results", headers={"Accept": CSV}).text, newline=""))
    first, second = json.loads(judged["expectations"])
    assert (first["success"], second["success"], second["observed"]) == (True, False, "2 rows at fault")
    assert [json.loads(each) for each in second["sample"]] == world.expectation(success=False)["sample"]


def test_an_answer_without_rows_has_its_columns(client, feed):
    for format_ in (PARQUET, ARROW):
        found = table(client.get(f"/api/feeds/{feed.name}/anomalies", headers={"Accept": format_}))
        assert (len(found), found.column_names[:2]) == (0, ["feed", "service"])
    header = client.get("/api/streams", headers={"Accept": CSV}).text
    assert header.startswith('"feed","stream","state"')
    assert '"health.lag_records"' in header


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_number_that_is_not_finite_is_null(client, feed):
    at, state = round(NOON.timestamp() * 1000), client.app.state.sundial
    state.memory.put_reading(feed.name, "a", Reading(at, 90, 1e308, 1e308, 200.0, True, 3))
    path = f"/api/feeds/{feed.name}/services/a/readings?from=2026-07-01T11:00:00Z&to=2026-07-01T13:00:00Z"
    for format_ in FORMATS:
        answer = client.get(path, headers={"Accept": format_})
        (row,) = (
            answer.json()
            if format_ == JSON
            else csv.DictReader(io.StringIO(answer.text))
            if format_ == CSV
            else table(answer).to_pylist()
        )
        assert row["high"] in (None, ""), format_


def test_a_format_that_there_is_none_of_is_refused_with_those_that_there_are(client, feed):
    body = problem(client.get(f"/api/feeds/{feed.name}/incidents", headers={"Accept": "application/xml"}), 406, "not-acceptable")
    assert "application/xml" in body["detail"]
    assert all(each in body["remedy"] for each in FORMATS)


@pytest.mark.parametrize(
    ("accept", "format_"),
    [
        ("*/*", JSON),
        ("text/html,application/xhtml+xml,*/*;q=0.8", JSON),
        ("application/json;q=0.5, TEXT/CSV", CSV),
        ("text/*", CSV),
        ("application/*;q=0.1, text/csv;header=absent;q=0.05", JSON),
        ("application/json;q=0, */*", CSV),
        ("*/*, application/vnd.apache.parquet;q=1.0", JSON),
        ("text/csv;q=no", None),
        ("application/json;q=0", None),
        ("", None),
    ],
)
def test_the_format_is_the_one_that_is_wanted_most(accept, format_):
    assert accepted(accept) == format_


def test_parquet_is_not_compressed_again(client, feed):
    memory = client.app.state.sundial.memory
    for number in range(500):
        memory.put_reading(feed.name, f"s{number}", Reading(number, 90, 45.0, None, 200.0, True, 3))
    path = f"/api/feeds/{feed.name}/services"
    encodings = {each: client.get(path, headers={"Accept": each}).headers.get("content-encoding") for each in FORMATS}
    assert encodings == {JSON: "gzip", CSV: "gzip", PARQUET: None, ARROW: "gzip"}
    assert "Accept" in client.get(path).headers["vary"].split(", ")
