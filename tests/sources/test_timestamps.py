"""Timestamps as people type them."""

import pytest

from contracts.feeds import load_feed
from sources.timestamps import TimestampError, parse_timestamp

NOW = 1_790_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("-35d", NOW - 35 * 86_400_000),
        ("now+90s", NOW + 90_000),
        ("1998-06-10", 897451200_000),
        ("1998-06-10 17:30", 897514200_000),
        ("1998-06-10T17:30:00Z", 897499800_000),
        ("2026-11-01 01:30", 1793511000_000),  # of the repeated hour the first pass
    ],
)
def test_moments(text, expected):
    assert parse_timestamp(text, load_feed("service-use"), NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "35d", "-3w", "1998-02-30"])
def test_no_moments(text):
    with pytest.raises(TimestampError, match="is no time"):
        parse_timestamp(text, load_feed("service-use"), NOW)
