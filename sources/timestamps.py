"""Timestamps as people type them: now, -35d, 1998-06-10, '1998-06-10 17:30', 2026-03-08T02:30:00-05:00."""

import datetime as dt
import re

from contracts.feeds import Feed
from sources.simulated_incidents import seconds


class TimestampError(ValueError):
    """Text that names no timestamp; the message says what would."""


def parse_timestamp(text: str, feed: Feed, now_ms: int) -> int:
    """Epoch milliseconds. Without an offset it is local time of the feed; of a repeated hour, the first pass."""
    if text == "now":
        return now_ms
    relative = re.fullmatch(r"(?:now)?([+-])(\d+[smhd])", text)
    if relative:
        span = seconds(relative[2]) * 1000
        return now_ms + span if relative[1] == "+" else now_ms - span
    try:
        parsed = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise TimestampError(f"{text!r} is no time: write now, -35d, 1998-06-10 or '1998-06-10 17:30'") from error
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=feed.zone)
    return round(parsed.timestamp() * 1000)


def format_timestamp(ms: int, feed: Feed) -> str:
    """A point in time as the feed's clock shows it."""
    return dt.datetime.fromtimestamp(ms / 1000, feed.zone).strftime("%Y-%m-%d %H:%M:%S %Z")
