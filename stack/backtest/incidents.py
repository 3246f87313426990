"""The incidents of a backtest, in words and figures."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incident_life import NO_INCIDENT, direction, incident_id
from jobs.transforms.detector.moments import Ints
from stack.backtest.rows import Rows


@dataclass(frozen=True)
class Incident:
    """Readings of one service that deviate together. start, end: epoch milliseconds of its first and last reading.

    peak: number of the row with the largest error. highest: the highest score. total, expected: sums over its readings.
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
    for name, numbers in members.items():
        of = np.array(numbers)
        times, sizes = rows.instants[of], np.abs(score.size[of])
        peak = int(of[np.argmax(np.where(np.isfinite(sizes), sizes, 0))])
        total, expected = float(np.nansum(rows.values[of])), float(np.nansum(score.expected[of]))
        service = rows.names[rows.services[of[0]]]
        highest = float(score.score[of].max())
        side = direction(float(np.nan_to_num(score.size[peak])), total, expected)
        found.append(Incident(name, service, of, int(times.min()), int(times.max()), peak, highest, total, expected, side))
    return sorted(found, key=lambda each: each.start)
