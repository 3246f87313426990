"""How good scores are: alarms against labelled windows.

The early-detection score is that of the Numenta benchmark's standard profile (Lavin & Ahmad, 2015, section II): the first alarm
of a window counts up to 1, the earlier the more; a window without one costs 1; an alarm outside costs up to 0.11, less just
behind a window. 0 is what no alarm at all gets, 100 what an alarm at each window's first row gets.
"""

from dataclasses import dataclass

import numpy as np

from bench.detection_incidents import PROBATION, Labelled
from bench.detection_series import DAY

FALSE_ALARM = 0.11
APART = DAY // 2  # seconds between two alarms of a series


def weight(position: np.ndarray) -> np.ndarray:
    """The scaled sigmoid: position -1 is a window's first row, 0 its last, positive behind it."""
    return 2 / (1 + np.exp(5 * position)) - 1


def gains(case: Labelled, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(thresholds descending, gain at each): what the series adds to the sum if alarms are the rows with score >= threshold."""
    rows = len(scores)
    first = int(rows * PROBATION)
    owner = np.full(rows, -1)
    worth = np.full(rows, -FALSE_ALARM)
    for number, (start, end) in enumerate(case.windows()):
        span = max(end - start, 1)
        owner[start : end + 1] = number
        worth[start : end + 1] = weight((np.arange(start, end + 1) - end) / span)
        behind = np.arange(end + 1, min(rows, end + 1 + 3 * span))
        worth[behind] = FALSE_ALARM * weight((behind - end) / span)
    best = np.full(len(case.incidents), np.nan)
    order = np.argsort(-scores[first:], kind="stable") + first
    thresholds, gain, total = [], [], -float(len(case.incidents))
    earliest = np.full(len(case.incidents), rows)
    for row in order[: np.count_nonzero(scores[first:] > 0)].tolist():
        window = owner[row]
        if window < 0:
            total += worth[row]
        elif row < earliest[window]:
            total += worth[row] - (best[window] if earliest[window] < rows else -1.0)
            best[window], earliest[window] = worth[row], row
        thresholds.append(scores[row])
        gain.append(total)
    return np.array(thresholds), np.array(gain)


def early_detection(cases: list[Labelled], scores: list[np.ndarray]) -> tuple[float, float]:
    """(score of 100, the one threshold for all that reaches it)."""
    parts = [gains(case, each) for case, each in zip(cases, scores, strict=True)]
    grid = np.unique(np.concatenate([part[0] for part in parts]))[::-1]
    if len(grid) > 2000:
        grid = grid[np.unique(np.linspace(0, len(grid) - 1, 2000).astype(int))]
    sums = np.zeros(len(grid))
    for case, (thresholds, gain) in zip(cases, parts, strict=True):
        steps = np.concatenate([[-float(len(case.incidents))], gain])
        sums += steps[np.searchsorted(-thresholds, -grid, side="right")]
    best, windows = int(np.argmax(sums)), sum(len(case.incidents) for case in cases)
    perfect = windows * float(weight(np.array(-1.0)))
    return 100 * (float(sums[best]) + windows) / (perfect + windows), float(grid[best])


@dataclass(frozen=True)
class Outcome:
    """Of one series after its probation: alarms, right ones, (kind, found) of incidents, seconds until the found ones were."""

    weeks: float
    alarms: int
    right: int
    found: list[tuple[str, bool]]
    delays: list[float]


def alarms(case: Labelled, scores: np.ndarray, threshold: float) -> np.ndarray:
    """Rows with an alarm: score >= threshold, and none in the half day before. For every system alike."""
    times, last, found = case.series.times, -np.inf, []
    for row in np.flatnonzero(scores >= threshold).tolist():
        if times[row] - last >= APART:
            found.append(row)
            last = times[row]
    return np.array([row for row in found if row >= PROBATION * len(scores)], np.int64)


def outcome(case: Labelled, scores: np.ndarray, threshold: float) -> Outcome:
    """An incident is found by an alarm from its onset to its end, at most a day, and three intervals after."""
    times, rows = case.series.times, alarms(case, scores, threshold)
    right, found, delays = np.zeros(len(rows), bool), [], []
    for each in case.incidents:
        onset = times[each.start]
        until = min(times[each.end - 1], onset + DAY) + 3 * case.series.interval
        within = (times[rows] >= onset) & (times[rows] <= until)
        right |= within
        found.append((each.kind, bool(within.any())))
        delays += (times[rows[within]][:1] - onset).tolist()
    weeks = (1 - PROBATION) * (times[-1] - times[0]) / (7 * DAY)
    return Outcome(float(weeks), len(rows), int(right.sum()), found, delays)


def threshold_for(cases: list[Labelled], scores: list[np.ndarray], per_week: float) -> float:
    """The lowest threshold, of 400 quantiles of the scores, at which all series together raise at most so many alarms a week."""
    weeks = sum(outcome(case, each, np.inf).weeks for case, each in zip(cases, scores, strict=True))
    every = np.concatenate(scores)
    grid = np.unique(np.quantile(every[every > 0], 1 - np.geomspace(1e-5, 0.2, 400)))
    low, high = 0, len(grid) - 1
    while low < high:
        middle = (low + high) // 2
        raised = sum(len(alarms(case, each, grid[middle])) for case, each in zip(cases, scores, strict=True))
        low, high = (low, middle) if raised <= per_week * weeks else (middle + 1, high)
    return float(grid[low])
