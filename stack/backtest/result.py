"""A backtest as a whole: the capture, its scores, its incidents, and what one counts of them."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from jobs.transforms.detector.alarms import THRESHOLD
from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incidents import NO_INCIDENT
from jobs.transforms.detector.reasons import reason
from stack.backtest.incidents import Incident, incident_ids, incidents_of
from stack.backtest.plain import last_four_average, plain_anomalies
from stack.backtest.rows import Rows
from stack.backtest.walk import judged, on_holiday

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
HALVINGS = 12  # of the span of thresholds, until the wanted load is met


@dataclass(frozen=True)
class Backtest:
    """interval: seconds. country: of the holidays, or none. onsets: of the incident of each row, epoch milliseconds or
    NO_INCIDENT. counted_from: epoch milliseconds from which alarms are counted."""

    rows: Rows
    interval: int
    country: str | None
    threshold: float
    score: Score
    onsets: np.ndarray
    counted_from: int

    @cached_property
    def ids(self) -> list[str]:
        return incident_ids(self.rows, self.onsets)

    @cached_property
    def incidents(self) -> list[Incident]:
        return incidents_of(self.rows, self.score, self.ids)

    @cached_property
    def average(self) -> np.ndarray:
        """Last4Avg of each row."""
        return last_four_average(self.rows, self.interval, on_holiday(self.rows, self.country))

    @cached_property
    def plain(self) -> np.ndarray:
        """Which rows the plain rule flags."""
        return plain_anomalies(self.rows.values, self.average)

    @property
    def weeks(self) -> float:
        """From `counted_from` to the end; at least a hundredth."""
        return max((int(self.rows.instants.max()) - self.counted_from) / WEEK_MS, 0.01)

    def per_week(self, flags: np.ndarray) -> float:
        """Flagged rows a week."""
        return float(np.count_nonzero(flags & (self.rows.instants >= self.counted_from)) / self.weeks)

    def predicted_pct(self) -> np.ndarray:
        """100 * value / expected; NaN where either is missing or expected is zero."""
        known = np.isfinite(self.score.expected) & (self.score.expected != 0)
        return np.where(known, 100 * self.rows.values / np.where(known, self.score.expected, 1), np.nan)

    def alarms_at(self, threshold: float) -> np.ndarray:
        """Which rows raise an alarm at that threshold."""
        return self.score.score >= threshold

    def reported(self, incident: Incident, alarm: np.ndarray) -> bool:
        """Whether one of these alarms (a flag by row) tells of the incident: within it, or so soon before that it rests since."""
        of_service = self.rows.services == self.rows.services[incident.peak]
        since = self.rows.instants >= incident.start - DAY_MS
        return bool((alarm & of_service & since & (self.rows.instants <= incident.end)).any())

    def suggested(self, wanted: float) -> float:
        """The lowest threshold, to two decimals, at which at most `wanted` alarms a week come."""
        low, high = 0.0, float(self.score.score.max()) + 0.01
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.per_week(self.alarms_at(middle)) <= wanted else (middle, high)
        return float(np.ceil(high * 100) / 100)


def backtest(rows: Rows, interval: int, country: str | None, warmup: int, threshold: float = THRESHOLD) -> Backtest:
    """Walks the rows. warmup: seconds from the first row that are scored but not counted; at most half of the capture."""
    score, onsets = judged(rows, interval, country, threshold)
    first, last = int(rows.instants.min()), int(rows.instants.max())
    return Backtest(rows, interval, country, threshold, score, onsets, first + min(warmup * 1000, (last - first) // 2))


def write(result: Backtest, path: Path, explain: bool) -> None:
    """One line for each row of the capture, in its order."""
    header = ["timestamp", "value", "expected", "predicted_pct", "anomaly_score", "is_anomaly", "incident_id"]
    pct, score = result.predicted_pct(), result.score
    columns = [
        map(_quoted, result.rows.timestamps.to_pylist()),
        map(_quoted, result.rows.given.to_pylist()),
        map(_number, score.expected.tolist()),
        map(_number, pct.tolist()),
        (f"{each:.4f}" for each in score.score.tolist()),
        ("true" if each else "false" for each in (result.onsets != NO_INCIDENT).tolist()),
        map(_quoted, result.ids),
    ]
    if explain:
        header += ["service", "reason"]
        columns += [
            (_quoted(result.rows.names[each]) for each in result.rows.services.tolist()),
            (_quoted(reason(score, row)) for row in range(len(pct))),
        ]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(header) + "\n")
        file.writelines(",".join(cells) + "\n" for cells in zip(*columns, strict=True))


def _number(value: float) -> str:
    return "" if value != value else f"{value:.6g}"


def _quoted(text: str | None) -> str:
    text = text or ""
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\r\n') else text
