"""Files of records for a declared topic: CSV with a header, or JSON lines; plain or .gz. Each row gives a value of the topic's
contract, and its key: the fields of the key's contract, or one column as text.
"""

import csv
import datetime as dt
import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import fastavro
from fastavro.validation import ValidationError

from contracts import avro
from contracts.declarations import Topic
from sources.capture import BadRows, CaptureError

KINDS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
_PLAIN = {"int": int, "long": int, "float": float, "double": float, "string": str}


@dataclass(frozen=True)
class Record:
    line: int
    key: dict | str | None
    value: dict | bytes
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True)
class RecordFile:
    """A file of rows for a topic. key_column: of a key that is text; it need not be a field of the value."""

    path: Path
    topic: Topic
    key_column: str | None = None

    def __post_init__(self):
        if not self.path.is_file():
            raise CaptureError(f"{self.path}: no such file")
        if not self.path.name.endswith(KINDS):
            raise CaptureError(f"{self.path}: a file of records ends in {', '.join(KINDS)}")
        if self.topic.record is None:
            raise CaptureError(f"topic {self.topic.name} has no contract for its values, so rows can't be written to it")
        if self.topic.key_record and self.key_column:
            raise CaptureError(
                f"--key {self.key_column}: the key of {self.topic.name} is a {self.topic.key_record}, of the row's fields"
            )
        if self.topic.compacted and not (self.topic.key_record or self.key_column):
            raise CaptureError(
                f"topic {self.topic.name} is compacted, which means that it keeps the last record of each key: name the key's "
                f"column with --key, one of {', '.join(self._fields)}, or one more that the file has"
            )

    def records(self, bad: BadRows) -> Iterator[Record]:
        """In the file's order; rows that are no record go to `bad`."""
        for line, row in self._rows(bad):
            try:
                yield self._record(line, row)
            except (ValueError, TypeError, ValidationError) as error:
                bad.add(self.path, line, " ".join(str(error).split()))

    def _record(self, line: int, row: dict[str, Any]) -> Record:
        if unknown := row.keys() - self._fields.keys() - self._key_fields.keys() - {self.key_column}:
            raise ValueError(f"{', '.join(sorted(map(str, unknown)))}: not in the contract {self.topic.record}")
        value = self._of(self._fields, row)
        fastavro.validate(value, self._schemas[0])
        if self.topic.key_record:
            key = self._of(self._key_fields, row)
            fastavro.validate(key, self._schemas[1])
        else:
            key = None if self.key_column is None else row.get(self.key_column)
            if self.key_column and not (isinstance(key, str) and key):
                raise ValueError(f"{self.key_column}: no text for the key")
        return Record(line, key, value)

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return {field["name"]: field["type"] for field in avro.latest(self.topic.record)["fields"]}

    @cached_property
    def _key_fields(self) -> dict[str, Any]:
        record = self.topic.key_record
        return {field["name"]: field["type"] for field in avro.latest(record)["fields"]} if record else {}

    @cached_property
    def _schemas(self) -> tuple[Any, Any]:
        """Of the value and of the key."""
        return avro.parsed(self.topic.record), self.topic.key_record and avro.parsed(self.topic.key_record)

    def _of(self, fields: dict[str, Any], row: dict[str, Any]) -> dict:
        found = {}
        for name, kind in fields.items():
            try:
                found[name] = _typed(row.get(name), kind)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{name}: {error}") from error
        return found

    def _rows(self, bad: BadRows) -> Iterator[tuple[int, dict[str, Any]]]:
        opened = gzip.open if self.path.name.endswith(".gz") else open
        try:
            with opened(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                yield from self._csv(file, bad) if ".csv" in self.path.suffixes else self._json(file, bad)
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
            raise CaptureError(f"{self.path}: {error}") from error

    def _csv(self, file: io.TextIOBase, bad: BadRows) -> Iterator[tuple[int, dict[str, Any]]]:
        rows = csv.DictReader(file)
        for row in rows:
            if None in row or None in row.values():
                bad.add(self.path, rows.line_num, f"not {len(rows.fieldnames)} cells, as the header has")
            else:
                yield rows.line_num, row

    def _json(self, file: io.TextIOBase, bad: BadRows) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, text in enumerate(file, 1):
            try:
                row = json.loads(text)
            except ValueError as error:
                bad.add(self.path, line, f"not JSON: {error}")
                continue
            if isinstance(row, dict):
                yield line, row
            else:
                bad.add(self.path, line, "not a JSON object")


def _typed(cell: Any, kind: Any) -> Any:
    """A cell, text or of JSON, as an Avro type wants it; an empty text is null where null is allowed."""
    if isinstance(kind, list):
        if cell is None or cell == "":
            return None
        return _typed(cell, next(each for each in kind if each != "null"))
    if isinstance(kind, dict) and "logicalType" in kind:
        return _instant(cell, local=kind["logicalType"].startswith("local-"))
    if isinstance(cell, str) and kind == "boolean":
        return {"true": True, "false": False}[cell.lower()]
    return _PLAIN[kind](cell) if isinstance(cell, str) and kind in _PLAIN else cell


def _instant(cell: Any, local: bool) -> Any:
    """ISO 8601, in UTC where it has no offset; or epoch milliseconds. A local time is one without an offset."""
    if not isinstance(cell, str):
        return cell
    found = dt.datetime.fromisoformat(cell)
    if local:
        if found.tzinfo:
            raise ValueError(f"{cell!r} has an offset, where a wall clock's time belongs")
        return found
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)
