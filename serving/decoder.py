"""Records of the topics that are shown, from Avro to plain dicts, by the writer's schema from the registry."""

import io
import json
import time
from typing import NamedTuple, cast

import httpx2
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from fastavro import parse_schema, schemaless_reader
from fastavro.types import Schema

from contracts import avro

UNKNOWN_FOR_SECONDS = 30.0  # how long the registry is not asked again for an id that it does not know
MOST_UNKNOWN = 1000  # ids that are remembered as such
REFUSED_FOR_SECONDS = 60.0  # how long the registry is asked for an id that it refuses, before the id counts as unknown
PASSING = (401, 407, 408, 425, 429)  # answers below 500 that say nothing of the id: a login, a limit, a moment


class Undecodable(ValueError):
    """The bytes are no record of the expected kind; the message says why."""


class RegistryUnavailable(RuntimeError):
    """The registry did not answer: the record may be fine, so try again."""


class _Schemas(NamedTuple):
    """reader: None where it is the writer's."""

    writer: Schema
    reader: Schema | None


class Decoder:
    """Decodes values of one registry with fastavro. It fetches each schema once, as an id's never changes.

    Confluent's deserializer uses fastavro, too. But it also prepares rules for each record, which nothing here has: with it, a
    record takes more than twice as long.
    """

    def __init__(self, registry: str):
        self._host = httpx2.URL(registry).host
        self._registry = SchemaRegistryClient({"url": registry, "timeout": 5, "max.retries": 0})  # the caller tries again
        self._schemas: dict[tuple[int, str, int | None], _Schemas] = {}  # by id and by what they read
        self._unknown: dict[int, tuple[float, str]] = {}  # since when, and why
        self._refused: dict[int, float] = {}  # since when

    def decode(self, value: bytes, record: str, version: int | None = None) -> dict:
        """The value as a record of that version of a contract, or the newest. Raises Undecodable or RegistryUnavailable."""
        schema_id = _schema_id(value)
        known = self._schemas.get((schema_id, record, version))
        text = "" if known else self._fetched(schema_id)
        try:
            schemas = known or self._parsed(text, schema_id, record, version)
            return cast("dict", schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), schemas.writer, schemas.reader))
        except Exception as error:  # the Avro reader raises whatever schema and bytes lead it into: EOFError, IndexError, ...
            raise Undecodable(f"not a {record} by schema id {schema_id}: {type(error).__name__}: {error}") from error

    def _parsed(self, text: str, schema_id: int, record: str, version: int | None) -> _Schemas:
        writer, reader = json.loads(text), avro.schema(record, version)
        made = _Schemas(parse_schema(writer), None if writer == reader else parse_schema(reader))
        self._schemas[schema_id, record, version] = made
        return made

    def _fetched(self, schema_id: int) -> str:
        """The schema, from the registry: what fails here is the registry, and what fails later is the record."""
        since, why = self._unknown.get(schema_id, (float("-inf"), ""))
        if time.monotonic() - since < UNKNOWN_FOR_SECONDS:
            raise Undecodable(why)
        try:
            found = self._registry.get_schema(schema_id)
            self._refused.pop(schema_id, None)
            return found.schema_str or ""
        except SchemaRegistryError as error:
            why = self._why_unknown(schema_id, error.http_status_code)
            if len(self._unknown) >= MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown[schema_id] = time.monotonic(), why
            raise Undecodable(why) from error
        except Exception as error:  # no answer, or one that no registry gives
            raise RegistryUnavailable(f"{type(error).__name__} at {self._host}: {error}") from error

    def _why_unknown(self, schema_id: int, code: int) -> str:
        """Raises RegistryUnavailable where the registry may answer otherwise soon."""
        if code == httpx2.codes.NOT_FOUND:
            return f"schema id {schema_id} is not in the registry"
        if 400 <= code < 500 and code not in PASSING:
            if len(self._refused) >= MOST_UNKNOWN:
                self._refused.clear()
            if time.monotonic() - self._refused.setdefault(schema_id, time.monotonic()) >= REFUSED_FOR_SECONDS:
                return f"the registry refuses schema id {schema_id}: HTTP {code}"
        raise RegistryUnavailable(f"HTTP {code} for schema id {schema_id}")


def _schema_id(value: bytes) -> int:
    """From the header. The deserializer would also take a header with a GUID, which nothing here writes."""
    if len(value) < avro.HEADER.size:
        raise Undecodable(f"{len(value)} bytes are too few for a schema id")
    magic, schema_id = avro.HEADER.unpack_from(value)
    if magic != avro.MAGIC:
        raise Undecodable(f"magic byte is {magic}, not {avro.MAGIC}")
    return schema_id
