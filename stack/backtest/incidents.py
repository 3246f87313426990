"""The incidents of a backtest, in words and figures."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incident_life import NO_INCIDENT, incident_id
from jobs.transforms.detector.moments import Ints
from jobs.transforms.detector.reasons import reason
from jobs.transforms.detector.rules import direction, sides
from stack.backtest.rows import Rows


@dataclass(frozen=True)
class Incident:
    """Readings of one service that deviate together. start, end: epoch milliseconds of its first and last reading.

    peak: number of the row with the largest error to its side. highest: the highest score that has its side, 0 if none has.
    cause: of this score. total, expected: sums over its readings.
    """

    id: str
    service: str
    rows: np.ndarray
    start: int
    end: int
    peak: int
    highest: float
    total: float
    expected: float
    direction: str
    cause: str


def incident_ids(names: list[str], services: Ints, onsets: Ints) -> pa.Array:
    """Of each reading: its service and its incident's onset in UTC, e.g. www@1998-06-10T17:30:00Z; null without an incident."""
    none = onsets == NO_INCIDENT
    numbers = np.zeros(len(onsets), np.int64)
    which, numbers[~none] = np.unique(onsets[~none] * len(names) + services[~none], return_inverse=True)
    ids = [incident_id(names[each % len(names)], each // len(names)) for each in which.tolist()]
    return pa.array(ids, pa.string()).take(pa.array(numbers, mask=none))


def incidents_of(rows: Rows, score: Score, ids: list[str | None]) -> list[Incident]:
    """By their starts."""
    members: dict[str, list[int]] = {}
    for row, each in enumerate(ids):
        if each:
            members.setdefault(each, []).append(row)
    found = []
    of_reading, of_score = sides(score)
    for name, numbers in members.items():
        of = np.array(numbers)
        times, side = rows.instants[of], int(of_reading[of[np.argmin(rows.instants[of])]])
        peak = int(of[np.argmax(side * np.nan_to_num(score.size[of]))])
        total, expected = float(np.nansum(rows.values[of])), float(np.nansum(score.expected[of]))
        service = rows.names[rows.services[of[0]]]
        scores = np.where(of_score[of] == side, score.score[of], 0.0)
        cause = reason(score, int(of[np.argmax(scores)]), side)
        figures = peak, float(scores.max()), total, expected
        found.append(Incident(name, service, of, int(times.min()), int(times.max()), *figures, direction(side), cause))
    return sorted(found, key=lambda each: each.start)
