"""The contracts in the registry: each topic's subject holds the versions of its record, and refuses an incompatible one.

What is refused is told by field, as `contracts.compatibility` finds it; the registry itself has the last word.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, Schema, SchemaRegistryClient, ServerConfig
from confluent_kafka.schema_registry.error import SchemaRegistryError
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_fixed

from contracts import avro
from contracts.avro import Level
from contracts.compatibility import Version, refusals
from contracts.declarations import Topic
from stack.errors import StackError

REMEDY = (
    "give a new field a default and a renamed one an alias, or make it a record and a topic of its own; "
    "who may be left behind is the level in schemas/avro/<record>/contract.yaml (see docs/schemas.md)"
)


@dataclass(frozen=True)
class Subject:
    """What a topic's keys or values are declared to be."""

    name: str
    record: str
    versions: tuple[Path, ...]  # oldest first

    @property
    def level(self) -> Level:
        return avro.contract(self.record).compatibility

    def declared(self) -> list[Version]:
        return [Version(file.stem, json.loads(file.read_text())) for file in self.versions]


def wanted(topics: Iterable[Topic]) -> dict[str, Subject]:
    """Every subject by its name. That of a topic which keeps to an older version holds none that is newer."""
    found = {}
    for topic in topics:
        for name, record in avro.subjects(topic).items():
            newest = topic.version if name == avro.subject(topic.name) else None
            files = [file for file in avro.versions(record) if newest is None or avro.number(file) <= newest]
            found[name] = Subject(name, record, tuple(files))
    return found


def register(url: str, topics: Iterable[Topic]) -> dict[str, int]:
    """Register all versions of every subject's record, oldest first; the id of each subject's newest version."""
    client = SchemaRegistryClient({"url": url})
    ids = {}
    for subject in wanted(topics).values():
        for number, file in enumerate(subject.versions):
            ids[subject.name] = register_one(client, subject.name, file.read_text(), subject.level, file.stem)
            if number == 0:  # a subject takes settings once it exists
                client.set_config(subject.name, ServerConfig(compatibility=ConfigCompatibilityLevel[subject.level]))
    return ids


def register_one(client: SchemaRegistryClient, subject: str, schema: str, level: Level, name: str = "the new version") -> int:
    """The id of a schema under a subject. Raises StackError naming the fields at fault if it is refused."""
    known = _known(client, subject, schema)
    if known is not None:
        return known
    if reasons := refusals(level, Version(name, json.loads(schema)), registered(client, subject)):
        raise StackError(f"{subject}: {name} is refused as incompatible ({level}):{_listed(reasons)}", remedy=REMEDY)
    try:
        return _register(client, subject, Schema(schema, "AVRO"))
    except SchemaRegistryError as error:
        refused = error.http_status_code == httpx.codes.CONFLICT
        what = f"refuses {name} as incompatible" if refused else f"did not take {name}"
        raise StackError(f"{subject}: the registry {what}: {error.error_message}", remedy=REMEDY if refused else None) from error


def registered(client: SchemaRegistryClient, subject: str) -> list[Version]:
    """The versions that the registry holds, oldest first; none of a subject that it does not know."""
    try:
        numbers = client.get_versions(subject)
    except SchemaRegistryError as error:
        if error.http_status_code == httpx.codes.NOT_FOUND:
            return []
        raise
    return [Version(f"version {each}", json.loads(client.get_version(subject, each).schema.schema_str)) for each in numbers]


def incompatible(url: str, topics: Iterable[Topic]) -> dict[str, str]:
    """Subjects with a declared version that would be refused, and why. Changes nothing."""
    client, refused = SchemaRegistryClient({"url": url}), {}
    known = set(client.get_subjects())
    for subject in wanted(topics).values():
        if subject.name in known and (why := _refused(client, url, subject)):
            refused[subject.name] = why
    return refused


def _refused(client: SchemaRegistryClient, url: str, subject: Subject) -> str | None:
    there = registered(client, subject.name)
    for file, version in zip(subject.versions, subject.declared(), strict=True):
        if _known(client, subject.name, file.read_text()) is not None:
            continue
        if reasons := refusals(subject.level, version, there):
            return f"{version.name} ({subject.level}):{_listed(reasons)}"
        if (level := client.get_config(subject.name).compatibility_level) == subject.level:  # else the registry is told first
            body = {"schema": file.read_text(), "schemaType": "AVRO"}
            answer = httpx.post(f"{url}/compatibility/subjects/{subject.name}/versions?verbose=true", json=body, timeout=30)
            if answer.is_error or not answer.json()["is_compatible"]:
                return f"{version.name} ({level}): the registry says: {answer.text}"
        there.append(version)
    return None


def _known(client: SchemaRegistryClient, subject: str, schema: str) -> int | None:
    """The id of a schema that is registered already."""
    try:
        return client.lookup_schema(subject, Schema(schema, "AVRO")).schema_id
    except SchemaRegistryError as error:
        if error.http_status_code == httpx.codes.NOT_FOUND:
            return None
        raise StackError(f"{subject}: the registry can't say whether it has a schema: {error.error_message}") from error


def _listed(reasons: list) -> str:
    return "".join(f"\n  {reason}" for reason in reasons)


def _raced(error: BaseException) -> bool:
    """Apicurio answers so to a request that was repeated before it had read its own journal; once it has, it gives the id."""
    return isinstance(error, SchemaRegistryError) and "already exists" in str(error.error_message)


@retry(retry=retry_if_exception(_raced), stop=stop_after_attempt(6), wait=wait_fixed(1), reraise=True)
def _register(client: SchemaRegistryClient, subject: str, schema: Schema) -> int:
    return client.register_schema(subject, schema)
