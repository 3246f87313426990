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
    expected, spread = np.full(intervals, np.nan), np.full(intervals, np.nan)
    if not intervals:
        return Expectation(expected, spread)
    parts = list(_parts(feed, first, intervals))
    day_types = feed.calendar.day_types(parts[0].date, parts[-1].date)
    slots = np.arange(feed.slots)
    for part in parts:
        of_day = arrays(day_types[part.date])
        if of_day is None:
            continue
        averages = of_day.normal[part.slot : part.slot + part.length] * of_day.growth
        there = slice(part.start, part.start + len(averages))
        expected[there] = averages
        if of_day.spread.size:
            window = slots[part.slot : part.slot + len(averages)] * len(of_day.spread) // feed.slots
            spread[there] = np.where(np.isnan(averages), np.nan, of_day.spread[window])
    return Expectation(expected, spread)


class Part(NamedTuple):
    """Intervals of one local date in which the clocks go on evenly: one slot after the other."""

    date: dt.date
    slot: int  # of the first one
    start: int  # its index
    length: int


def _parts(feed: Feed, first: int, intervals: int) -> Iterator[Part]:
    """The parts of so many intervals, in order. first: the first one's number since the epoch."""
    for start, end, offset in _even(feed, first, 0, intervals):
        while start < end:
            wall = (first + start) * feed.interval_seconds + offset
            day, second = divmod(wall, SECONDS_PER_DAY)
            length = min(end - start, -(-(SECONDS_PER_DAY - second) // feed.interval_seconds))
            yield Part(EPOCH + dt.timedelta(days=day), second // feed.interval_seconds, start, length)
            start += length


def _even(feed: Feed, first: int, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Parts of [start, end), each with how many seconds the clocks are ahead of UTC. They are not changed twice in a day."""
    before, after = (_offset(feed, (first + index) * feed.interval_seconds) for index in (start, end - 1))
    if before == after and (end - 1 - start) * feed.interval_seconds <= SECONDS_PER_DAY:
        yield start, end, before
        return
    middle = (start + end) // 2
    yield from _even(feed, first, start, middle)
    yield from _even(feed, first, middle, end)


def _offset(feed: Feed, second: int) -> int:
    offset = dt.datetime.fromtimestamp(second, feed.zone).utcoffset()
    assert offset is not None  # a zone's clocks always have one
    return round(offset.total_seconds())
