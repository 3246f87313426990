"""A backtest against labelled incidents: which of them it found, how soon, and what else it reported."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stack.backtest.rows import Rows, read_times
from stack.errors import StackError

WEEK_MS = 7 * 86_400_000


@dataclass(frozen=True)
class Label:
    """An incident that a person knows of, start <= instant <= end (epoch milliseconds)."""

    service: str
    start: int
    end: int


@dataclass(frozen=True)
class Judgement:
    """precision: share of alarms within a label. recall: share of labels with an alarm. NaN where there are none of either.

    delay_seconds: median from a found label's start to its first alarm. false_per_week: alarms outside the labels.
    """

    labels: int
    found: int
    alarms: int
    right: int
    delay_seconds: float
    false_per_week: float

    @property
    def precision(self) -> float:
        return self.right / self.alarms if self.alarms else float("nan")

    @property
    def recall(self) -> float:
        return self.found / self.labels if self.labels else float("nan")


def read_labels(path: Path, zone: str, names: list[str]) -> list[Label]:
    """Labels of a CSV file with the columns service, start and end; times as in the capture.

    Raises StackError if it can't be read, if a label ends before it starts, or if the capture lacks its service.
    """
    services, (starts, ends) = read_times(path, "service", ("start", "end"), zone)
    labels = [Label(*each) for each in zip(services, starts.tolist(), ends.tolist(), strict=True)]
    for number, each in enumerate(labels, 1):
        if each.service not in names:
            raise StackError(
                f"{path}: label {number}: column 'service': the capture has no service {each.service!r}",
                remedy=f"name one of {', '.join(names[:5])}{' …' if len(names) > 5 else ''}",
            )
        if each.end < each.start:
            raise StackError(f"{path}: label {number}: column 'end': it ends before it starts", remedy="exchange start and end")
    return labels


def judged(rows: Rows, alarm: np.ndarray, labels: list[Label], start: int) -> Judgement:
    """Alarms (a flag by row) and labels from that instant on."""
    chosen = np.flatnonzero(alarm & (rows.instants >= start))
    counted = [each for each in labels if each.end >= start]
    inside, delays = np.zeros(len(chosen), bool), []
    for label in counted:
        of_service = rows.services[chosen] == rows.names.index(label.service)
        within = of_service & (rows.instants[chosen] >= label.start) & (rows.instants[chosen] <= label.end)
        inside |= within
        if within.any():
            delays.append((rows.instants[chosen[within]].min() - label.start) / 1000)
    weeks = max((int(rows.instants.max()) - start) / WEEK_MS, 1e-9)
    delay = float(np.median(delays)) if delays else float("nan")
    return Judgement(len(counted), len(delays), len(chosen), int(inside.sum()), delay, int((~inside).sum()) / weeks)
