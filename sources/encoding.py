"""Readings to bytes on the wire, whole columns at a time: Confluent header, then the Avro binary encoding of the feed's record.

Avro writes a long as a zigzag varint and a record as its fields in order, so a record of longs needs no general encoder: the
bytes of a batch are laid out as one matrix, and each record is cut from it. Fields beyond the feed's own are written as their
defaults.
"""

import io
import json

import fastavro
import numpy as np

from contracts.avro import HEADER, MAGIC
from contracts.feeds import Feed

LONGEST_VARINT = 10
UNITS = {"timestamp-millis": 1, "local-timestamp-millis": 1, "timestamp-micros": 1000, None: 1}


class EncodingError(ValueError):
    """The registered schema can't carry the feed's readings; the message names the field at fault."""


def varints(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zigzag varints of int64 numbers: (bytes, which of them count), each of shape (numbers, 10)."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    groups = zigzag[:, None] >> np.arange(0, 7 * LONGEST_VARINT, 7, dtype=np.uint64)
    counts = groups != 0
    counts[:, 0] = True
    continues = np.zeros_like(counts)
    continues[:, :-1] = counts[:, 1:]
    return (groups & 0x7F).astype(np.uint8) | (continues.astype(np.uint8) << 7), counts


class ReadingEncoder:
    """Encodes (time, value) columns of a feed by one registered schema."""

    def __init__(self, feed: Feed, schema: str, schema_id: int):
        self.header = HEADER.pack(MAGIC, schema_id)
        self._parts: list[bytes | tuple[str, int]] = [self.header]  # constant bytes, or (time or value, its unit)
        record = json.loads(schema)
        names = [field["name"] for field in record["fields"]]
        for part, name in (("time", feed.time), ("value", feed.value)):
            if name not in names:
                raise EncodingError(f"schema {schema_id} has no field {name!r}, which feed {feed.name} names as its {part}")
        for field in record["fields"]:
            self._parts.append(_part(field, feed, schema_id))
        self._parts = [part for part in self._parts if part]  # a null takes no byte

    def encode(self, milliseconds: np.ndarray, values: np.ndarray) -> list[bytes]:
        """The messages of a batch, one for each row."""
        columns = {"time": milliseconds, "value": values}
        rows = len(milliseconds)
        pieces, masks = [], []
        for part in self._parts:
            if isinstance(part, bytes):
                pieces.append(np.broadcast_to(np.frombuffer(part, np.uint8), (rows, len(part))))
                masks.append(np.broadcast_to(True, (rows, len(part))))
            else:
                name, unit = part
                piece, mask = varints(columns[name].astype(np.int64) * unit)
                pieces.append(piece)
                masks.append(mask)
        mask = np.concatenate(masks, axis=1)
        encoded = np.concatenate(pieces, axis=1)[mask].tobytes()
        ends = np.cumsum(np.count_nonzero(mask, axis=1)).tolist()
        return [encoded[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if rows else []


def _part(field: dict, feed: Feed, schema_id: int) -> bytes | tuple[str, int]:
    name, kind = field["name"], field["type"]
    plain = kind.get("type") if isinstance(kind, dict) else kind
    logical = kind.get("logicalType") if isinstance(kind, dict) else None
    if name in (feed.time, feed.value):
        if plain != "long" or (name == feed.time and logical not in UNITS):
            raise EncodingError(f"field {name!r} of schema {schema_id} has type {json.dumps(kind)}; a reading needs a long")
        return ("time", UNITS[logical]) if name == feed.time else ("value", 1)
    if "default" not in field:
        raise EncodingError(f"field {name!r} of schema {schema_id} has no default and is not one that feed {feed.name} names")
    constant = io.BytesIO()
    fastavro.schemaless_writer(constant, fastavro.parse_schema(kind), field["default"])
    return constant.getvalue()
