"""Incidents of eight kinds, injected into series: what is to be detected, and the windows in which a detection counts."""

from dataclasses import dataclass

import numpy as np

from bench.detection_series import DAY, Series

KINDS = ("drop", "surge", "drift", "shift", "silence", "shape", "noise", "spike")
HOURS = {"drop": (1, 8), "surge": (1, 8), "drift": (12, 36), "silence": (1, 8), "shape": (24, 24), "noise": (4, 16)}
PROBATION = 0.15  # of a series: nothing there counts
WINDOW_SHARE = 0.1  # of a series, divided by its incidents: the window around an onset


@dataclass(frozen=True)
class Incident:
    """Rows start <= row < end of a series are not as they would have been."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Labelled:
    series: Series
    incidents: list[Incident]

    def windows(self) -> list[tuple[int, int]]:
        """First and last row around each onset, as the Numenta benchmark draws them: a tenth of the series in all (Lavin & Ahmad,
        "Evaluating real-time anomaly detection algorithms", 2015, section II)."""
        rows = len(self.series.times)
        half = int(rows * WINDOW_SHARE / len(self.incidents) / 2)
        return [(max(int(rows * PROBATION), each.start - half), min(rows - 1, each.start + half)) for each in self.incidents]


def labelled(series: Series) -> Labelled:
    """The series with one to three incidents, always the same ones, apart by at least a twelfth of it."""
    random = np.random.default_rng([*series.name.encode(), 7])
    rows, values = len(series.times), series.values.copy()
    found: list[Incident] = []
    for at in _onsets(random, rows, int(random.integers(1, 4))):
        kind = _possible(KINDS[random.integers(len(KINDS))], series, values[:at])
        end = rows if kind == "shift" else int(np.searchsorted(series.times, series.times[at] + _length(kind, series, random)))
        end = max(end, at + 1)
        values[at:end] = _changed(kind, series, values, at, end, random)
        found.append(Incident(kind, at, end))
    changed = Series(series.name, series.group, series.interval, series.times, values)
    return Labelled(changed, sorted(found, key=lambda each: each.start))


def _onsets(random: np.random.Generator, rows: int, wanted: int) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < wanted:
        at = int(random.uniform(0.22, 0.93) * rows)
        if all(abs(at - each) > rows / 12 for each in chosen):
            chosen.append(at)
    return chosen


def _possible(kind: str, series: Series, past: np.ndarray) -> str:
    """Another kind where this one would change nothing: a silence among zeros, other hours where all hours are alike."""
    if kind in ("silence", "drop") and np.median(past) < (4 if series.group == "counts" else 1e-9):
        return "surge"
    hours = np.array([np.median(past[series.times[: len(past)] // 3600 % 24 == hour]) for hour in range(24)])
    return "shift" if kind == "shape" and np.ptp(hours) < 1.5 * np.median(np.abs(np.diff(past))) + 0.3 * past.std() else kind


def _length(kind: str, series: Series, random: np.random.Generator) -> int:
    if kind == "spike":
        return series.interval
    return max(int(random.uniform(*HOURS[kind]) * 3600), 4 * series.interval)


def _changed(kind: str, series: Series, values: np.ndarray, at: int, end: int, random: np.random.Generator) -> np.ndarray:
    """The values of the rows at..end. How large a change is depends on the series' own level, spread and tail."""
    normal, past = values[at:end], values[max(0, at - 2000) : at]
    level, spread = np.median(past), max(1.4826 * np.median(np.abs(past - np.median(past))), past.std() / 3, 1e-9)
    tail = np.quantile(np.abs(past - level), 0.999)
    counts = series.group == "counts"
    progress = np.linspace(0, 1, len(normal))
    up = random.random() < 0.6
    size = max(random.uniform(3, 8) * spread, random.uniform(0.5, 1.5) * tail)
    if kind == "drop":
        new = normal * random.uniform(0, 0.3) if counts else normal - np.sign(level or 1) * size
    elif kind == "surge":
        new = normal * random.uniform(1.5, 3) + random.uniform(0.7, 2) * tail if counts else normal + size
    elif kind == "drift":
        new = (
            normal * (1 + (random.uniform(0.6, 2) if up else -0.8) * progress)
            if counts
            else normal + (size if up else -size) * progress
        )
    elif kind == "shift":
        new = normal * (random.uniform(1.5, 3) if up else 0.4) if counts else normal + (size if up else -size) * 0.7
    elif kind == "silence":
        new = np.zeros(len(normal)) if counts else np.full(len(normal), normal[0])
    elif kind == "shape":
        new = _other_hours(series, values, at, end)
    elif kind == "noise":
        new = normal + random.normal(0, random.uniform(2, 4) * spread, len(normal))
    else:
        new = normal + (1 if up or counts else -1) * max(random.uniform(6, 15) * spread, random.uniform(0.8, 3) * tail)
    if counts:
        return np.maximum(np.rint(new), 0)
    return np.maximum(new, 0) if past.min() >= 0 else new


def _other_hours(series: Series, values: np.ndarray, at: int, end: int) -> np.ndarray:
    """The values of twelve hours before: day and night are swapped."""
    earlier = np.searchsorted(series.times, series.times[at:end] - DAY // 2)
    return values[np.minimum(earlier, at - 1)]
