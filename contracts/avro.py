"""Avro contracts: `schemas/avro/<record>/v<N>.avsc`, their subjects, and the Confluent wire format.

Wire format (Confluent documentation, "Wire format"): byte 0 is the magic byte 0x00, bytes 1-4 the schema id as a big-endian
unsigned integer, the rest the Avro binary encoding of the value.
"""

import json
import re
import struct
from pathlib import Path

import fastavro

from contracts.declarations import SCHEMAS, Topic

MAGIC = 0
HEADER = struct.Struct(">bI")


def versions(record: str) -> list[Path]:
    """Files of a record's versions, oldest first. Raises FileNotFoundError where there is none."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", record):
        raise ValueError(f"not an Avro record name: {record!r}")
    files = sorted((SCHEMAS / "avro" / record).glob("v*.avsc"), key=lambda file: int(file.stem[1:]))
    if not files:
        raise FileNotFoundError(f"no schema schemas/avro/{record}/v1.avsc")
    return files


def latest(record: str) -> dict:
    """The newest version of a record's schema, as parsed JSON."""
    return json.loads(versions(record)[-1].read_text())


def parsed(record: str):
    """The newest version of a record's schema, ready for fastavro."""
    return fastavro.parse_schema(latest(record))


def subject(topic: str) -> str:
    """The registry's subject of a topic's value (TopicNameStrategy)."""
    return f"{topic}-value"


def key_subject(topic: str) -> str:
    """The registry's subject of a topic's key, where that is Avro."""
    return f"{topic}-key"


def subjects(topic: Topic) -> dict[str, str]:
    """The Avro record that each subject of a topic holds. Dead letters are the original bytes, without a schema."""
    held = {subject(topic.name): topic.record, key_subject(topic.name): topic.key_record}
    return {name: record for name, record in held.items() if record}
