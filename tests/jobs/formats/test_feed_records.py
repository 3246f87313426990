"""Kafka records to readings and back: schema ids, evolution, and a reason for each record that is no reading."""

import datetime as dt
import io
import json
from dataclasses import replace

import fastavro
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from contracts import avro
from contracts.feeds import load_feed
from jobs.formats import feed_records, wire
from jobs.formats.wire import Writers

FEED = load_feed("service-use")
AT = dt.datetime(2026, 11, 21, 11, 6, 40, tzinfo=dt.UTC)
V1 = avro.latest("service_use_record")
RAW = V1 | {"fields": [each | {"type": "long"} if each["name"] == "Timestamp" else each for each in V1["fields"]]}
V2 = V1 | {"fields": [{"name": "Region", "type": "string", "default": "eu"}, *V1["fields"]]}
WRITERS = Writers("service-use-value", ((7, json.dumps(V1)), (8, json.dumps(V2))), refused=None)
KAFKA = "key binary, value binary, partition int, offset long, timestamp timestamp"
TAKEN = AT.replace(tzinfo=None) + dt.timedelta(seconds=12)


def payload(schema=V1, schema_id=7, **overrides) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {"Timestamp": AT, "Value": 47, "Region": "us"} | overrides)
    return avro.HEADER.pack(avro.MAGIC, schema_id) + out.getvalue()


def decoded(spark, *records: tuple[bytes | None, bytes | None], refused=None):
    rows = [(key and bytearray(key), value and bytearray(value), 0, offset, TAKEN) for offset, (key, value) in enumerate(records)]
    return feed_records.decode(spark.createDataFrame(rows, KAFKA), FEED, replace(WRITERS, refused=refused))


def test_each_writer_schema_is_read_by_its_own_id(spark):
    found = decoded(spark, (b"www", payload()), (b"www", payload(V2, 8, Value=2**40))).collect()
    assert [(row.ServiceName, row.Timestamp, row.Value, row.Error) for row in found] == [
        ("www", AT.replace(tzinfo=None), 47, None),
        ("www", AT.replace(tzinfo=None), 2**40, None),
    ]


NO_READINGS = [
    (b"www", None, "no value (tombstone) where a record belongs"),
    (b"www", b"\x00\x00", "value too short for the Confluent wire format"),
    (b"www", b"\x01" + payload()[1:], "first byte is not the Confluent magic byte 0"),
    (b"www", payload(schema_id=99), "unknown schema id 99"),
    (b"www", payload()[:7], "value is not Avro of the schema that its header names"),
    (b"www", payload(Value=-3), "negative reading -3"),
    (None, payload(), "no service name in the record's key"),
    (b"", payload(), "no service name in the record's key"),
    (b"w" * 257, payload(), "service name of 257 bytes; the feed's longest_service is 256"),
    (("ü" * 129).encode(), payload(), "service name of 258 bytes; the feed's longest_service is 256"),
    (b"www\xff", payload(), "service name is not UTF-8 text"),
]


def test_a_record_that_is_no_reading_says_why_and_keeps_its_bytes(spark):
    records = [(key, value) for key, value, _ in NO_READINGS]
    *bad, good = decoded(spark, *records, (b"www", payload())).orderBy("KafkaOffset").collect()
    assert [(row.Key, row.Bytes, row.Error) for row in bad] == NO_READINGS
    assert (good.Error, good.Value) == (None, 47)


MS = dt.timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("days", "beyond", "reason"),
    [
        (14, MS, "Timestamp 2026-12-05 11:06:52.001 is more than 14 days ahead of the broker's clock (most_ahead)"),
        (-400, -MS, "Timestamp 2025-10-17 11:06:51.999 is more than 400 days behind the broker's clock (most_behind)"),
    ],
)
def test_a_reading_may_be_as_far_from_the_clock_of_the_broker_as_the_feed_declares_and_no_further(spark, days, beyond, reason):
    limit = TAKEN.replace(tzinfo=dt.UTC) + dt.timedelta(days=days)
    at_limit, over = decoded(spark, *((b"www", payload(Timestamp=each)) for each in (limit, limit + beyond))).collect()
    assert (at_limit.Error, at_limit.Timestamp) == (None, limit.replace(tzinfo=None))
    assert (over.Error, over.Bytes) == (reason, payload(Timestamp=limit + beyond))


def test_microseconds_sent_as_milliseconds_and_the_first_and_last_times_that_avro_knows_are_no_readings(spark):
    micros, seconds, ends = int(AT.timestamp() * 1_000_000), int(AT.timestamp()), (-(2**63), 2**63 - 1)
    rows = decoded(spark, *((b"www", payload(schema=RAW, Timestamp=each)) for each in (micros, seconds, *ends))).collect()
    assert [row.Error for row in rows] == [
        "Timestamp +58859-07-01 23:06:40 is more than 14 days ahead of the broker's clock (most_ahead)",
        "Timestamp 1970-01-21 18:40:59.2 is more than 400 days behind the broker's clock (most_behind)",
        "value is not Avro of the schema that its header names",
        "value is not Avro of the schema that its header names",
    ]


def test_an_id_that_was_never_asked_for_stops_the_query_with_that_id(spark):
    with pytest.raises(PySparkException) as failure:
        decoded(spark, (b"www", payload(schema_id=99)), refused=frozenset({5})).collect()
    assert wire.unknown_schema(failure.value) == ("service-use-value", 99)
    (row,) = decoded(spark, (b"www", payload(schema_id=99)), refused=frozenset({5, 99})).collect()
    assert row.Error == "unknown schema id 99"


def test_an_id_that_no_registry_can_give_is_refused_without_a_question(spark):
    (row,) = decoded(spark, (b"www", payload(schema_id=2**31)), refused=frozenset()).collect()
    assert row.Error == f"unknown schema id {2**31}"


def test_what_is_refused_is_neither_known_nor_new():
    some = Writers("calls-value", ((7, "{}"),), refused=frozenset({5, 7}))
    assert [some.refuses(each) for each in (5, 6, 7)] == [True, False, False]
    assert [replace(some, refused=None).refuses(each) for each in (5, 6, 7)] == [True, True, False]


def scored_row(spark, anomalous):
    columns = {
        "DayType": 6,
        "Slot": 2200,
        "Last4Avg": 50.0,
        "Expected": 50.0,
        "Spread": 2.0,
        "PredictedDiff": -3.0,
        "PredictedPct": 94.0,
        "Level": 51.5,
        "Scale": 7.5,
    }
    rows = decoded(spark, (b"www", payload()), (b"www", b"not Avro"))
    added = [F.lit(value).alias(name) for name, value in columns.items()]
    return rows.select("*", *added, F.lit(anomalous).alias("Anomalous"), F.lit(3).cast("long").alias("BaselineVersion"))


def test_each_row_goes_to_its_topics_the_anomaly_first_under_a_deterministic_key(spark):
    routed = feed_records.route(scored_row(spark, True), FEED, {"scored": 11, "anomaly": 12}).collect()
    key = f"www|{int(AT.timestamp() * 1000)}".encode()
    assert [(row.topic, bytes(row.key)) for row in routed] == [
        ("service-use.anomalies", key),
        ("service-use.scored", key),
        ("service-use.dead-letter", b"service-use-0-1"),
    ]
    assert [bytes(row.value[:5]) for row in routed[:2]] == [avro.HEADER.pack(0, 12), avro.HEADER.pack(0, 11)]
    anomaly = fastavro.schemaless_reader(io.BytesIO(routed[0].value[5:]), avro.parsed("anomaly"))
    assert anomaly == {
        "ServiceName": "www",
        "Timestamp": AT,
        "Value": 47,
        "Last4Avg": 50.0,
        "Expected": 50.0,
        "Spread": 2.0,
        "PredictedDiff": -3.0,
        "PredictedPct": 94.0,
        "BaselineVersion": 3,
        "Level": 51.5,
        "Scale": 7.5,
        "KafkaPartition": 0,
        "KafkaOffset": 0,
        "KafkaTimestamp": TAKEN.replace(tzinfo=dt.UTC),
    }
    dead = routed[2]
    assert bytes(dead.value) == b"not Avro"
    assert {header.key: bytes(header.value) for header in dead.headers} == {
        "reason": b"first byte is not the Confluent magic byte 0",
        "topic": b"service-use",
        "partition": b"0",
        "offset": b"1",
        "key": b"www",
    }


def test_a_normal_reading_is_no_anomaly_record(spark):
    routed = feed_records.route(scored_row(spark, False), FEED, {"scored": 11, "anomaly": 12}).collect()
    assert [row.topic for row in routed] == ["service-use.scored", "service-use.dead-letter"]
