"""A query's rows: Kafka records in, each with its time or a reason, and the result's rows out under their keys."""

import datetime as dt
import hashlib
import io
import json
from dataclasses import replace

import fastavro
import pytest
from pyspark.errors import PySparkException

from contracts import avro
from contracts.declarations import SCHEMAS
from contracts.queries import Query
from jobs.errors import JobError
from jobs.formats import query_records, wire
from jobs.formats.wire import Writers

KAFKA = "key binary, value binary, partition int, offset long, timestamp timestamp"
CAME = dt.datetime(2026, 11, 21, 12)
PICKUP = dt.datetime(2020, 7, 1, 0, 25, 32)
EVENT = {"time": "event", "timestamp": "to_utc_timestamp(tpep_pickup_datetime, 'America/New_York')"}
RIDE = json.loads((SCHEMAS / "examples/taxi_ride/first-of-the-sample.pass.json").read_text())["record"]
V2 = avro.latest("taxi_ride") | {
    "fields": [*avro.latest("taxi_ride")["fields"], {"name": "app", "type": "string", "default": ""}]
}
WRITERS = {
    "rides-value": Writers("rides-value", ((7, json.dumps(avro.latest("taxi_ride"))), (8, json.dumps(V2))), refused=None),
    "rides-key": Writers("rides-key", ((9, json.dumps(avro.latest("taxi_ride_key"))),), refused=None),
}
IDS = {"low": 11, "high": 12}
LOW = {"topic": "low", "record": "taxi_ride", "key": "cast(VendorID as string)", "when": "total_amount < 40"}
HIGH = LOW | {"topic": "high", "when": "total_amount >= 40"}


def wired(schema: dict, schema_id: int, value: dict) -> bytearray:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return bytearray(avro.HEADER.pack(avro.MAGIC, schema_id) + out.getvalue())


def ride(schema=None, schema_id=7, **overrides) -> bytearray:
    return wired(schema or avro.latest("taxi_ride"), schema_id, RIDE | overrides)


def vendor(number: int = 1) -> bytearray:
    return wired(avro.latest("taxi_ride_key"), 9, {"VendorID": number})


def query(outputs=(LOW, HIGH), sql="SELECT * FROM rides", tables=None, **source) -> Query:
    declared = {"topic": "rides", "record": "taxi_ride", "key": {"column": "RideKey", "record": "taxi_ride_key"}} | source
    inputs = {"rides": declared} | (tables or {})
    return Query(name="split", description="of the test", inputs=inputs, sql=sql, outputs=outputs, mode="update")


def decoded(spark, made: Query, *records: tuple, writers=WRITERS):
    numbered = [(key, value, 0, offset, CAME) for offset, (key, value) in enumerate(records)]
    return query_records.decode(spark.createDataFrame(numbered, KAFKA), made.inputs["rides"], writers)


def written(spark, made: Query, *records: tuple) -> list:
    return query_records.records(made, {"rides": decoded(spark, made, *records)}, IDS).collect()


def test_a_row_has_the_fields_of_its_contract_its_key_and_its_event_time(spark):
    made = query(**EVENT)
    first, second = decoded(spark, made, (vendor(), ride()), (vendor(), ride(V2, 8, VendorID=2, app="x"))).collect()
    assert (first.Error, second.Error) == (None, None)
    assert list(first.Row.asDict()) == [*RIDE, "RideKey", "RowTime", "RowOffset"]
    assert first.Row.tpep_pickup_datetime == PICKUP
    assert (first.Row.total_amount, first.Row.RideKey.VendorID) == (9.3, 1)
    assert first.Row.RowTime == PICKUP + dt.timedelta(hours=4)  # New York's summer time
    assert (second.Row.VendorID, first.Row.RowOffset, second.Row.RowOffset) == (2, 0, 1)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({}, None),
        ({"most_behind": "2335 days"}, None),
        (
            {"most_behind": "2334 days"},
            "RowTime 2020-07-01 04:25:32 is more than 2334 days behind the broker's clock (most_behind)",
        ),
    ],
)
def test_an_event_may_be_as_old_as_the_input_declares(spark, limits, reason):
    (row,) = decoded(spark, query(**EVENT, **limits), (vendor(), ride())).collect()
    assert (row.Error, row.Row is None) == (reason, reason is not None)


def test_an_event_ahead_of_the_clock_of_the_broker_is_none_and_so_moves_no_watermark(spark):
    at = CAME + dt.timedelta(hours=1)
    timed = EVENT | {"timestamp": "tpep_pickup_datetime"}
    rides = [ride(tpep_pickup_datetime=at.replace(tzinfo=None)), ride(tpep_pickup_datetime=at + dt.timedelta(milliseconds=1))]
    for made in (query(**timed), query(**timed, lateness="1 minute")):
        ahead, beyond = decoded(spark, made, *((vendor(), each) for each in rides)).collect()
        assert (ahead.Error, ahead.Row.RowTime) == (None, at)
        reason = "RowTime 2026-11-21 13:00:00.001 is more than 1 hour ahead of the broker's clock (most_ahead)"
        assert (beyond.Error, beyond.Row, bytes(beyond.Bytes)) == (reason, None, bytes(rides[1]))


def test_the_time_of_a_row_that_is_no_events_may_be_any(spark):
    """By the broker's own clock, and by that of the batch."""
    for source in ({}, {"time": "processing"}):
        (row,) = decoded(spark, query(**source, most_ahead="0 days", most_behind="0 days"), (vendor(), ride())).collect()
        assert row.Error is None


def test_a_record_that_is_not_valid_says_which_condition_it_breaks(spark):
    made = query(valid="total_amount > 0 AND VendorID < 9")
    good, bad, unknown = decoded(
        spark,
        made,
        (vendor(), ride()),
        (vendor(), ride(total_amount=-1.0)),
        (vendor(), ride(total_amount=float("nan"), VendorID=9)),
    ).collect()
    assert (good.Error, good.Row is None) == (None, False)
    assert {bad.Error, unknown.Error} == {"not valid: total_amount > 0 AND VendorID < 9"}
    assert (bad.Row, unknown.Row) == (None, None)


def test_a_record_without_a_value_deletes_from_a_table_and_a_bad_one_does_not(spark):
    """Its time is the broker's, as it has no field that tells another."""
    made = query(**EVENT, **{"as": "table"}, valid="total_amount > 0")
    records = [(vendor(), ride()), (vendor(2), None), (vendor(3), ride()[:9]), (None, None)]
    row, deleted, bad, keyless = decoded(spark, made, *records).collect()
    assert (row.Row.RowDeleted, row.Row.RowTime) == (False, PICKUP + dt.timedelta(hours=4))
    assert (deleted.Error, deleted.Row.RowDeleted, deleted.Row.RowTime, deleted.Row.RowOffset) == (None, True, CAME, 1)
    assert (deleted.Row.RideKey.VendorID, deleted.Row.VendorID, deleted.Row.total_amount) == (2, None, None)
    assert (bad.Error, keyless.Error) == ("value is not Avro of the schema that its header names", "no key")


def test_a_table_that_a_stream_is_joined_with_is_its_last_rows_and_its_bad_records_are_kept_once(spark):
    """What it holds is read with each batch; what comes, and may be bad, only once."""
    table = {"topic": "vendors", "as": "table", "record": "taxi_vendor", "key": {"column": "Vendor"}}
    by_key = "SELECT rides.* FROM rides JOIN vendors ON Vendor = CAST(rides.VendorID AS STRING)"
    made = query(sql=by_key, tables={"vendors": table})
    writers = {"vendors-value": Writers("vendors-value", ((7, json.dumps(avro.latest("taxi_vendor"))),), refused=None)}

    def came(*records: tuple):
        numbered = [(bytearray(key), value, 0, offset, CAME) for offset, (key, value) in enumerate(records)]
        return query_records.decode(spark.createDataFrame(numbered, KAFKA), made.inputs["vendors"], writers)

    def named(number: int) -> bytearray:
        return wired(avro.latest("taxi_vendor"), 7, {"VendorID": number, "Name": "A"})

    held = came((b"1", named(1)), (b"1", b"bad"), (b"2", named(2)), (b"2", None), (b"3", named(1)), (b"3", named(3)))
    rides = decoded(spark, made, (vendor(1), ride()), (vendor(2), ride(VendorID=2)), (vendor(3), ride(VendorID=3)))
    found = query_records.records(made, {"rides": rides, "vendors": came((b"9", b"worse"))}, IDS, {"vendors": held}).collect()
    assert {(row.topic, bytes(row.key)) for row in found} == {
        ("low", b"1"),
        ("low", b"3"),
        ("vendors.dead-letter", b"vendors-0-0"),
    }
    assert [bytes(row.value) for row in found if row.topic == "vendors.dead-letter"] == [b"worse"]


def test_broker_time_is_kafkas_own_and_a_key_without_a_contract_is_text(spark):
    (row,) = decoded(spark, query(time="broker", key={"column": "Vendor"}), (bytearray(b"one"), ride())).collect()
    assert (row.Row.RowTime, row.Row.Vendor) == (CAME, "one")


def test_processing_time_is_the_batches_clock(spark):
    before = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    (row,) = decoded(spark, query(time="processing"), (vendor(), ride())).collect()
    assert before <= row.Row.RowTime <= dt.datetime.now(dt.UTC).replace(tzinfo=None)


NO_TIME = {"time": "event", "timestamp": "if(VendorID = 1, null, tpep_pickup_datetime)"}


@pytest.mark.parametrize(
    ("source", "no_rows"),
    [
        (
            {},
            [
                (vendor(), None, "no value (tombstone) where a record belongs"),
                (vendor(), ride()[:9], "value is not Avro of the schema that its header names"),
                (vendor(), ride(schema_id=99), "unknown schema id 99"),
                (None, ride(), "no key"),
                (vendor()[:4], ride(), "key too short for the Confluent wire format"),
                (vendor()[:5], ride(), "key too short for the Confluent wire format"),
            ],
        ),
        (
            {"key": {"column": "Vendor"}},
            [(bytearray(b"\xff"), ride(), "key is not UTF-8 text"), (None, ride(), "no key")],
        ),
        (NO_TIME, [(vendor(), ride(), "no event time")]),
    ],
)
def test_a_record_that_is_no_row_is_dead_lettered_with_its_bytes(spark, source, no_rows):
    made = query(**source)
    good = vendor(2) if made.inputs["rides"].key.record else bytearray(b"two")
    records = [(key, value) for key, value, _ in no_rows]
    found = written(spark, made, *records, (good, ride(VendorID=2)))
    assert [bytes(row.key) for row in found if row.topic == "low"] == [b"2"]
    dead = {bytes(row.key): row for row in found if row.topic == "rides.dead-letter"}
    assert len(found) == 1 + len(dead)
    assert sorted(dead) == [b"rides-0-%d" % offset for offset in range(len(no_rows))]
    for offset, (key, value, reason) in enumerate(no_rows):
        letter = dead[b"rides-0-%d" % offset]
        said = {header.key: header.value and bytes(header.value) for header in letter.headers}
        assert letter.value == value
        assert said == {
            "reason": reason.encode(),
            "topic": b"rides",
            "partition": b"0",
            "offset": b"%d" % offset,
            "key": key and bytes(key),
        }


def test_a_record_that_another_reader_dead_letters_is_left_out(spark):
    found = written(spark, query(dead_letters=False), (vendor(), ride()[:9]), (vendor(2), ride(VendorID=2)))
    assert [(row.topic, bytes(row.key)) for row in found] == [("low", b"2")]


def test_each_row_goes_where_its_condition_holds(spark):
    found = written(spark, query(), (vendor(), ride()), (vendor(), ride(total_amount=40.0)), (vendor(), ride(total_amount=-3.0)))
    assert [row.topic for row in found] == ["low", "high", "low"]
    assert [bytes(row.value[:5]) for row in found[:2]] == [avro.HEADER.pack(0, 11), avro.HEADER.pack(0, 12)]
    read = fastavro.schemaless_reader(io.BytesIO(found[1].value[5:]), avro.parsed("taxi_ride"))
    assert (read["total_amount"], read["tpep_pickup_datetime"]) == (40.0, PICKUP)


def test_a_row_that_deletes_is_a_tombstone_whatever_it_holds(spark):
    sql = "SELECT * EXCEPT (extra), if(extra > 1, null, extra) AS extra, if(extra = 3, null, 'k') AS Id FROM rides"
    made = query(outputs=[LOW | {"key": "Id", "delete": "extra IS NULL"}], sql=sql)
    good, tombstone, keyless = written(spark, made, *[(vendor(), ride(extra=extra)) for extra in (0.5, 2.0, 3.0)])
    assert [(row.topic, row.value is None) for row in (good, tombstone)] == [("low", False), ("low", True)]
    assert bytes(tombstone.key) == b"k"
    assert (keyless.topic, bytes(keyless.headers[0].value)) == ("low.dead-letter", b"no key")


def test_a_row_that_is_too_large_for_a_record_is_a_dead_letter_with_its_beginning(spark):
    """As large as it may be; larger by its key; and too large, as JSON as well."""
    keys = "repeat('k', CASE extra WHEN 0.5 THEN 1000000 - length(store_and_fwd_flag) - {rest} ELSE 1000001 END)"
    text = {0.5: "N", 2.0: "N", 3.0: "ü" * 500_000}
    rides = {extra: ride(extra=extra, store_and_fwd_flag=flag) for extra, flag in text.items()}
    sizes = {extra: len(value) for extra, value in rides.items()}
    sql = f"SELECT *, {keys.format(rest=sizes[0.5] - 1)} AS Id FROM rides"
    made = query(outputs=[LOW | {"key": "if(extra = 3, 'k', Id)"}], sql=sql)
    good, long_key, long_text = written(spark, made, *((vendor(), each) for each in rides.values()))
    assert (good.topic, len(good.key) + len(good.value)) == ("low", 1_000_000)
    key = b"split|" + b"k" * 1000 + b"|" + hashlib.sha256(b"k" * 1_000_001).hexdigest().encode()
    assert (long_key.topic, bytes(long_key.key)) == ("low.dead-letter", key)
    said = [{header.key: bytes(header.value).decode() for header in row.headers} for row in (long_key, long_text)]
    assert said[0]["reason"] == f"record of {1_000_001 + sizes[2.0]} bytes; it may have 1,000,000"
    assert said[1]["reason"] == f"record of {1 + sizes[3.0]} bytes; it may have 1,000,000"
    assert (long_text.topic, bytes(long_text.key)) == ("low.dead-letter", b"split|k")
    for letter, headers in zip((long_key, long_text), said, strict=True):
        assert (len(letter.value), letter.value[:12]) == (1000, b'{"VendorID":')
        assert int(headers["value-bytes"]) > 1_000_000
        assert len(headers["value-sha256"]) == 64


def test_a_row_that_its_contract_does_not_allow_is_a_dead_letter_of_the_output(spark):
    sql = "SELECT * EXCEPT (extra), if(extra > 1, null, extra) AS extra, if(extra = 3, null, 'k') AS Id FROM rides"
    made = query(outputs=[LOW | {"key": "Id"}], sql=sql)
    records = [(vendor(), ride(extra=extra)) for extra in (0.5, 2.0, 3.0)]
    good, null, keyless = written(spark, made, *records)
    assert [row.topic for row in (good, null, keyless)] == ["low", "low.dead-letter", "low.dead-letter"]
    assert {header.key: bytes(header.value) for header in null.headers} == {
        "reason": b"null where taxi_ride wants a value: extra",
        "query": b"split",
    }
    assert json.loads(null.value)["total_amount"] == 9.3
    assert (bytes(null.key), bytes(keyless.headers[0].value)) == (b"split|k", b"no key")


def test_a_result_that_is_not_as_its_contract_is_refused_before_it_runs(spark):
    sql = "SELECT * EXCEPT (extra, VendorID), cast(VendorID as string) AS VendorID FROM rides"
    with pytest.raises(JobError) as error:
        written(spark, query(sql=sql), (vendor(), ride()))
    assert str(error.value) == (
        "query split: the result is no taxi_ride for low: VendorID is string, must be int; extra is missing, must be double"
    )


def test_an_id_that_was_never_asked_for_stops_the_query_and_names_its_subject(spark):
    writers = {name: replace(each, refused=frozenset()) for name, each in WRITERS.items()}
    strange = wired(avro.latest("taxi_ride_key"), 99, {"VendorID": 1})
    with pytest.raises(PySparkException) as failure:
        decoded(spark, query(), (strange, ride()), writers=writers).collect()
    assert wire.unknown_schema(failure.value) == ("rides-key", 99)
