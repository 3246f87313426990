"""Scored readings of one service, as the stream wrote them: one by one, and as columns."""

import bisect
import itertools
import math
from array import array
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Reading:
    """One scored reading; at is epoch milliseconds, and so is taken: when the broker took the reading. offset: of the reading."""

    at: int
    value: int
    expected: float | None
    spread: float | None
    pct: float | None
    anomalous: bool
    baseline_version: int
    taken: int = 0
    offset: int = -1

    @property
    def order(self) -> tuple[int, int, int]:
        """Of several scored rows for one time, the one with the highest counts (docs/scoring.md, "Delivery")."""
        return self.taken, self.offset, self.baseline_version


class Scored(NamedTuple):
    """Readings as columns, oldest first, one for each time. Doubles are NaN where the reading had no baseline."""

    at: np.ndarray  # int64, epoch milliseconds
    value: np.ndarray  # int64
    expected: np.ndarray  # double
    spread: np.ndarray  # double
    pct: np.ndarray  # double
    anomalous: np.ndarray  # int8: 0 or 1
    baseline_version: np.ndarray  # int64
    taken: np.ndarray  # int64: epoch milliseconds at which the broker took the reading
    offset: np.ndarray  # int64: of the reading in its partition; -1: not known

    def between(self, start: int, end: int) -> "Scored":
        """Those of [start, end] (epoch milliseconds)."""
        there = slice(np.searchsorted(self.at, start), np.searchsorted(self.at, end, side="right"))
        return Scored(*(column[there] for column in self))


class Series:
    """The newest readings of one service in time order, as columns. Of two for one time the one that the broker took later stays,
    and of two rows of one reading that by the newer baseline, in whatever order they come: while one query hands over to the
    next, both score."""

    def __init__(self, capacity: int):
        self._capacity = capacity
        self.times = array("q")
        self._columns: tuple[array, ...] = tuple(array(code) for code in "qdddbqqq")
        self.changes = 0  # another number after each change, that no other series has

    def put(self, reading: Reading) -> bool:
        """Whether it stays."""
        row = (
            reading.value,
            _packed(reading.expected),
            _packed(reading.spread),
            _packed(reading.pct),
            reading.anomalous,
            reading.baseline_version,
            reading.taken,
            reading.offset,
        )
        at = bisect.bisect_left(self.times, reading.at)
        if at < len(self.times) and self.times[at] == reading.at:
            if reading.order < self._reading(at).order:
                return False
            self.changes = next(_numbers)
            for column, cell in zip(self._columns, row, strict=True):
                column[at] = cell
            return True
        self.changes = next(_numbers)
        self.times.insert(at, reading.at)
        for column, cell in zip(self._columns, row, strict=True):
            column.insert(at, cell)
        if len(self.times) > self._capacity + self._capacity // 100:  # many at once: each time all that stay are moved
            self._delete(slice(0, len(self.times) - self._capacity))
        return True

    def forget(self, at: int) -> None:
        index = bisect.bisect_left(self.times, at)
        if index < len(self.times) and self.times[index] == at:
            self._delete(slice(index, index + 1))

    def at(self, at: int) -> Reading | None:
        index = bisect.bisect_left(self.times, at)
        return self._reading(index) if index < len(self.times) and self.times[index] == at else None

    def newest(self) -> Reading | None:
        return self._reading(len(self.times) - 1) if self.times else None

    def flagged_since(self) -> int | None:
        """Time of the first of the newest readings that are all anomalous; None: the newest one is not."""
        flags = self._columns[4]
        if not flags or not flags[-1]:
            return None
        return self.times[flags.tobytes().rfind(0) + 1]  # a loop would hold memory's lock for milliseconds

    def scored(self, start: int, end: int) -> Scored:
        """As columns, those of [start, end]."""
        there = slice(bisect.bisect_left(self.times, start), bisect.bisect_right(self.times, end))
        return Scored(*(np.array(column[there]) for column in (self.times, *self._columns)))

    def _delete(self, there: slice) -> None:
        self.changes = next(_numbers)
        for column in (self.times, *self._columns):
            del column[there]

    def _reading(self, index: int) -> Reading:
        value, expected, spread, pct, anomalous, *order = (column[index] for column in self._columns)
        scored = (_unpacked(expected), _unpacked(spread), _unpacked(pct), bool(anomalous))
        return Reading(self.times[index], value, *scored, *order)


def _packed(number: float | None) -> float:
    return math.nan if number is None else number


def _unpacked(number: float) -> float | None:
    return None if math.isnan(number) else number


NOTHING = Series(0).scored(0, 0)
