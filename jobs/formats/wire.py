"""Avro in the Confluent wire format, as Columns: bytes to values with a reason for each that can't be read, and values to bytes.

What the values mean is in `feed_records` and `query_records`."""

import json
import re
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import cast

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.types import StructType

from contracts import avro

HEADER_BYTES = avro.HEADER.size
_UNKNOWN = "sundial-unknown-schema-id={} of {}"  # what a record's unknown schema id is raised as
MOST_ID = 2**31 - 1  # a registry counts its schemas with four bytes and a sign
_END = "_end"  # a field that only what was read has: the mark, which `decode` puts behind a value's bytes
# Avro stops reading at the end of the record. If that is not the end of the bytes, other bytes stand where the mark is looked
# for. As no two bytes of the mark are the same, these are not the mark.
_MARK = bytes.fromhex("9e37c4b15fe2d806")
_ALIKE = 4  # the code that `decode` becomes has room for a multiple of so many schemas: one more seldom changes it
_NEVER = "sundial: in no registry, {}"  # the doc of a schema that only takes up such room


@dataclass(frozen=True)
class Writers:
    """The schemas that the values of a subject may be written with, as known when a query was planned.

    schemas: (id, Avro JSON) as the registry gave them, ascending; each is resolved to the newest version in `schemas/`.
    refused: ids that the registry is known not to have for this subject; a value with one is not readable. Any other unknown id
      fails the query, so that the driver asks the registry and plans it again: see `unknown_schema`. None: refuse them all.
    """

    subject: str
    schemas: tuple[tuple[int, str], ...]
    refused: frozenset[int] | None = frozenset()

    def refuses(self, schema_id: int) -> bool:
        """Whether a value with this id is not readable, without another question to the registry."""
        return schema_id not in dict(self.schemas) and (self.refused is None or schema_id in self.refused)


def decode(payload: str, record: str, writers: Writers) -> Column:
    """The values of a binary column as structs of that record's newest contract, with one field more: see `whole`. Of a value
    that could not be read no field has a value; `reason` gives the cause.

    To be selected under a name of its own before it is taken apart, so that Spark decodes once. Plans with other schemas share
    the code that Spark generates, as binary constants and schemas are no part of it. So the JVM need not compile it again, which
    takes a second of CPU time while readings come.
    """
    reader = {"mode": "PERMISSIVE", "avroSchema": json.dumps(_ended(avro.latest(record)))}
    body = F.concat(F.substring(payload, HEADER_BYTES + 1, 1 << 30), F.lit(bytearray(_MARK)))
    value = F.lit(None)
    for header, schema in _places(record, writers):
        value = F.when(_header(payload) == header, from_avro(body, _written(schema), reader)).otherwise(value)
    return value


def whole(decoded: Column) -> Column:
    """Whether a value that went through `decode` was read, up to its last byte; null where it was not read at all."""
    return decoded[_END] == F.lit(bytearray(_MARK))


def fields(decoded: Column, record: str) -> dict[str, Column]:
    """The fields of the record's newest contract, of a value that went through `decode`."""
    return {field["name"]: decoded[field["name"]] for field in avro.latest(record)["fields"]}


def reason(payload: str, decoded: Column, record: str, writers: Writers, what: str = "value") -> Column:
    """Why a value that went through `decode` is none; null where it is one. `what`, "value" or "key", is for the words."""
    known = [header for header, _ in _places(record, writers)]
    text = _text_is_utf8(decoded, avro.latest(record))
    found = (
        F.when(F.col(payload).isNull(), "no value (tombstone) where a record belongs" if what == "value" else f"no {what}")
        .when(F.length(payload) <= HEADER_BYTES, f"{what} too short for the Confluent wire format")
        .when(F.substring(payload, 1, 1) != F.lit(bytearray([avro.MAGIC])), "first byte is not the Confluent magic byte 0")
        .when(~_header(payload).isin(known), _unknown_id(payload, writers))
        .when(decoded[_END].isNull(), f"{what} is not Avro of the schema that its header names")
        .when(~whole(decoded), f"{what} has more bytes behind the record")
    )
    return found if text is None else found.when(~text, f"{what} has text that is not UTF-8")


def encode(record: str, schema_id: int, version: int | None = None) -> Column:
    """A row whose columns are named as the fields of that record's contract, in the Confluent wire format (binary).

    version: of the contract, the newest if none is given; schema_id: what the registry calls it.
    """
    schema = avro.schema(record, version)
    fields = F.struct(*(F.col(field["name"]) for field in schema["fields"]))
    return F.concat(_header_of(schema_id), to_avro(fields, json.dumps(schema)))


def row_type(session: SparkSession, record: str, version: int | None = None) -> StructType:
    """The columns of a version of a record's contract (the newest if none is given), nullable where it allows null."""
    schema = json.dumps(avro.schema(record, version))
    row = session.range(0).select(from_avro(F.lit(None).cast("binary"), schema, {"mode": "FAILFAST"})).schema[0].dataType
    return cast(StructType, row)


def schema_id(payload: str) -> Column:
    """The schema id in the header of a value in the wire format (long)."""
    return F.conv(F.hex(F.substring(payload, 2, 4)), 16, 10).cast("long")


def unknown_schema(error: Exception | None) -> tuple[str, int] | None:
    """The subject and the id, if a query failed because of a schema id that it was not planned with."""
    found = re.search(re.escape(_UNKNOWN).replace(r"\{\}", r"([\w.-]+)"), str(error))
    return (found[2], int(found[1])) if found else None


def _written(schema: str) -> str:
    """A writer's schema as `decode` reads it; one that is no record's, which no contract can be read from, as it is."""
    parsed = json.loads(schema)
    return json.dumps(_ended(parsed)) if isinstance(parsed, dict) and parsed["type"] == "record" else schema


def _ended(schema: dict) -> dict:
    """A record's schema with the mark that `decode` puts behind its bytes as its last field."""
    mark = {"name": _END, "type": {"type": "fixed", "name": "sundial.End", "size": len(_MARK)}}
    return schema | {"fields": [*schema["fields"], mark]}


def _text_is_utf8(value: Column, avro_type) -> Column | None:
    """Whether all text within a value is UTF-8, which Spark does not ask of a string; None where no text can be."""
    if isinstance(avro_type, list):
        return _text_is_utf8(value, next(each for each in avro_type if each != "null"))
    kind = avro_type["type"] if isinstance(avro_type, dict) else avro_type
    if kind == "string":
        return F.coalesce(F.is_valid_utf8(value), F.lit(True))
    if kind == "record":
        found = (_text_is_utf8(value[field["name"]], field["type"]) for field in avro_type["fields"])
        return reduce(and_, texts) if (texts := [each for each in found if each is not None]) else None
    if kind == "array" and _text_is_utf8(value, avro_type["items"]) is not None:
        items = F.forall(value, lambda item: cast(Column, _text_is_utf8(item, avro_type["items"])))
        return F.coalesce(items, F.lit(True))
    return None


def _places(record: str, writers: Writers) -> list[tuple[Column, str]]:
    """Header and schema of each writer. Those that make up the number have headers that no value has, as they are too long."""
    known = [(_header_of(schema_id), schema) for schema_id, schema in writers.schemas]
    more = [
        (F.lit(bytearray([number] * (HEADER_BYTES + 1))), json.dumps(avro.latest(record) | {"doc": _NEVER.format(number)}))
        for number in range(-len(known) % _ALIKE)
    ]
    return more + known


def _header(payload: str) -> Column:
    return F.substring(payload, 1, HEADER_BYTES)


def _header_of(schema_id: int) -> Column:
    return F.lit(bytearray(avro.HEADER.pack(avro.MAGIC, schema_id)))


def _unknown_id(payload: str, writers: Writers) -> Column:
    found = schema_id(payload)
    refusal = F.concat(F.lit("unknown schema id "), found.cast("string"))
    if writers.refused is None:
        return refusal
    raised = F.raise_error(F.format_string(_UNKNOWN.replace("{}", "%s"), found, F.lit(writers.subject))).cast("string")
    refused = F.array_contains(F.array(*map(F.lit, sorted(writers.refused))).cast("array<long>"), found)
    return F.when((found > MOST_ID) | refused, refusal).otherwise(raised)
