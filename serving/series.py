"""The chart's data: readings of a window, and what the baseline expects of the intervals that have none yet."""

import datetime as dt
from collections.abc import Callable, Iterator

from contracts.feeds import Feed
from serving.band import band
from serving.memory import Reading
from serving.models import ExpectedPoint, Point, Series
from serving.tables import Arrays

ArraysOfDay = Callable[[int], Arrays | None]  # day type to the service's baseline


def window(newest: int | None, now: dt.datetime, minutes: int) -> tuple[dt.datetime, dt.datetime, bool]:
    """Start and end of the window, and whether it ends now. A feed that lies in the past (a replay) is shown where it is."""
    span = dt.timedelta(minutes=minutes)
    if newest is None or instant(newest) >= now - span:
        return now - span, now, True
    return instant(newest) - span, instant(newest), False


def series(
    feed: Feed, service: str, readings: list[Reading], arrays: ArraysOfDay, newest: int | None, now: dt.datetime, minutes: int
) -> Series:
    """Everything the chart of one service shows; a quarter of the window lies ahead."""
    start, end, live = window(newest, now, minutes)
    shown = [each for each in readings if instant(each.at) >= start]
    until = end + max(dt.timedelta(minutes=minutes) / 4, dt.timedelta(seconds=2 * feed.interval_seconds))
    read = {each.at // (1000 * feed.interval_seconds) for each in shown}
    return Series(
        feed=feed.name,
        service=service,
        interval_seconds=feed.interval_seconds,
        timezone=feed.timezone,
        start=start,
        end=end,
        until=until,
        live=live,
        points=[point(feed, each) for each in shown],
        expected=[each for number, each in expected(feed, arrays, start, until) if number not in read],
    )


def point(feed: Feed, reading: Reading) -> Point:
    low, high = band(feed.rule, reading.expected, reading.spread) or (None, None)
    return Point(
        at=instant(reading.at),
        value=reading.value,
        expected=reading.expected,
        low=low,
        high=high,
        pct=reading.pct,
        anomalous=reading.anomalous,
        baseline_version=reading.baseline_version,
    )


def expected(feed: Feed, arrays: ArraysOfDay, start: dt.datetime, until: dt.datetime) -> Iterator[tuple[int, ExpectedPoint]]:
    """What is expected of each interval that begins in [start, until], with its number since the epoch. No baseline: left out."""
    days: dict[dt.date, Arrays | None] = {}
    for number in range(-(-int(start.timestamp()) // feed.interval_seconds), int(until.timestamp()) // feed.interval_seconds + 1):
        at = dt.datetime.fromtimestamp(number * feed.interval_seconds, dt.UTC)
        local = at.astimezone(feed.zone)
        if local.date() not in days:
            days[local.date()] = arrays(feed.day_type(local.date()))
        slot = (local.hour * 3600 + local.minute * 60 + local.second) // feed.interval_seconds
        here, spread = _cell(days[local.date()], slot, feed.slots)
        if here is not None:
            low, high = band(feed.rule, here, spread) or (None, None)
            yield number, ExpectedPoint(at=at, expected=here, low=low, high=high)


def _cell(arrays: Arrays | None, slot: int, slots: int) -> tuple[float | None, float | None]:
    """What is expected of a slot, and the spread of the window of neighbouring slots that it lies in."""
    if arrays is None or slot >= len(arrays.last4avg) or arrays.last4avg[slot] is None:
        return None, None
    spread = arrays.spread[slot * len(arrays.spread) // slots] if arrays.spread else None
    return arrays.last4avg[slot] * arrays.growth, spread


def instant(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
