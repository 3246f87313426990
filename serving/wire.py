"""Records of the derived topics: Confluent wire format to plain dicts, by the writer's schema from the registry."""

import io
import json
import time

import fastavro
import httpx
from fastavro.types import Schema

from contracts import avro

UNKNOWN_FOR_SECONDS = 30.0  # how long an id that the registry does not know is not asked for again


class Undecodable(ValueError):
    """The bytes are no record of the expected kind; the message says why."""


class RegistryUnavailable(RuntimeError):
    """The registry did not answer: the record may be fine, so try again."""


class Decoder:
    """Decodes values of one registry; schemas are fetched once per id, since an id's schema never changes."""

    def __init__(self, registry: str):
        self._client = httpx.Client(base_url=registry, timeout=5)
        self._writers: dict[int, Schema] = {}
        self._unknown: dict[int, float] = {}
        self._readers = {record: avro.parsed(record) for record in ("scored", "anomaly")}

    def decode(self, value: bytes, record: str) -> dict:
        """The value as a record of the newest schema of that name. Raises Undecodable or RegistryUnavailable."""
        if len(value) < avro.HEADER.size:
            raise Undecodable(f"{len(value)} bytes are too few for a schema id")
        magic, schema_id = avro.HEADER.unpack_from(value)
        if magic != avro.MAGIC:
            raise Undecodable(f"magic byte is {magic}, not {avro.MAGIC}")
        writer = self._writer(schema_id)
        try:
            return fastavro.schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), writer, self._readers[record])
        except Exception as error:  # fastavro raises whatever the bytes lead it into: EOFError, IndexError, OverflowError, ...
            raise Undecodable(f"not a {record} by schema id {schema_id}: {type(error).__name__}: {error}") from error

    def _writer(self, schema_id: int) -> Schema:
        if schema_id in self._writers:
            return self._writers[schema_id]
        if time.monotonic() - self._unknown.get(schema_id, float("-inf")) < UNKNOWN_FOR_SECONDS:
            raise Undecodable(f"schema id {schema_id} is not in the registry")
        try:
            answer = self._client.get(f"/schemas/ids/{schema_id}")
        except httpx.HTTPError as error:
            raise RegistryUnavailable(f"{type(error).__name__} at {self._client.base_url.host}: {error}") from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            if len(self._unknown) > 1000:
                self._unknown.clear()
            self._unknown[schema_id] = time.monotonic()
            raise Undecodable(f"schema id {schema_id} is not in the registry")
        if answer.is_error:
            raise RegistryUnavailable(f"HTTP {answer.status_code} for schema id {schema_id}")
        self._writers[schema_id] = fastavro.parse_schema(json.loads(answer.json()["schema"]))
        return self._writers[schema_id]

    def close(self) -> None:
        self._client.close()
