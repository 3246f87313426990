"""Bytes to values where telling them apart is hard: a contract of which every field may be null."""

import json

from pyspark.sql import functions as F

from contracts import avro
from jobs.formats import wire
from jobs.formats.wire import Writers
from tests.jobs.examples import wired

NULLABLE = {"type": "record", "name": "note", "fields": [{"name": "Text", "type": ["null", "string"], "default": None}]}


def test_a_value_of_nulls_is_told_from_bytes_that_are_no_value(spark, monkeypatch):
    monkeypatch.setattr(avro, "latest", lambda record: NULLABLE)
    writers = Writers("notes-value", ((1, json.dumps(NULLABLE)),))
    payloads = [wired("note", {"Text": None}), wired("note", {"Text": "x"}), wired("note", {"Text": "x"})[:6]]
    given = spark.createDataFrame([(bytearray(payload),) for payload in payloads], "Bytes binary").coalesce(1)
    read = given.select("*", wire.decode("Bytes", "note", writers).alias("Note"))
    found = read.select(F.col("Note.Text"), wire.reason("Bytes", F.col("Note"), "note", writers).alias("Reason")).collect()
    assert [tuple(row) for row in found] == [
        (None, None),
        ("x", None),
        (None, "value is not Avro of the schema that its header names"),
    ]
