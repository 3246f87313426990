"""Records of the topics that are shown, from Avro to plain dicts, by the writer's schema from the registry."""

import json
import time
from typing import cast

import httpx2
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError

from contracts import avro

UNKNOWN_FOR_SECONDS = 30.0  # how long the registry is not asked again for an id that it does not know
MOST_UNKNOWN = 1000  # ids that are remembered as such
REFUSED_FOR_SECONDS = 60.0  # how long the registry is asked for an id that it refuses, before the id counts as unknown
PASSING = (401, 407, 408, 425, 429)  # answers below 500 that say nothing of the id: a login, a limit, a moment


class Undecodable(ValueError):
    """The bytes are no record of the expected kind; the message says why."""


class RegistryUnavailable(RuntimeError):
    """The registry did not answer: the record may be fine, so try again."""


class Decoder:
    """Decodes values of one registry. Confluent's deserializer does it; it fetches each schema once, as an id's never changes."""

    def __init__(self, registry: str):
        self._host = httpx2.URL(registry).host
        self._registry = SchemaRegistryClient({"url": registry, "timeout": 5, "max.retries": 0})  # the caller tries again
        self._deserializers: dict[tuple[str, int | None], AvroDeserializer] = {}  # by what they read, as it was when first asked
        self._unknown: dict[int, tuple[float, str]] = {}  # since when, and why
        self._refused: dict[int, float] = {}  # since when

    def decode(self, value: bytes, record: str, version: int | None = None) -> dict:
        """The value as a record of that version of a contract, or the newest. Raises Undecodable or RegistryUnavailable."""
        schema_id = _schema_id(value)
        self._fetch(schema_id)
        try:
            return cast("dict", self._deserializer(record, version)(value))
        except Exception as error:  # the Avro reader raises whatever schema and bytes lead it into: EOFError, IndexError, ...
            raise Undecodable(f"not a {record} by schema id {schema_id}: {type(error).__name__}: {error}") from error

    def _deserializer(self, record: str, version: int | None) -> AvroDeserializer:
        if (record, version) not in self._deserializers:
            self._deserializers[record, version] = AvroDeserializer(self._registry, json.dumps(avro.schema(record, version)))
        return self._deserializers[record, version]

    def _fetch(self, schema_id: int) -> None:
        """Have the registry's client know the schema: what fails here is the registry, and what fails later is the record."""
        since, why = self._unknown.get(schema_id, (float("-inf"), ""))
        if time.monotonic() - since < UNKNOWN_FOR_SECONDS:
            raise Undecodable(why)
        try:
            self._registry.get_schema(schema_id)
            self._refused.pop(schema_id, None)
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
