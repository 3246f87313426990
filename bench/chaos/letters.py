"""Holds the dead letters of a topic against what was sent to it."""

import re
from collections.abc import Mapping
from functools import cache

import numpy as np

from bench.chaos.ledger import KINDS, REASONS, Places, Sent, digest
from bench.chaos.verify import Findings

UNKNOWN = re.compile("unknown schema id ([0-9]+)")
FIRST_BYTES = 1_000  # of key and value, in a letter that has not the whole record


class Letters:
    """Judges letters one by one; `missing` at the end. topic: that the records were sent to.

    reasons: by class of record, the regular expression of the reason; None for what must not be a letter. known: by schema id
    that was registered in the run, the epoch milliseconds until which a stream may be without it. Until then it may refuse a
    record with that id, and judge it once more later (docs/scoring.md): such letters are `early`.
    """

    def __init__(
        self, sent: Sent, topic: str, reasons: Mapping[str, str | None] = REASONS, known: Mapping[int, int] | None = None
    ):
        self.findings, self.letters, self.again, self.early = Findings(), 0, 0, 0
        self._sent, self._topic, self._reasons, self._known = sent, topic, reasons, known or {}
        self._due = np.array([reasons[kind] is not None for kind in KINDS])[sent.kind]
        self._seen = np.zeros(len(sent), bool)
        self._places = Places(sent)

    def judge(self, key: bytes | None, value: bytes | None, headers: Mapping[str, bytes | None]) -> None:
        """A record of the dead-letter topic. A record is dead-lettered again after a restart, with the same key."""
        self.letters += 1
        text = {name: (headers.get(name) or b"").decode(errors="replace") for name in ("reason", "topic", "partition", "offset")}
        words = f"letter {key!r} with the reason {text['reason'][:200]!r}"
        named = text["partition"].isdigit() and text["offset"].isdigit()
        row = self._places.row(int(text["partition"]), int(text["offset"])) if named else -1
        if row < 0 or text["topic"] != self._topic or key != "{topic}-{partition}-{offset}".format(**text).encode():
            return self.findings.add("letter_of_nothing", f"{words} is of no record that was sent")
        kind = KINDS[self._sent.kind[row]]
        if not self._original(row, value, headers):
            self.findings.add("wrong_original", f"{words} of class {kind} has not the bytes of its record")
        if self._is_early(row, text["reason"]):
            self.early += 1
            return None
        self.again += bool(self._seen[row])
        self._seen[row] = True
        reason = self._reasons[kind]
        if reason is None:
            self.findings.add("letter_of_good", f"{words} is of a record of class {kind}")
        elif not _matches(reason, text["reason"]):
            self.findings.add("wrong_reason", f"{words} is of a record of class {kind}, whose reason is {reason!r}")
        return None

    def missing(self) -> None:
        """Add the records that should have become letters, and did not."""

        def words(row: int) -> str:
            where = f"{self._topic}-{self._sent.partition[row]}-{self._sent.offset[row]}"
            return f"record {where} of class {KINDS[self._sent.kind[row]]} is not among the letters"

        self.findings.where("missing_letter", self._due & ~self._seen & (self._sent.partition >= 0), words)

    def _is_early(self, row: int, reason: str) -> bool:
        unknown = UNKNOWN.match(reason)
        return unknown is not None and int(self._sent.sent[row]) <= self._known.get(int(unknown[1]), -1)

    def _original(self, row: int, value: bytes | None, headers: Mapping[str, bytes | None]) -> bool:
        if not (cut := self._sent.cuts.get(row)):
            return "key" in headers and digest(headers["key"], value) == int(self._sent.digest[row])
        wanted = {name.replace("_", "-"): None if cell is None else str(cell).encode() for name, cell in vars(cut).items()}
        given = {name: headers.get(name, b"no such header") for name in wanted}
        beginnings = (headers.get("key"), cut.key_bytes), (value, cut.value_bytes)
        return given == wanted and all(_is_beginning(kept, length) for kept, length in beginnings)


def _is_beginning(kept: bytes | None, length: int | None) -> bool:
    """Whether a letter keeps as many bytes as it should of a key or value of that length."""
    return kept is None if length is None else kept is not None and len(kept) == min(FIRST_BYTES, length)


@cache
def _compiled(pattern: str) -> re.Pattern:
    return re.compile(pattern)


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None
