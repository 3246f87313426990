"""The contracts in the registry: each topic's subject holds every version of its record, and refuses an incompatible one."""

import json
from collections.abc import Iterable

import httpx
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, Schema, SchemaRegistryClient, ServerConfig
from confluent_kafka.schema_registry.error import SchemaRegistryError
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_fixed

from contracts import avro
from contracts.declarations import Topic
from stack.errors import StackError

COMPATIBILITY = ConfigCompatibilityLevel.FULL
REMEDY = "a new version may only add or drop fields that have a default; other changes are a new record"


def wanted(topics: Iterable[Topic]) -> dict[str, str]:
    """The record that each subject holds."""
    return {subject: record for topic in topics for subject, record in avro.subjects(topic).items()}


def register(url: str, topics: Iterable[Topic]) -> dict[str, int]:
    """Register all versions of every subject's record, oldest first; the id of each subject's newest version."""
    client = SchemaRegistryClient({"url": url})
    ids, guarded = {}, set()
    for subject, record in wanted(topics).items():
        for file in avro.versions(record):
            ids[subject] = register_one(client, url, subject, file.read_text())
            if subject not in guarded:  # a subject takes settings once it exists
                client.set_config(subject, ServerConfig(compatibility=COMPATIBILITY))
                guarded.add(subject)
    return ids


def _raced(error: BaseException) -> bool:
    """Apicurio answers so to a request that was repeated before it had read its own journal; once it has, it gives the id."""
    return isinstance(error, SchemaRegistryError) and "already exists" in str(error.error_message)


@retry(retry=retry_if_exception(_raced), stop=stop_after_attempt(6), wait=wait_fixed(1), reraise=True)
def _registered(client: SchemaRegistryClient, subject: str, schema: Schema) -> int:
    return client.register_schema(subject, schema)


def register_one(client: SchemaRegistryClient, url: str, subject: str, schema: str) -> int:
    """The id of a schema under a subject. Raises StackError with the registry's messages if it refuses."""
    try:
        return _registered(client, subject, Schema(schema, "AVRO"))
    except SchemaRegistryError as error:
        if error.http_status_code != httpx.codes.CONFLICT:
            raise StackError(f"the registry did not take a schema for {subject}: {error.error_message}") from error
        what = f"{subject}: the registry refuses an incompatible schema ({COMPATIBILITY.value}): {error.error_message}"
        raise StackError(what, remedy=REMEDY) from error


def incompatible(url: str, topics: Iterable[Topic]) -> dict[str, str]:
    """Subjects whose newest contract the registry would refuse, and why. Changes nothing."""
    refused = {}
    known = set(SchemaRegistryClient({"url": url}).get_subjects())
    for subject, record in wanted(topics).items():
        if subject not in known:
            continue
        body = {"schema": json.dumps(avro.latest(record)), "schemaType": "AVRO"}
        answer = httpx.post(f"{url}/compatibility/subjects/{subject}/versions/latest?verbose=true", json=body, timeout=30)
        answer.raise_for_status()
        if not answer.json()["is_compatible"]:
            refused[subject] = "; ".join(answer.json().get("messages") or ["incompatible with the version in the registry"])
    return refused
