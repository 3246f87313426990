"""What the baseline in force expects at moments of a window, as arrays."""

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from contracts.feeds import SECONDS_PER_DAY, Feed
from serving.local_clock import ahead_of_utc
from serving.tables import Arrays

ArraysOfDay = Callable[[int], Arrays | None]  # day type to the service's baseline
EPOCH = dt.date(1970, 1, 1)


class Expectation(NamedTuple):
    """By moment; NaN where there is no baseline."""

    expected: np.ndarray  # in the unit of the value
    spread: np.ndarray  # likewise


def expectation(feed: Feed, arrays: ArraysOfDay, at: np.ndarray) -> Expectation:
    """Of the intervals in which these moments lie (epoch seconds, ascending), by the slot that the feed's clock shows."""
    expected, spread = np.full(len(at), np.nan), np.full(len(at), np.nan)
    if not len(at):
        return Expectation(expected, spread)
    wall = at + _ahead_of_utc(feed, at)
    days, second = np.divmod(wall, SECONDS_PER_DAY)
    slots = second // feed.interval_seconds
    dates = [EPOCH + dt.timedelta(days=day.item()) for day in (days.min(), days.max())]
    day_types = feed.calendar.day_types(*dates)
    begins = [0, *(np.flatnonzero(np.diff(days)) + 1).tolist(), len(at)]
    for start, end in pairwise(begins):
        of_day = arrays(day_types[EPOCH + dt.timedelta(days=days[start].item())])
        if of_day is None:
            continue
        # A baseline of longer intervals has fewer slots.
        there = np.flatnonzero(slots[start:end] < len(of_day.normal)) + start
        averages = of_day.normal[slots[there]] * of_day.growth
        expected[there] = averages
        if of_day.spread.size:
            window = slots[there] * len(of_day.spread) // feed.slots
            spread[there] = np.where(np.isnan(averages), np.nan, of_day.spread[window])
    return Expectation(expected, spread)


def _ahead_of_utc(feed: Feed, at: np.ndarray) -> np.ndarray:
    """Seconds by which the feed's clock is ahead of UTC at each of these moments."""
    ahead = np.empty(len(at), np.int64)
    for start, end, seconds in _even(feed, at, 0, len(at)):
        ahead[start:end] = seconds
    return ahead


def _even(feed: Feed, at: np.ndarray, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Parts of [start, end), each with how many seconds the clocks are ahead of UTC. They are not changed twice in a day."""
    first, last = at[start].item(), at[end - 1].item()
    before, after = ahead_of_utc(feed, first), ahead_of_utc(feed, last)
    if before == after and last - first <= SECONDS_PER_DAY:
        yield start, end, before
        return
    middle = (start + end) // 2
    yield from _even(feed, at, start, middle)
    yield from _even(feed, at, middle, end)
