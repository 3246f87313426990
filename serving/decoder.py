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
        self._unknown: dict[int, float] = {}

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
        if time.monotonic() - self._unknown.get(schema_id, float("-inf")) < UNKNOWN_FOR_SECONDS:
            raise Undecodable(f"schema id {schema_id} is not in the registry")
        try:
            self._registry.get_schema(schema_id)
        except SchemaRegistryError as error:
            if error.http_status_code != httpx2.codes.NOT_FOUND:
                raise RegistryUnavailable(f"HTTP {error.http_status_code} for schema id {schema_id}") from error
            if len(self._unknown) >= MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown[schema_id] = time.monotonic()
            raise Undecodable(f"schema id {schema_id} is not in the registry") from error
        except Exception as error:  # no answer, or one that no registry gives
            raise RegistryUnavailable(f"{type(error).__name__} at {self._host}: {error}") from error


def _schema_id(value: bytes) -> int:
    """From the header. The deserializer would also take a header with a GUID, which nothing here writes."""
    if len(value) < avro.HEADER.size:
        raise Undecodable(f"{len(value)} bytes are too few for a schema id")
    magic, schema_id = avro.HEADER.unpack_from(value)
    if magic != avro.MAGIC:
        raise Undecodable(f"magic byte is {magic}, not {avro.MAGIC}")
    return schema_id
