"""The chart's data: readings of a window, and what the baseline expects of the intervals that have none yet."""

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from contracts.feeds import Feed
from serving.band import band
from serving.memory import Reading
from serving.models import ExpectedPoint, Point, Series
from serving.tables import Arrays

FIRST, LAST = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2200, 1, 1, tzinfo=dt.UTC)  # of the instants that can be shown
ArraysOfDay = Callable[[int], Arrays | None]  # day type to the service's baseline


@dataclass(frozen=True)
class Window:
    """From start to end there may be readings, from end to until there are none yet. Live: it ends now, and moves on."""

    start: dt.datetime
    end: dt.datetime
    until: dt.datetime
    live: bool


def window(feed: Feed, newest: int | None, now: dt.datetime, minutes: int, at: dt.datetime | None = None) -> Window:
    """The window that ends now, a quarter of it lying ahead; or the one around `at`, three quarters before it.

    Without `at`, a feed that lies in the past (a replay) is shown where it is.
    """
    span = dt.timedelta(minutes=minutes)
    ahead = max(span / 4, dt.timedelta(seconds=2 * feed.interval_seconds))
    if at is not None:
        return Window(at - span * 3 / 4, at + ahead, at + ahead, live=False)
    live = newest is None or instant(newest) >= now - span
    end = now if live else instant(newest)
    return Window(end - span, end, end + ahead, live)


def series(
    feed: Feed, service: str, shown: Window, readings: list[Reading], archived: dict[int, int], arrays: ArraysOfDay
) -> Series:
    """Everything the chart of one service shows. `archived`: value by epoch milliseconds of what history holds of the window."""
    start, end, until = shown.start, shown.end, shown.until
    interval = 1000 * feed.interval_seconds
    judged = {each.at: point(feed, each) for each in readings if start <= instant(each.at) <= end}
    wanted = dict(expected(feed, arrays, start, until))
    others = {at: unjudged(at, value, wanted.get(at // interval)) for at, value in archived.items() if at not in judged}
    points = [each for _, each in sorted((judged | others).items())]
    read = {at // interval for at in judged.keys() | others.keys()}
    return Series(
        feed=feed.name,
        service=service,
        interval_seconds=feed.interval_seconds,
        timezone=feed.timezone,
        start=start,
        end=end,
        until=until,
        live=shown.live,
        points=points,
        expected=[each for number, each in wanted.items() if number not in read],
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


def unjudged(at: int, value: int, wanted: ExpectedPoint | None) -> Point:
    """A reading that memory no longer holds, beside what the baseline in force expects of its interval."""
    beside = {name: getattr(wanted, name, None) for name in ("expected", "low", "high")}
    return Point(at=instant(at), value=value, **beside, pct=None, anomalous=None, baseline_version=None)


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
    if arrays is None or slot >= len(arrays.normal) or arrays.normal[slot] is None:
        return None, None
    spread = arrays.spread[slot * len(arrays.spread) // slots] if arrays.spread else None
    return arrays.normal[slot] * arrays.growth, spread


def instant(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
