"""What a query makes of examples: values of its inputs' contracts in, through the wire, those of its outputs' contracts out."""

import datetime as dt
import io
import json

import fastavro

from contracts import avro
from contracts.declarations import SCHEMAS
from contracts.queries import Query
from contracts.query_io import Input, Output
from jobs.formats import query_records
from jobs.formats.wire import Writers

KAFKA = "key binary, value binary, partition int, offset long, timestamp timestamp"
CAME = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


def example(record: str) -> dict:
    """The first of the contract's passing examples, with Python's times."""
    file = sorted((SCHEMAS / "examples" / record).glob("*.pass.json"))[0]
    return read(record, wired(record, json.loads(file.read_text())["record"]))


def wired(record: str, value: dict) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, avro.parsed(record), value)
    return avro.HEADER.pack(avro.MAGIC, 1) + out.getvalue()


def read(record: str, value: bytes, version: int | None = None) -> dict:
    schema = fastavro.parse_schema(avro.schema(record, version))
    return fastavro.schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), schema)


def written(spark, query: Query, **inputs: list[dict]) -> list[tuple[str, str, dict]]:
    """(topic, key, value) of all that the query writes of its inputs' values, which came one a second."""
    decoded = {alias: _decoded(spark, query.inputs[alias], values) for alias, values in inputs.items()}
    outputs = {each.topic: each for each in query.outputs}
    found = query_records.records(query, decoded, dict.fromkeys(outputs, 1)).collect()
    written = ((outputs[row.topic], row) for row in found)
    return [(row.topic, row.key.decode(), _value(output, bytes(row.value))) for output, row in written]


def _value(output: Output, value: bytes) -> dict:
    return json.loads(value) if output.encoding == "json" else read(output.record, value, output.version)


def _bytes(source: Input, value: dict) -> bytes:
    if source.encoding == "json":
        return json.dumps(value, default=dt.datetime.isoformat).encode()
    return wired(source.record, value)


def _decoded(spark, source: Input, values: list[dict]):
    key = bytearray(wired(source.key.record, example(source.key.record)) if source.key and source.key.record else b"key")
    came = [CAME + dt.timedelta(seconds=number) for number in range(len(values))]
    records = [(key, bytearray(_bytes(source, value)), 0, n, came[n]) for n, value in enumerate(values)]
    writers = {s: Writers(s, ((1, json.dumps(avro.latest(record))),)) for s, record in query_records.subjects(source).items()}
    return query_records.decode(spark.createDataFrame(records, KAFKA), source, writers)
