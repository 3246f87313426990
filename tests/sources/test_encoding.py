"""The bytes on the wire against fastavro."""

import io
import json
import struct

import fastavro
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import avro
from contracts.feeds import load_feed
from sources.encoding import EncodingError, ReadingEncoder

FEED = load_feed("service-use")
SCHEMA = avro.latest(FEED.record)
INT64 = st.integers(-(2**63), 2**63 - 1)


def with_fields(*fields: dict) -> dict:
    return {"type": "record", "name": "r", "fields": list(fields)}


def encoded(schema: dict, schema_id: int, rows: list[tuple[int, int]]) -> list[bytes]:
    times, values = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return ReadingEncoder(FEED, json.dumps(schema), schema_id).encode(times, values)


def by_fastavro(schema: dict, schema_id: int, record: dict) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), record)
    return b"\x00" + struct.pack(">I", schema_id) + body.getvalue()


@given(st.lists(st.tuples(INT64, INT64), min_size=1, max_size=50), st.integers(0, 2**31 - 1))
def test_every_pair_of_longs_is_what_fastavro_writes(rows, schema_id):
    expected = [by_fastavro(SCHEMA, schema_id, {"Timestamp": time, "Value": value}) for time, value in rows]
    assert encoded(SCHEMA, schema_id, rows) == expected


def test_one_message_by_hand():
    assert encoded(SCHEMA, 258, [(1, 300)]) == [b"\x00\x00\x00\x01\x02" + b"\x02" + b"\xd8\x04"]


def test_no_rows_no_messages():
    assert ReadingEncoder(FEED, json.dumps(SCHEMA), 1).encode(np.array([], np.int64), np.array([], np.int64)) == []


def test_other_fields_are_written_as_their_defaults_wherever_they_stand():
    schema = with_fields(
        {"name": "Unit", "type": "string", "default": "requests"},
        {"name": "Value", "type": "long"},
        {"name": "Note", "type": ["null", "string"], "default": None},
        {"name": "Nothing", "type": "null", "default": None},
        {"name": "Timestamp", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    )
    record = {"Unit": "requests", "Value": 7, "Note": None, "Nothing": None, "Timestamp": 1_790_000_000_123_000}
    assert encoded(schema, 5, [(1_790_000_000_123, 7)]) == [by_fastavro(schema, 5, record)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([{"name": "Timestamp", "type": "long"}], "schema 9 has no field 'Value', which feed service-use names as its value"),
        ([{"name": "Timestamp", "type": "string"}, {"name": "Value", "type": "long"}], "field 'Timestamp' of schema 9 has type"),
        ([{"name": "Timestamp", "type": "long"}, {"name": "Value", "type": "double"}], "field 'Value' of schema 9 has type"),
        (
            [{"name": "Timestamp", "type": "long"}, {"name": "Value", "type": "long"}, {"name": "Region", "type": "string"}],
            "field 'Region' of schema 9 has no default",
        ),
    ],
)
def test_a_schema_that_cannot_carry_readings_is_refused(fields, message):
    with pytest.raises(EncodingError) as error:
        ReadingEncoder(FEED, json.dumps(with_fields(*fields)), 9)
    assert message in str(error.value)
