"""How good scores are: alarms against labelled windows.

The early-detection score is that of the Numenta benchmark's standard profile (Lavin & Ahmad, 2015, section II): the first alarm
of a window counts up to 1, the earlier the more; a window without one costs 1; an alarm outside costs up to 0.11, less just behind
a window. 0 is what no alarm at all gets, 100 what an alarm at each window's first row gets.
"""

import numpy as np

from bench.detection_incidents import PROBATION, Labelled

FALSE_ALARM = 0.11


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
        worth[start : end + 1] = weight((np.arange(start, end + 1) - end) / span - 0.0)
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
    windows = sum(len(case.incidents) for case in cases)
    parts = [gains(case, each) for case, each in zip(cases, scores, strict=True)]
    grid = np.unique(np.concatenate([part[0] for part in parts]))[::-1]
    if len(grid) > 2000:
        grid = grid[np.unique(np.linspace(0, len(grid) - 1, 2000).astype(int))]
    sums = np.zeros(len(grid))
    for case, (thresholds, gain) in zip(cases, parts, strict=True):
        steps = np.concatenate([[-float(len(case.incidents))], gain])
        sums += steps[np.searchsorted(-thresholds, -grid, side="right")]
    best = int(np.argmax(sums))
    perfect = sum(float(weight(np.array(-1.0))) for _ in range(windows))
    return 100 * (sums[best] + windows) / (perfect + windows), float(grid[best])
