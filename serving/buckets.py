"""Readings as buckets of equal length, few enough to draw. Each has the lowest, the highest and the mean of its readings, so that
no spike is lost, and the number of anomalies."""

import math
from dataclasses import dataclass

import numpy as np

from contracts.feeds import Feed, Rule
from serving.band import band
from serving.expectation import Expectation
from serving.local_clock import ahead_of_utc
from serving.merged import Readings


@dataclass(frozen=True)
class Grid:
    """Buckets, one after the other. Their length is a number of intervals. They begin at multiples of it since local midnight, by
    the clock at the window's start: a window that moves on keeps its buckets."""

    interval_seconds: int
    per_bucket: int  # intervals
    start: int  # of the first bucket, epoch seconds
    buckets: int

    @property
    def seconds(self) -> int:
        """Length of a bucket."""
        return self.per_bucket * self.interval_seconds

    @property
    def intervals(self) -> np.ndarray:
        """When each interval begins, epoch seconds."""
        return self.start + self.interval_seconds * np.arange(self.buckets * self.per_bucket)

    def place(self, at: np.ndarray) -> np.ndarray:
        """Indexes of the intervals in which these instants lie (epoch milliseconds)."""
        return (at - 1000 * self.start) // (1000 * self.interval_seconds)


def grid(feed: Feed, start: float, until: float, width: int) -> Grid:
    """At most `width` buckets that cover [start, until] (epoch seconds). They divide a day, or are whole days."""
    least = max(1, -(-int(until - start) // (feed.interval_seconds * (width - 1))))
    divisors = (each for each in range(least, feed.slots + 1) if feed.slots % each == 0)
    per_bucket = next(divisors, -(-least // feed.slots) * feed.slots)
    seconds = per_bucket * feed.interval_seconds
    first = math.floor(start - (start + ahead_of_utc(feed, start)) % seconds)
    return Grid(feed.interval_seconds, per_bucket, first, int(until - first) // seconds + 1)


def buckets(grid: Grid, rule: Rule, readings: Readings, place: np.ndarray, beside: Expectation) -> dict[str, np.ndarray]:
    """The columns of models.Buckets; NaN: nothing there. place: the index in the grid of each reading's interval. beside: what is
    expected of each interval of the grid."""
    expected, spread = beside.expected.copy(), beside.spread.copy()
    expected[place], spread[place] = readings.expected, readings.spread
    low, high = (each.reshape(-1, grid.per_bucket) for each in band(rule, expected, spread))
    starts = np.searchsorted(place, np.arange(grid.buckets + 1) * grid.per_bucket)
    count = np.diff(starts)
    there = np.flatnonzero(count)

    def of_readings(reduced: np.ufunc, column: np.ndarray) -> np.ndarray:
        found = np.full(grid.buckets, np.nan)
        if there.size:
            found[there] = reduced.reduceat(column, starts[there])
        return found

    return {
        "count": count,
        "min": of_readings(np.minimum, readings.value),
        "max": of_readings(np.maximum, readings.value),
        "mean": of_readings(np.add, readings.value.astype(float)) / np.maximum(count, 1),
        "anomalies": np.nan_to_num(of_readings(np.add, readings.anomalous.astype(np.int64))).astype(np.int64),
        "expected": _mean(expected.reshape(-1, grid.per_bucket)),
        "low": np.fmin.reduce(low, axis=1),
        "high": np.fmax.reduce(high, axis=1),
    }


def _mean(rows: np.ndarray) -> np.ndarray:
    """Of what is known of each row; NaN where nothing is."""
    known = ~np.isnan(rows)
    counted = known.sum(axis=1)
    return np.where(counted, np.where(known, rows, 0.0).sum(axis=1) / np.maximum(counted, 1), np.nan)
