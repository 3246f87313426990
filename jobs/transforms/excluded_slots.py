"""Ranges of time that the robust normal leaves out, for example incidents, and what people or calendars declare."""

import datetime as dt
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

EPOCH = dt.date(1970, 1, 1)
# Offsets of time zones change at such a quarter of an hour only (since 1972), so within it the local clock goes on evenly.
EVEN = dt.timedelta(minutes=15)
SECONDS_PER_DAY = 86_400

Range = tuple[dt.datetime, dt.datetime]


def excluded(
    ranges: Iterable[Range], dates: npt.NDArray[np.int32], timezone: dt.tzinfo, interval_seconds: int
) -> npt.NDArray[np.bool_]:
    """By date and slot, whether any part of the interval is in one of the ranges.

    ranges: first instant, and the first instant after it; both with a time zone. dates: local, in days since 1970, ascending.
    Of the hour that comes twice when clocks go back, a slot is left out if either of the two is. Raises ValueError for a range
    without a time zone, or that ends before it begins.
    """
    slots = SECONDS_PER_DAY // interval_seconds
    found = np.zeros((len(dates), slots), bool)
    row = {int(date): at for at, date in enumerate(dates)}
    for start, end in ranges:
        if start.tzinfo is None or end.tzinfo is None or end < start:
            raise ValueError(f"{start} to {end} is no range of instants: both need a time zone, and the end may not come first")
        if row:
            for date, first, last in _pieces(*_within(start, end, dates), timezone):
                if date in row:
                    found[row[date], int(first // interval_seconds) : int(-(-last // interval_seconds))] = True
    return found


def _within(start: dt.datetime, end: dt.datetime, dates: npt.NDArray[np.int32]) -> Range:
    """The part of the range that may touch these dates, in UTC: a long one is not walked through as a whole."""
    first, last = (EPOCH + dt.timedelta(days=int(each)) for each in (dates[0] - 1, dates[-1] + 2))
    earliest, latest = (dt.datetime.combine(each, dt.time(), dt.UTC) for each in (first, last))
    return max(start.astimezone(dt.UTC), earliest), min(end.astimezone(dt.UTC), latest)


def _pieces(start: dt.datetime, end: dt.datetime, timezone: dt.tzinfo) -> Iterable[tuple[int, float, float]]:
    """(local date in days since 1970, first second of that day, last one exclusive) for each quarter of an hour, in UTC."""
    while start < end:
        into = dt.timedelta(seconds=start.timestamp() % EVEN.total_seconds())
        stop = min(start - into + EVEN, end)
        local = start.astimezone(timezone)
        second = local.hour * 3600 + local.minute * 60 + local.second + local.microsecond / 1e6
        yield (local.date() - EPOCH).days, second, second + (stop - start).total_seconds()
        start = stop
