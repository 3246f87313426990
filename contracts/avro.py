"""Avro contracts: `schemas/avro/<record>/v<N>.avsc`, their level of compatibility, subjects, and the Confluent wire format.

Wire format (Confluent documentation, "Wire format"): byte 0 is the magic byte 0x00, bytes 1-4 the schema id as a big-endian
unsigned integer, the rest the Avro binary encoding of the value.
"""

import json
import re
import struct
from enum import StrEnum
from pathlib import Path
from typing import Any

import fastavro
import fastavro.types
import yaml
from pydantic import ValidationError

from contracts.declarations import SCHEMAS, DeclarationError, Declared, Topic

MAGIC = 0
HEADER = struct.Struct(">bI")
Schema = dict[str, Any]  # a schema as parsed JSON
ParsedSchema = fastavro.types.Schema  # ready for fastavro


class Level(StrEnum):
    """Who must be able to read whom when a version is added: BACKWARD, the new version's readers the older records; FORWARD, the
    older versions' readers the new records; FULL, both. TRANSITIVE: of all older versions, not only of the one before."""

    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def backward(self) -> bool:
        return not self.startswith("FORWARD")

    @property
    def forward(self) -> bool:
        return not self.startswith("BACKWARD")

    @property
    def transitive(self) -> bool:
        return self.endswith("TRANSITIVE")


class Contract(Declared):
    """What `schemas/avro/<record>/contract.yaml` says of all versions of a record; where there is none, this."""

    compatibility: Level = Level.FULL


def contract(record: str) -> Contract:
    """Raises DeclarationError naming the file and the field."""
    file = SCHEMAS / "avro" / record / "contract.yaml"
    if not file.exists():
        return Contract()
    try:
        return Contract.model_validate(yaml.safe_load(file.read_text()) or {})
    except ValidationError as error:
        mistakes = [f"{'.'.join(map(str, each['loc'])) or 'declaration'}: {each['msg']}" for each in error.errors()]
        raise DeclarationError("\n".join(f"schemas/avro/{record}/contract.yaml: {each}" for each in mistakes)) from error
    except yaml.YAMLError as error:
        raise DeclarationError(f"schemas/avro/{record}/contract.yaml: not YAML: {' '.join(str(error).split())}") from error


def versions(record: str) -> list[Path]:
    """Files of a record's versions, oldest first. Raises FileNotFoundError where there is none."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", record):
        raise ValueError(f"not an Avro record name: {record!r}")
    files = sorted((SCHEMAS / "avro" / record).glob("v*.avsc"), key=number)
    if not files:
        raise FileNotFoundError(f"no schema schemas/avro/{record}/v1.avsc")
    return files


def number(file: Path) -> int:
    """Of the version that a file holds."""
    return int(file.stem[1:])


def text(record: str, version: int | None = None) -> str:
    """A version of a record's schema as it stands in its file; the newest unless one is named."""
    return next(file for file in reversed(versions(record)) if version in (None, number(file))).read_text()


def latest(record: str) -> Schema:
    """The newest version of a record's schema, as parsed JSON."""
    found: Schema = json.loads(text(record))
    return found


def schema(record: str, version: int | None = None) -> Schema:
    """A version of a record's schema, as parsed JSON; the newest if none is named."""
    return latest(record) if version is None else json.loads(text(record, version))


def parsed(record: str) -> ParsedSchema:
    """The newest version of a record's schema, ready for fastavro."""
    return fastavro.parse_schema(latest(record))


def subject(topic: str) -> str:
    """The registry's subject of a topic's value (TopicNameStrategy)."""
    return f"{topic}-value"


def key_subject(topic: str) -> str:
    """The registry's subject of a topic's key, where that is Avro."""
    return f"{topic}-key"


def part_of(subject: str) -> tuple[str, str]:
    """The topic of a subject, and which part of its records that is of: key or value."""
    topic, _, part = subject.rpartition("-")
    return topic, part


def subjects(topic: Topic) -> dict[str, str]:
    """The Avro record that each subject of a topic holds. Dead letters are the original bytes, without a schema; so is JSON."""
    record = topic.record if topic.encoding == "avro" else None
    records = {subject(topic.name): record, key_subject(topic.name): topic.key_record}
    return {name: record for name, record in records.items() if record}
