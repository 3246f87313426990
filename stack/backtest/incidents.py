"""The incidents of a backtest, in words and figures."""

import datetime as dt
from dataclasses import dataclass

import numpy as np

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.seasons import NAMES
from stack.backtest.rows import Rows

EXPECTED_BY = {
    "level": "the level of the last hours",
    "day": "this time of day",
    "week": "this time of the week",
    "holiday": "this time of a Sunday, as it is a holiday",
}


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

    @property
    def direction(self) -> str:
        return "high" if self.total >= self.expected else "low"


def incident_ids(rows: Rows, score: Score) -> list[str]:
    """Of each row: its service and its incident's onset in UTC, e.g. www@1998-06-10T17:30:00Z; empty without an incident."""
    ids = [""] * len(rows.services)
    for row in np.flatnonzero(np.isfinite(score.incident)).tolist():
        onset = dt.datetime.fromtimestamp(float(score.incident[row]), dt.UTC)
        ids[row] = f"{rows.names[rows.services[row]]}@{onset:%Y-%m-%dT%H:%M:%SZ}"
    return ids


def incidents_of(rows: Rows, score: Score, ids: list[str]) -> list[Incident]:
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
        found.append(Incident(name, service, of, int(times.min()), int(times.max()), peak, highest, total, expected))
    return sorted(found, key=lambda each: each.start)


def reason(score: Score, row: int) -> str:
    """Why a reading has its score: by which season it was expected, how large its error is, and how many before were as large."""
    if score.stuck[row]:
        return "the value repeats itself for longer than ever before"
    if not np.isfinite(score.size[row]):
        return "no reading, or none before it"
    seen, beyond = round(score.seen[row]), round(score.beyond[row])
    side = "above" if score.size[row] >= 0 else "below"
    text = f"{abs(score.size[row]):.1f} scales {side} what {EXPECTED_BY[NAMES[int(score.season[row])]]} leads to expect"
    text += (
        f"; {beyond:,} of {seen:,} readings before deviated as much"
        if seen
        else "; too few readings before it to tell how rare that is"
    )
    return text + ("; since then the level has shifted for good" if score.shifted[row] else "")
