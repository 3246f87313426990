"""Topics of JSON and of text as a query's inputs, and JSON as its output: what is read, and why something is not."""

import datetime as dt
import json

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from contracts.declarations import DeclarationError
from contracts.queries import Query
from jobs.formats import query_records, text

KAFKA = "key binary, value binary, partition int, offset long, timestamp timestamp"
CAME = dt.datetime(2026, 11, 21, 12)
EVENT = {"Id": "e", "Timestamp": "2026-11-21T12:00:00Z", "Value": 2.5}


def query(reads: str, record: str | None, **output) -> Query:
    source = {"topic": "events", "encoding": reads, "key": {"column": "Key"}} | ({"record": record} if record else {})
    out = {"topic": "out", "record": "metric_event", "key": "Key"} | output
    sql = (
        "SELECT * FROM events"
        if record
        else "SELECT Key, Line AS Id, RowTime AS Timestamp, double(length(Line)) AS Value FROM events"
    )
    return Query(name="q", description="of the test", inputs={"events": source}, sql=sql, outputs=[out])


def decoded(spark, made: Query, *values: bytes | None) -> list:
    frame = spark.createDataFrame(
        [(bytearray(b"k"), value and bytearray(value), 0, n, CAME) for n, value in enumerate(values)], KAFKA
    )
    return query_records.decode(frame, made.inputs["events"], {}).orderBy("KafkaOffset").collect()


def test_json_is_read_by_the_contracts_fields_and_types(spark):
    more = EVENT | {"Id": None, "Comment": "not in the contract"}
    first, second = decoded(spark, query("json", "metric_event"), *(json.dumps(each).encode() for each in (EVENT, more)))
    assert (first.Error, second.Error) == (None, None)
    assert (first.Row.Id, first.Row.Timestamp, first.Row.Value) == ("e", CAME, 2.5)
    assert (second.Row.Id, second.Row.Key, second.Row.RowOffset) == (None, "k", 1)


@pytest.mark.parametrize("time", ["2026-11-21 12:00:00", "2026-11-21T13:00:00.000+01:00", 1795262400000])
def test_times_are_iso_8601_or_epoch_milliseconds(spark, time):
    [row] = decoded(spark, query("json", "metric_event"), json.dumps(EVENT | {"Timestamp": time}).encode())
    assert (row.Error, row.Row.Timestamp) == (None, CAME)


def test_a_wall_clocks_time_has_no_offset(spark):
    columns = StructType().add("At", "timestamp_ntz")
    texts = ["2026-11-21T12:00:00", "2026-11-21T12:00:00Z", "2026-11-21"]
    frame = spark.createDataFrame([(bytearray(json.dumps({"At": each}).encode()),) for each in texts], "Bytes binary")
    read = frame.select("Bytes", text.decode_json("Bytes", columns).alias("v"))
    found = read.select(text.json_fields(F.col("v"), columns)["At"], text.json_reason("Bytes", F.col("v"), columns)).collect()
    wrong = "value is not a JSON object with the contract's types"
    assert [tuple(row) for row in found] == [(CAME, None), (None, wrong), (dt.datetime(2026, 11, 21), None)]


NO_OBJECT = "value is not a JSON object with the contract's types"
NO_JSON = [
    (b"{", NO_OBJECT),
    (b"[1]", NO_OBJECT),
    (b"", NO_OBJECT),
    (b"null", NO_OBJECT),
    (json.dumps(EVENT).encode() + b"\n" + json.dumps(EVENT).encode(), NO_OBJECT),
    (json.dumps(EVENT | {"Value": "much"}).encode(), NO_OBJECT),
    (json.dumps(EVENT | {"Timestamp": "12:00"}).encode(), NO_OBJECT),
    (json.dumps(EVENT | {"Timestamp": 10**15}).encode(), NO_OBJECT),
    (json.dumps({"Id": "e"}).encode(), "the contract wants a value: Timestamp, Value"),
    (b'{"Id": "\xff"}', "value is not UTF-8 text"),
    (None, "no value (tombstone) where a record belongs"),
]


def test_what_is_no_such_json_says_why_and_keeps_its_bytes(spark):
    found = decoded(spark, query("json", "metric_event"), *(value for value, _ in NO_JSON))
    assert [(row.Bytes, row.Error, row.Row) for row in found] == [(value, reason, None) for value, reason in NO_JSON]


MORE = ("}", "}}", "]", "]}", ', "x": 1', ', "x": {}', ', "value": {}', ", 1", ", {}", ",", " 1", " {}", "]}{")


def test_an_object_and_more_is_not_an_object(spark):
    event = json.dumps(EVENT)
    values = [value.encode() for more in MORE for value in (f"{event}{more}", f"{more}{event}")]
    found = decoded(spark, query("json", "metric_event"), *values)
    assert [(row.Bytes, row.Error, row.Row) for row in found] == [(value, NO_OBJECT, None) for value in values]


@pytest.mark.parametrize("text", ["{event}\n", " \t{event}  ", '{{"More": [{{"a": [1, "]"]}}, "}}"], "Value": NaN, {rest}'])
def test_space_around_an_object_and_what_the_contract_leaves_out_are_no_mistakes(spark, text):
    event = json.dumps(EVENT)
    [row] = decoded(spark, query("json", "metric_event"), text.format(event=event, rest=event[1:]).encode())
    assert (row.Error, row.Row.Id) == (None, "e")


def test_text_is_read_line_by_line(spark):
    good, bad = decoded(spark, query("text", None), "GET /ä".encode(), b"\xff")
    assert (good.Row.Line, good.Error) == ("GET /ä", None)
    assert (bad.Row, bad.Error) == (None, "value is not UTF-8 text")


def test_a_result_is_written_as_json_and_what_the_contract_does_not_allow_is_not(spark):
    made = query("text", None, encoding="json")
    frame = spark.createDataFrame([(bytearray(b"k"), bytearray(b"abc"), 0, 0, CAME)], KAFKA)
    [record] = query_records.records(made, {"events": query_records.decode(frame, made.inputs["events"], {})}, {}).collect()
    assert (record.topic, bytes(record.key)) == ("out", b"k")
    assert json.loads(bytes(record.value)) == {"Id": "abc", "Timestamp": "2026-11-21T12:00:00.000Z", "Value": 3.0}


@pytest.mark.parametrize(("encoding", "record"), [("text", "metric_event"), ("json", None), ("avro", None)])
def test_only_text_has_no_contract(encoding, record):
    with pytest.raises((ValueError, DeclarationError), match="only encoding: text and access-log have none"):
        query(encoding, record)
