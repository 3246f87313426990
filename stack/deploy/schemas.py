"""The contracts in the registry: each topic's subject holds the versions of its record, and refuses an incompatible one.

A refusal names each field at fault, as `contracts.compatibility` finds it; the registry itself has the last word.
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
from stack.deploy import answers
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
    """Register all versions of every subject's record, oldest first; the id of each subject's newest version.

    Raises StackError if the registry refuses one or does not answer.
    """
    with answers.from_registry(url):
        return _register_all(SchemaRegistryClient({"url": url}), topics)


def _register_all(client: SchemaRegistryClient, topics: Iterable[Topic]) -> dict[str, int]:
    ids = {}
    for subject in wanted(topics).values():
        for number, file in enumerate(subject.versions):
            ids[subject.name] = register_one(client, subject.name, file.read_text(), subject.level, file.stem)
            if number == 0:  # a subject takes settings once it exists
                client.set_config(subject.name, ServerConfig(compatibility=ConfigCompatibilityLevel[subject.level]))
    return ids


def register_one(client: SchemaRegistryClient, subject: str, schema: str, level: Level, name: str = "the new version") -> int:
    """The id of a schema under a subject. Raises StackError naming the fields at fault if it is refused.

    The registry holds two texts that differ in a line break for two schemas, so it is asked only for what it does not have, and
    without the breaks at the ends, as serializers look a file's text up.
    """
    there, version = registered(client, subject), Version(name, json.loads(schema))
    if (known := _id(version, there)) is not None:
        return known
    if reasons := refusals(level, version, list(there.values())):
        raise StackError(f"{subject}: {name} is refused as incompatible ({level}):{_listed(reasons)}", remedy=REMEDY)
    try:
        return _register(client, subject, Schema(schema.strip(), "AVRO"))
    except SchemaRegistryError as error:
        refused = error.http_status_code == httpx.codes.CONFLICT
        what = f"refuses {name} as incompatible" if refused else f"did not take {name}"
        raise StackError(f"{subject}: the registry {what}: {error.error_message}", remedy=REMEDY if refused else None) from error


def registered(client: SchemaRegistryClient, subject: str) -> dict[int, Version]:
    """The versions that the registry holds by their ids, oldest first; none of a subject that it does not know."""
    try:
        numbers = client.get_versions(subject)
    except SchemaRegistryError as error:
        if error.http_status_code == httpx.codes.NOT_FOUND:
            return {}
        raise
    found = {number: client.get_version(subject, number) for number in numbers}
    return {each.schema_id: Version(f"version {n}", json.loads(each.schema.schema_str)) for n, each in found.items()}


def _id(version: Version, there: dict[int, Version]) -> int | None:
    return next((number for number, each in there.items() if each.schema == version.schema), None)


def incompatible(url: str, topics: Iterable[Topic]) -> dict[str, str]:
    """Subjects with a declared version that would be refused, and why. Changes nothing."""
    client, refused = SchemaRegistryClient({"url": url}), {}
    with answers.from_registry(url):
        known = set(client.get_subjects())
        for subject in wanted(topics).values():
            if subject.name in known and (why := _refused(client, url, subject)):
                refused[subject.name] = why
    return refused


def _refused(client: SchemaRegistryClient, url: str, subject: Subject) -> str | None:
    there = registered(client, subject.name)
    earlier = list(there.values())
    for version in subject.declared():
        if _id(version, there) is not None:
            continue
        if reasons := refusals(subject.level, version, earlier):
            return f"{version.name} ({subject.level}):{_listed(reasons)}"
        if client.get_config(subject.name).compatibility_level == subject.level:  # else the registry gets the level first
            against = "versions" if subject.level.transitive else "versions/latest"
            body = {"schema": json.dumps(version.schema), "schemaType": "AVRO"}
            answer = httpx.post(f"{url}/compatibility/subjects/{subject.name}/{against}?verbose=true", json=body, timeout=30)
            if answer.is_error or not answer.json()["is_compatible"]:
                return f"{version.name} ({subject.level}): the registry says {answer.text}"
        earlier.append(version)
    return None


def _listed(reasons: list) -> str:
    return "".join(f"\n  {reason}" for reason in reasons)


def _raced(error: BaseException) -> bool:
    """Apicurio answers so to a request that was repeated before it had read its own journal; once it has, it gives the id."""
    return isinstance(error, SchemaRegistryError) and "already exists" in str(error.error_message)


@retry(retry=retry_if_exception(_raced), stop=stop_after_attempt(6), wait=wait_fixed(1), reraise=True)
def _register(client: SchemaRegistryClient, subject: str, schema: Schema) -> int:
    return client.register_schema(subject, schema)
