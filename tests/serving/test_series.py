"""The chart's data: the right window, the right slot of the right day, nothing twice."""

import datetime as dt

import pytest

from contracts.feeds import Feed, Rule
from contracts.public_holidays import Holidays
from serving.memory import Reading
from serving.series import Window, expected, series, window
from serving.tables import Arrays

UTC = dt.UTC
NOON = dt.datetime(2026, 11, 18, 17, 0, 4, tzinfo=UTC)  # a Wednesday, 12:00:04 in New York


def a_feed(**overrides) -> Feed:
    return Feed(
        **{
            "name": "f",
            "description": "d",
            "record": "service_use_record",
            "interval_seconds": 60,
            "spread_window_seconds": 3600,
            **overrides,
        }
    )


def by_slot(feed: Feed):
    """Arrays that tell where they were read: 10,000 times the day type plus the slot."""
    return lambda day: Arrays([10_000.0 * day + slot for slot in range(feed.slots)], [1.0] * feed.spread_windows, 1.0)


def values(feed, arrays, start, until):
    return [(each.at, each.expected) for _, each in expected(feed, arrays, start, until)]


def ms(at: dt.datetime) -> int:
    return round(at.timestamp() * 1000)


def test_slots_are_counted_on_the_wall_clock_of_the_feed():
    feed = a_feed(timezone="America/New_York")
    found = values(feed, by_slot(feed), NOON, NOON + dt.timedelta(minutes=2))
    at = NOON.replace(second=0)
    assert found == [(at + dt.timedelta(minutes=1), 30_721.0), (at + dt.timedelta(minutes=2), 30_722.0)]


def test_the_day_turns_at_local_midnight():
    feed = a_feed(timezone="America/New_York", interval_seconds=3600)
    start = dt.datetime(2026, 11, 19, 4, tzinfo=UTC)  # Wednesday 23:00 in New York
    assert [value for _, value in values(feed, by_slot(feed), start, start + dt.timedelta(hours=1))] == [30_023.0, 40_000.0]


def test_a_holiday_is_a_sunday():
    feed = a_feed(timezone="America/New_York", interval_seconds=3600, holidays=Holidays(country="US"))
    thanksgiving = dt.datetime(2026, 11, 26, 17, tzinfo=UTC)
    assert values(feed, by_slot(feed), thanksgiving, thanksgiving) == [(thanksgiving, 70_012.0)]


@pytest.mark.parametrize(
    ("start", "slots"),
    [
        (dt.datetime(2026, 3, 8, 6, tzinfo=UTC), [1.0, 3.0]),  # 01:00 EST, then the clock skips to 03:00
        (dt.datetime(2026, 11, 1, 5, tzinfo=UTC), [1.0, 1.0]),  # 01:00 EDT, then 01:00 EST once more
    ],
)
def test_daylight_saving_follows_the_clock(start, slots):
    feed = a_feed(timezone="America/New_York", interval_seconds=3600)
    assert [value - 70_000 for _, value in values(feed, by_slot(feed), start, start + dt.timedelta(hours=1))] == slots


def test_slots_without_baseline_are_left_out():
    feed = a_feed()
    at = NOON.replace(second=0)
    empty = Arrays([None] * feed.slots, [None] * feed.spread_windows, 1.0)
    assert values(feed, lambda day: empty, at, at + dt.timedelta(minutes=5)) == []
    assert values(feed, lambda day: None, at, at + dt.timedelta(minutes=5)) == []
    assert values(feed, lambda day: Arrays([], [], 1.0), at, at + dt.timedelta(minutes=5)) == []


def test_what_is_expected_grows_with_the_service():
    feed = a_feed(rule=Rule(percent=10))
    at = NOON.replace(second=0)
    ((_, found),) = expected(feed, lambda day: Arrays([80.0] * feed.slots, [], 1.25), at, at)
    assert (found.expected, found.low, found.high) == (100.0, pytest.approx(90), pytest.approx(110))


@pytest.mark.parametrize(
    ("clock", "spread"),
    [((0, 0), 1.0), ((5, 59), 1.0), ((6, 0), 2.0), ((11, 59), 2.0), ((12, 0), None), ((18, 0), 4.0), ((23, 59), 4.0)],
)
def test_a_spread_holds_for_its_window_of_slots(clock, spread):
    feed = a_feed(rule=Rule(percent=None, spread=3))
    at = dt.datetime(2026, 11, 18, *clock, tzinfo=UTC)
    ((_, found),) = expected(feed, lambda day: Arrays([80.0] * feed.slots, [1.0, 2.0, None, 4.0], 1.25), at, at)
    band = (None, None) if spread is None else (100 - 3 * spread, 100 + 3 * spread)
    assert (found.expected, found.low, found.high) == (100.0, *band)


def test_readings_and_expectations_never_overlap_and_leave_no_hole():
    feed = a_feed(rule=Rule(percent=10))
    end = NOON.replace(second=0)
    read = [end - dt.timedelta(minutes=back) for back in (8, 7, 4, 1)]
    readings = [Reading(ms(at), 50, 100.0, 1.0, 50.0, at == read[2], 2) for at in read]
    found = series(feed, "a", window(feed, ms(read[-1]), end, 8), readings, {}, by_slot(feed))
    assert [each.at for each in found.points] == read
    assert [each.anomalous for each in found.points] == [False, False, True, False]
    assert (found.points[0].low, found.points[0].high, found.points[0].pct) == (pytest.approx(90), pytest.approx(110), 50.0)
    whole = sorted([each.at for each in found.points] + [each.at for each in found.expected])
    assert whole == [end + dt.timedelta(minutes=minute) for minute in range(-8, 3)], "8 minutes back, a quarter of that ahead"
    assert (found.start, found.end, found.until, found.live) == (whole[0], end, whole[-1], True)
    ahead = found.expected[-1]
    assert (ahead.low, ahead.high) == (pytest.approx(ahead.expected * 0.9), pytest.approx(ahead.expected * 1.1))


def test_a_feed_that_lies_in_the_past_is_shown_where_it_is():
    newest, hour, quarter = NOON - dt.timedelta(days=90), dt.timedelta(hours=1), dt.timedelta(minutes=15)
    live = Window(NOON - hour, NOON, NOON + quarter, live=True)
    assert window(a_feed(), ms(newest), NOON, 60) == Window(newest - hour, newest, newest + quarter, live=False)
    assert window(a_feed(), ms(NOON - dt.timedelta(minutes=59)), NOON, 60) == live
    assert window(a_feed(), None, NOON, 60) == live


def test_around_an_instant_history_fills_what_memory_no_longer_holds_and_says_no_verdict():
    feed = a_feed(rule=Rule(percent=10))
    at = NOON.replace(second=0)
    shown = window(feed, ms(NOON), NOON + dt.timedelta(days=1), 8, at)
    minutes = {minute: at + dt.timedelta(minutes=minute) for minute in range(-8, 5)}
    assert (shown.start, shown.end, shown.until, shown.live) == (minutes[-6], minutes[2], minutes[2], False)
    held = [Reading(ms(minutes[minute]), 50, 100.0, 1.0, 50.0, True, 2) for minute in (-1, 0, 4)]
    archived = {ms(minutes[minute]): 70 + minute for minute in (-6, -3, -1, 0)}
    found = series(feed, "a", shown, held, archived, by_slot(feed))
    assert [(each.at, each.value, each.anomalous) for each in found.points] == [
        (minutes[-6], 64, None),
        (minutes[-3], 67, None),
        (minutes[-1], 50, True),
        (minutes[0], 50, True),
    ], "memory wins: it knows the verdict; what lies after the window is left out"
    archived_one = found.points[0]
    assert (archived_one.expected, archived_one.low) == (31_014.0, pytest.approx(31_014 * 0.9))
    assert (archived_one.pct, archived_one.baseline_version) == (None, None)
    assert [each.at for each in found.expected] == [minutes[minute] for minute in (-5, -4, -2, 1, 2)]


def test_a_long_interval_still_looks_ahead():
    feed = a_feed(interval_seconds=3600)
    found = series(feed, "a", window(feed, None, NOON, 60), [], {}, by_slot(feed))
    hour = NOON.replace(second=0)
    assert [each.at for each in found.expected] == [hour + dt.timedelta(hours=each) for each in (0, 1, 2)]
