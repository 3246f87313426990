"""Any bytes through `wire.decode`, for every contract: the value that fastavro reads, or a reason with the bytes; no crash."""

import io
import json
import math
import re
import struct
from functools import cache
from typing import Any

import fastavro
import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType, StructType, TimestampNTZType, TimestampType

from contracts import avro
from contracts.declarations import SCHEMAS
from jobs.formats import dead_letters, wire
from jobs.formats.wire import Writers
from tests.support import hostile

RECORDS = sorted(folder.name for folder in (SCHEMAS / "avro").iterdir())
IN_EACH_RUN = ("service_use_record", "metric_summary", "taxi_ride")  # small, with arrays, with much that may be null
HUGE = [2**20, 2**31 - 9, 2**31 - 1, 2**31, 2**40, 2**62, -1, -(2**31), -(2**62), -(2**63)]
MILLIS = (2**63 - 1) // 1000  # the latest instant whose microseconds are a long
TIMES = ("timestamp-millis", "local-timestamp-millis")
# A number that no int holds, where one belongs, say in front of a union's value: Avro for Java takes its lowest 32 bits.
TOO_LONG_FOR_INT = re.compile(rb"[\x80-\xff]{4}[\x10-\xff]")


@cache
def writers(record: str) -> dict[int, dict]:
    """Every version of a contract, by a schema id."""
    return {avro.number(file): json.loads(file.read_text()) for file in avro.versions(record)}


def by_fastavro(value: bytes | None, record: str) -> tuple[dict | None, bool]:
    """What fastavro reads of a Kafka value, None where it can't; and whether it stands there as every Avro library writes it."""
    if value is None or len(value) < 5 or value[0] != 0 or (number := int.from_bytes(value[1:5])) not in writers(record):
        return None, False
    writer, reader = (hostile.parsed(json.dumps(each)) for each in (writers(record)[number], avro.latest(record)))
    body, again = io.BytesIO(value[5:]), io.BytesIO()
    try:
        sent = fastavro.schemaless_reader(body, writer)
        fastavro.schemaless_writer(again, writer, sent)
        if body.read():
            return None, False
        usual = again.getvalue() == value[5:]
        usual &= all(-(2**31) <= each < 2**31 for each in numbers(sent, hostile.plain(writers(record)[number]), "int"))
        return fastavro.schemaless_reader(io.BytesIO(value[5:]), writer, reader), usual
    except Exception:  # of many kinds
        return None, False


def expected(value: Any, schema: Any) -> Any:
    """A value of a plain schema as `comparable` and `received` give it."""
    if isinstance(schema, list):
        return None if value is None else expected(value, next(each for each in schema if each != "null"))
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {field["name"]: expected(value[field["name"]], field["type"]) for field in schema["fields"]}
    if kind == "array":
        return [expected(each, schema["items"]) for each in value]
    if isinstance(schema, dict) and schema.get("unit") in TIMES:
        return value * 1000
    return value.encode() if isinstance(value, str) else bits(value)


def comparable(column: Column, kind: DataType) -> Column:
    """A value as Python receives it unchanged: times as microseconds, text as its bytes."""
    if isinstance(kind, StructType):
        return F.struct(*(comparable(column[field.name], field.dataType).alias(field.name) for field in kind))
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda each: comparable(each, kind.elementType))
    if isinstance(kind, TimestampType | TimestampNTZType):
        return F.unix_micros(column.cast("timestamp"))
    return column.cast("binary") if isinstance(kind, StringType) else column


def received(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: received(each) for name, each in value.items()}
    if isinstance(value, list):
        return [received(each) for each in value]
    return bytes(value) if isinstance(value, bytearray) else bits(value)


def bits(value: Any) -> Any:
    """So that a number that is none equals itself, and zero is not minus zero."""
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else struct.pack(">d", value)


def numbers(value: Any, schema: Any, *kinds: str) -> list[int]:
    """All numbers of these types or units in a value of a plain schema."""
    if isinstance(schema, list):
        return [] if value is None else numbers(value, next(each for each in schema if each != "null"), *kinds)
    if not isinstance(schema, dict):
        return [value] if schema in kinds else []
    if schema["type"] == "record":
        return [number for each in schema["fields"] for number in numbers(value[each["name"]], each["type"], *kinds)]
    if schema["type"] == "array":
        return [number for each in value for number in numbers(each, schema["items"], *kinds)]
    return [value] if schema["type"] in kinds or schema.get("unit") in kinds else []


def corpus(record: str) -> list[bytes | None]:
    found: list[bytes | None] = [None, b"", b"\0", b"\0\0\0\0\1", b"\1\0\0\0\1x", avro.HEADER.pack(0, 2**32 - 1) + b"x"]
    for number, schema in writers(record).items():
        good = hostile.written(schema, hostile.smallest(schema))
        header = avro.HEADER.pack(avro.MAGIC, number)
        found += [header + good[:at] + hostile.varint(length) for at in range(len(good) + 1) for length in HUGE]
        found += hostile.drawn(hostile.payloads(schema, number))
        # Bytes behind a record: one, another record, and those with which `decode` marks the end, whole and in part.
        found += [header + good + more for more in (b"\0", good, *(wire._MARK[:n] for n in range(1, 8)), wire._MARK[1:])]
    return found


@pytest.mark.parametrize(
    "record", [pytest.param(each, marks=() if each in IN_EACH_RUN else pytest.mark.full) for each in RECORDS]
)
def test_a_value_is_what_fastavro_reads_or_there_is_a_reason_and_the_bytes(spark, record):
    known = Writers(f"{record}-value", tuple((n, json.dumps(each)) for n, each in writers(record).items()), refused=None)
    sent, kind = corpus(record), wire.row_type(spark, record)
    rows = [(b"k", None if value is None else bytearray(value), 3, number) for number, value in enumerate(sent)]
    given = spark.createDataFrame(rows, "Key binary, Bytes binary, KafkaPartition int, KafkaOffset long").coalesce(1)
    read = given.select("*", wire.decode("Bytes", record, known).alias("Value"))
    judged = read.withColumn("Error", wire.reason("Bytes", F.col("Value"), record, known))
    letter = F.struct(*dead_letters.letter("some-topic")).alias("Letter")
    found = judged.select("Error", comparable(F.col("Value"), kind).alias("Value"), letter).collect()
    assert len(found) == len(sent)
    good = 0
    for value, row in zip(sent, found, strict=True):
        oracle, usual = by_fastavro(value, record)
        schema = hostile.plain(avro.latest(record))
        if row.Error is None:
            assert oracle is not None or TOO_LONG_FOR_INT.search(value), f"{value!r} was read as {row.Value}"
            assert not usual or received(row.Value.asDict(recursive=True)) == expected(oracle, schema), value
            good += usual
        else:
            assert not usual or any(abs(each) > MILLIS for each in numbers(oracle, schema, *TIMES)), f"{value!r}: {row.Error}"
            assert row.Letter.value == value
            assert {header.key: header.value for header in row.Letter.headers}["reason"] == row.Error.encode()
    assert 0 < good < len(sent), "the corpus has both kinds"
