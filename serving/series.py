"""The chart's data: one service's readings in a window, from history and memory, beside what is expected, in buckets."""

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from contracts.feeds import Feed
from serving import models
from serving.archived import Archived
from serving.band import band
from serving.buckets import buckets, grid
from serving.expectation import ArraysOfDay, expectation
from serving.local_clock import interval_start
from serving.memory import Reading
from serving.merged import Readings, judged, merged
from serving.scored import Scored

FIRST, LAST = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2200, 1, 1, tzinfo=dt.UTC)  # of the instants that can be shown
LONGEST_AHEAD = dt.timedelta(days=1)


@dataclass(frozen=True)
class Window:
    """From start to end there may be readings, from end to until there are none yet. Live: it ends now, and moves on."""

    start: dt.datetime
    end: dt.datetime
    until: dt.datetime
    live: bool


def window(feed: Feed, newest: int | None, now: dt.datetime, minutes: int) -> Window:
    """The window that ends now, in the interval that is going on. A quarter of its length lies ahead, at most a day.

    A feed that lies in the past (a replay) is shown where it is.
    """
    span = dt.timedelta(minutes=minutes)
    ahead = max(min(span / 4, LONGEST_AHEAD), dt.timedelta(seconds=2 * feed.interval_seconds))
    live = newest is None or instant(newest) >= now - span
    going_on = dt.datetime.fromtimestamp(interval_start(feed, now.timestamp()), dt.UTC)
    end = going_on if live else instant(newest)
    return Window(end - span, end, end + ahead, live)


def series(
    feed: Feed,
    service: str,
    shown: Window,
    width: int,
    archived: Archived,
    live: Scored,
    arrays: ArraysOfDay,
    version: int | None,
) -> dict[str, Any]:
    """The fields of models.Series; arrays of NumPy where it has lists.

    archived, live: what history and memory hold of the window. version: of the baseline in force, which `arrays` is.
    """
    cut = grid(feed, shown.start.timestamp(), shown.until.timestamp(), width)
    once = merged(archived, live).between(1000 * cut.start, round(1000 * shown.end.timestamp()))
    readings = judged(once, feed.rule, expectation(feed, arrays, once.at // 1000), version)
    return {
        "feed": feed.name,
        "service": service,
        "interval_seconds": feed.interval_seconds,
        "bucket_seconds": cut.seconds,
        "timezone": feed.timezone,
        "start": dt.datetime.fromtimestamp(cut.start, dt.UTC),
        "end": shown.end,
        "until": shown.until,
        "live": shown.live,
        "newest": _newest(feed, readings),
        "buckets": buckets(cut, feed.rule, readings, cut.place(once.at), expectation(feed, arrays, cut.intervals)),
    }


def _newest(feed: Feed, readings: Readings) -> dict[str, Any] | None:
    if not len(readings.at):
        return None
    at, value, expected, spread, pct, anomalous, version = (column[-1].item() for column in readings)
    return point(feed, Reading(at, value, known(expected), known(spread), known(pct), anomalous, version)).model_dump()


def point(feed: Feed, reading: Reading) -> models.Point:
    low, high = band(feed.rule, _double(reading.expected), _double(reading.spread))
    return models.Point(
        at=instant(reading.at),
        value=reading.value,
        expected=reading.expected,
        low=known(low),
        high=known(high),
        pct=reading.pct,
        anomalous=reading.anomalous,
        baseline_version=reading.baseline_version,
    )


def known(number: float | np.ndarray) -> float | None:
    return None if math.isnan(number) else float(number)


def _double(number: float | None) -> float:
    return math.nan if number is None else number


def instant(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
