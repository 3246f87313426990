"""What the baseline in force expects of each interval of a window, as arrays."""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from contracts.feeds import SECONDS_PER_DAY, Feed
from serving.tables import Arrays

ArraysOfDay = Callable[[int], Arrays | None]  # day type to the service's baseline
EPOCH = dt.date(1970, 1, 1)


class Expectation(NamedTuple):
    """By interval; NaN where there is no baseline."""

    expected: np.ndarray  # in the unit of the value
    spread: np.ndarray  # likewise


def expectation(feed: Feed, arrays: ArraysOfDay, first: int, intervals: int) -> Expectation:
    """Of so many intervals. first: the first one's number since the epoch."""
    seconds = (first + np.arange(intervals, dtype=np.int64)) * feed.interval_seconds
    wall = seconds + _utc_offsets(feed, seconds)
    days, slots = wall // SECONDS_PER_DAY, wall % SECONDS_PER_DAY // feed.interval_seconds
    expected, spread = np.full(intervals, np.nan), np.full(intervals, np.nan)
    starts = np.flatnonzero(np.diff(days, prepend=days[:1] - 1))
    for start, end in zip(starts, [*starts[1:], intervals], strict=True):
        of_day = arrays(feed.day_type(EPOCH + dt.timedelta(days=int(days[start]))))
        if of_day is None or not of_day.last4avg.size:
            continue
        here = slots[start:end]
        there = np.minimum(here, len(of_day.last4avg) - 1)
        expected[start:end] = np.where(here == there, of_day.last4avg[there] * of_day.growth, np.nan)
        if of_day.spread.size:
            spread[start:end] = of_day.spread[here * len(of_day.spread) // feed.slots]
    return Expectation(expected, np.where(np.isnan(expected), np.nan, spread))


def _utc_offsets(feed: Feed, seconds: np.ndarray) -> np.ndarray:
    """By how many seconds the clocks of the feed's zone are ahead of UTC at each of these instants (ascending)."""
    offsets = np.zeros(len(seconds), np.int64)
    for start, end, offset in _even(feed, seconds, 0, len(seconds)):
        offsets[start:end] = offset
    return offsets


def _even(feed: Feed, seconds: np.ndarray, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Parts of [start, end) in which the clocks go on evenly. They are not changed twice in a day."""
    if start == end:
        return
    first, last = _offset(feed, seconds[start]), _offset(feed, seconds[end - 1])
    if first == last and seconds[end - 1] - seconds[start] <= SECONDS_PER_DAY:
        yield start, end, first
        return
    middle = (start + end) // 2
    yield from _even(feed, seconds, start, middle)
    yield from _even(feed, seconds, middle, end)


def _offset(feed: Feed, second: np.int64) -> int:
    offset = dt.datetime.fromtimestamp(int(second), feed.zone).utcoffset()
    assert offset is not None  # a zone's clocks always have one
    return round(offset.total_seconds())
