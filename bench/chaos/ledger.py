"""What was sent to a topic, in columns: some fifty bytes for a record, so that millions of them fit into memory."""

import hashlib
import time
from array import array
from dataclasses import dataclass, field

import numpy as np

from bench.chaos import others, records, rows
from bench.chaos.records import MOST_BYTES, Draft

REASONS = records.REASONS | others.REASONS | rows.REASONS  # by class of record
KINDS = list(REASONS)
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_TYPES = {
    "kind": "B",  # index in KINDS
    "service": "i",  # index in `names`; -1 where a letter is due
    "at": "q",  # of a reading, epoch milliseconds
    "value": "q",
    "sent": "q",  # epoch milliseconds
    "digest": "Q",
    "partition": "h",  # -1: not acknowledged
    "offset": "q",
    "taken": "q",  # when the broker took it by its clock, epoch milliseconds
    "transactional": "B",  # whether the topic decides if it is there: its transaction may have been aborted
}


def digest(key: bytes | None, value: bytes | None) -> int:
    """64 bits of a record's key and value; no key is not an empty key."""
    found = hashlib.blake2b(digest_size=8)
    for each in (key, value):
        found.update(b"-" if each is None else b"%d:" % len(each) + each)
    return int.from_bytes(found.digest(), "little")


@dataclass(frozen=True)
class Cut:
    """Size and SHA-256 of the key and value of a record that a letter cannot keep whole; None where it has no key."""

    key_bytes: int | None
    key_sha256: str | None
    value_bytes: int | None
    value_sha256: str | None


def cut(key: bytes | None, value: bytes | None) -> Cut | None:
    """None where a letter keeps the whole record."""
    if len(key or b"") + len(value or b"") <= MOST_BYTES:
        return None
    return Cut(*_size_and_hash(key), *_size_and_hash(value))


def _size_and_hash(part: bytes | None) -> tuple[int | None, str | None]:
    return (None, None) if part is None else (len(part), hashlib.sha256(part).hexdigest())


@dataclass
class Sent:
    """The columns as arrays, one row for each record. names: of the services. cuts: by row."""

    columns: dict[str, np.ndarray]
    names: list[str]
    cuts: dict[int, Cut] = field(default_factory=dict)

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.__dict__["columns"][name]
        except KeyError as error:
            raise AttributeError(name) from error

    def __len__(self) -> int:
        return len(self.columns["kind"])

    def where(self, which: np.ndarray) -> "Sent":
        """Some of the rows."""
        rows = np.flatnonzero(which)
        cuts = {new: self.cuts[old] for new, old in enumerate(rows.tolist()) if old in self.cuts} if self.cuts else {}
        return Sent({name: column[rows] for name, column in self.columns.items()}, self.names, cuts)


class Places:
    """Finds rows by where the broker put them."""

    def __init__(self, sent: Sent):
        partitions = range(1 + int(max(sent.partition, default=-1)))
        unsorted = [np.flatnonzero(sent.partition == number) for number in partitions]
        self._rows = [rows[np.argsort(sent.offset[rows])] for rows in unsorted]
        self._offsets = [sent.offset[rows] for rows in self._rows]

    def row(self, partition: int, offset: int) -> int:
        """-1: none was sent there."""
        if not 0 <= partition < len(self._rows):
            return -1
        offsets = self._offsets[partition]
        place = int(np.searchsorted(offsets, offset))
        return int(self._rows[partition][place]) if place < len(offsets) and offsets[place] == offset else -1


class Ledger:
    """Of one topic; written by its producer's thread alone."""

    def __init__(self) -> None:
        self._columns = {name: array(kind) for name, kind in _TYPES.items()}
        self._services: dict[str, int] = {}
        self._cuts: dict[int, Cut] = {}
        self.failed = 0

    def __len__(self) -> int:
        return len(self._columns["kind"])

    def sends(self, draft: Draft, transactional: bool = False) -> int:
        """Its row's number, for `acknowledged`."""
        number, (service, at, value) = len(self), draft.reading or ("", 0, 0)
        index = self._services.setdefault(service, len(self._services)) if draft.reading else -1
        now = int(time.time() * 1000)
        row = (_NUMBERS[draft.kind], index, at, value, now, digest(draft.key, draft.value), -1, -1, -1, transactional)
        for column, cell in zip(self._columns.values(), row, strict=True):
            column.append(cell)
        if too_large := cut(draft.key, draft.value):
            self._cuts[number] = too_large
        return number

    def acknowledged(self, number: int, partition: int, offset: int, taken: int) -> None:
        for column, cell in (("partition", partition), ("offset", offset), ("taken", taken)):
            self._columns[column][number] = cell

    def sent(self) -> Sent:
        columns = {name: np.array(column, dtype=column.typecode) for name, column in self._columns.items()}
        return Sent(columns, list(self._services), dict(self._cuts))
