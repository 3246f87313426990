"""The clock of a feed's time zone. Its intervals are counted from local midnight: in Kolkata, hours begin at half past of UTC."""

import datetime as dt

from contracts.feeds import Feed


def ahead_of_utc(feed: Feed, second: float) -> int:
    """Seconds by which the feed's clock is ahead of UTC at this moment (epoch seconds)."""
    offset = dt.datetime.fromtimestamp(second, feed.zone).utcoffset()
    assert offset is not None  # a zone's clocks always have one
    return round(offset.total_seconds())


def interval_start(feed: Feed, second: float) -> int:
    """When the interval began that goes on at this moment (epoch seconds)."""
    return int(second - (second + ahead_of_utc(feed, second)) % feed.interval_seconds)
