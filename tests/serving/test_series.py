"""The chart's data: the right window, the right slot of the right day."""

import datetime as dt

import numpy as np
import pytest

from contracts.calendar_entries import Entry
from contracts.feeds import Feed, Rule
from contracts.public_holidays import Holidays
from serving.archived import NONE
from serving.band import band
from serving.buckets import grid
from serving.expectation import expectation
from serving.local_clock import interval_start
from serving.scored import NOTHING, Reading, Series
from serving.series import Window, series, window
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


def constant(value: float, feed: Feed, spread=(), growth: float = 1.0):
    return lambda day: Arrays(np.full(feed.slots, value), np.array(spread, float), growth)


def by_slot(feed: Feed):
    """Arrays that tell where they were read: 10,000 times the day type plus the slot."""
    return lambda day: Arrays(10_000.0 * day + np.arange(feed.slots), np.ones(feed.spread_windows), 1.0)


def found(feed, arrays, start: dt.datetime, intervals: int) -> dict[dt.datetime, float]:
    """What is expected of so many intervals, where there is a baseline."""
    at = interval_start(feed, start.timestamp()) + feed.interval_seconds * np.arange(intervals)
    expected = expectation(feed, arrays, at).expected
    times = [dt.datetime.fromtimestamp(each, UTC) for each in at.tolist()]
    return {at: each for at, each in zip(times, expected, strict=True) if not np.isnan(each)}


def ms(at: dt.datetime) -> int:
    return round(at.timestamp() * 1000)


def test_slots_are_counted_on_the_wall_clock_of_the_feed():
    feed = a_feed(timezone="America/New_York")
    at = NOON.replace(second=0)
    assert found(feed, by_slot(feed), NOON, 2) == {at: 30_720.0, at + dt.timedelta(minutes=1): 30_721.0}


def test_the_day_turns_at_local_midnight():
    feed = a_feed(timezone="America/New_York", interval_seconds=3600)
    start = dt.datetime(2026, 11, 19, 4, tzinfo=UTC)  # Wednesday 23:00 in New York
    assert list(found(feed, by_slot(feed), start, 2).values()) == [30_023.0, 40_000.0]


@pytest.mark.parametrize(("known", "expected"), [({}, [70_012.0]), ("weekday", [40_012.0]), ("itself", [12.0])])
def test_a_holiday_is_a_sunday_unless_the_baseline_in_force_knows_better(known, expected):
    thanksgiving, noon = dt.date(2026, 11, 26), dt.datetime(2026, 11, 26, 17, tzinfo=UTC)
    feed = a_feed(timezone="America/New_York", interval_seconds=3600, holidays=Holidays(country="US"))
    feed = feed.with_found({thanksgiving: known} if known else {})
    assert list(found(feed, by_slot(feed), noon, 1).values()) == expected


@pytest.mark.parametrize(
    ("like", "expected"), [("sunday", [70_012.0]), ("weekday", [50_012.0]), ("itself", [12.0]), (None, [70_012.0])]
)
def test_a_special_day_is_expected_to_be_what_it_is_like(like, expected):
    """Of the last, nothing is declared, and the baseline in force takes it for a Sunday. Day type 0 has none."""
    sale, noon = dt.date(2026, 11, 27), dt.datetime(2026, 11, 27, 17, tzinfo=UTC)
    entry = Entry(name="sale", description="sale", feeds=["f"], dates=[sale], like=like)
    feed = a_feed(timezone="America/New_York", interval_seconds=3600).with_entries([entry]).with_found({sale: "sunday"})
    assert list(found(feed, by_slot(feed), noon, 1).values()) == expected


@pytest.mark.parametrize(
    ("start", "slots"),
    [
        (dt.datetime(2026, 3, 8, 6, tzinfo=UTC), [1.0, 3.0]),  # 01:00 EST, then the clock skips to 03:00
        (dt.datetime(2026, 11, 1, 5, tzinfo=UTC), [1.0, 1.0]),  # 01:00 EDT, then 01:00 EST once more
    ],
)
def test_daylight_saving_follows_the_clock(start, slots):
    feed = a_feed(timezone="America/New_York", interval_seconds=3600)
    assert [value - 70_000 for value in found(feed, by_slot(feed), start, 2).values()] == slots


@pytest.mark.parametrize("timezone", ["America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"])
def test_every_interval_of_a_year_is_where_the_clock_says(timezone):
    feed = a_feed(timezone=timezone, interval_seconds=900)
    start = dt.datetime(2026, 1, 1, tzinfo=UTC)
    for at, value in found(feed, by_slot(feed), start, 366 * 96).items():
        local = at.astimezone(feed.zone)
        assert value == 10_000 * local.isoweekday() + (local.hour * 60 + local.minute) // 15


def test_slots_without_baseline_are_left_out():
    feed = a_feed()
    assert found(feed, constant(np.nan, feed), NOON, 5) == {}
    assert found(feed, lambda day: None, NOON, 5) == {}
    assert found(feed, lambda day: Arrays(np.zeros(0), np.zeros(0), 1.0), NOON, 5) == {}
    short = Arrays(np.ones(18 * 60), np.zeros(0), 1.0)
    assert len(found(feed, lambda day: short, NOON.replace(hour=17, minute=58), 5)) == 2, "as of a baseline of longer intervals"


def test_what_is_expected_grows_with_the_service():
    feed = a_feed(rule=Rule(percent=10))
    grown = expectation(feed, constant(80.0, feed, growth=1.25), np.array([0]))
    assert [each.item() for each in (*grown, *band(feed.rule, *grown))] == pytest.approx([100, np.nan, 90, 110], nan_ok=True)


@pytest.mark.parametrize(
    ("clock", "spread"),
    [((0, 0), 1.0), ((5, 59), 1.0), ((6, 0), 2.0), ((11, 59), 2.0), ((12, 0), np.nan), ((18, 0), 4.0), ((23, 59), 4.0)],
)
def test_a_spread_holds_for_its_window_of_slots(clock, spread):
    feed = a_feed(rule=Rule(percent=None, spread=3))
    at = dt.datetime(2026, 11, 18, *clock, tzinfo=UTC)
    here = expectation(feed, constant(80.0, feed, (1.0, 2.0, np.nan, 4.0), 1.25), np.array([int(at.timestamp())]))
    low, high = band(feed.rule, *here)
    assert (low.item(), high.item()) == pytest.approx((100 - 3 * spread, 100 + 3 * spread), nan_ok=True)


def shown_of(feed: Feed, shown: Window, width: int, *readings: Reading, arrays=None) -> dict:
    held = Series(100)
    for each in readings:
        held.put(each)
    live = held.scored(ms(shown.start), ms(shown.until)) if readings else NOTHING
    return series(feed, "a", shown, width, NONE, live, arrays or by_slot(feed), 2)


def test_every_interval_of_the_window_has_a_bucket_with_its_reading_or_what_is_expected():
    feed = a_feed(rule=Rule(percent=10))
    end = NOON.replace(second=0)
    read = [end - dt.timedelta(minutes=back) for back in (8, 7, 4, 1)]
    readings = [Reading(ms(at), 50, 100.0, 1.0, 50.0, at == read[2], 2) for at in read]
    window_ = window(feed, ms(read[-1]), NOON, 8)
    found = shown_of(feed, window_, 100, *readings)
    assert (found["start"], found["end"], found["until"]) == (read[0], end, end + dt.timedelta(minutes=2))
    columns = {name: column.tolist() for name, column in found["buckets"].items()}
    assert columns["count"] == [1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0], "8 minutes back, a quarter of that ahead"
    assert columns["anomalies"] == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert (columns["low"][0], columns["high"][0], columns["expected"][0]) == (pytest.approx(90), pytest.approx(110), 100.0)
    assert columns["expected"][2:4] == [31_014.0, 31_015.0]
    assert columns["high"][-1] == pytest.approx(1.1 * columns["expected"][-1])
    assert (found["newest"]["at"], found["newest"]["pct"], found["newest"]["baseline_version"]) == (read[-1], 50.0, 2)


def test_the_last_bucket_of_a_window_that_was_asked_for_has_its_end_and_nothing_later():
    feed = a_feed()
    at = NOON.replace(second=0)
    readings = [Reading(ms(at + dt.timedelta(minutes=minute)), minute, None, None, None, False, -1) for minute in (-1, 0, 7, 8)]
    found = shown_of(feed, Window(at, at + dt.timedelta(minutes=7), at + dt.timedelta(minutes=7), False), 100, *readings)
    assert (found["buckets"]["count"].tolist(), found["newest"]["value"]) == ([1, 0, 0, 0, 0, 0, 0, 1], 7)


@pytest.mark.parametrize(
    ("timezone", "interval", "begin"),
    [
        ("Asia/Kolkata", 3600, "2026-11-18T10:30:00+00:00"),  # 16:00
        ("Asia/Kathmandu", 1800, "2026-11-18T11:15:00+00:00"),  # 17:00
        ("America/Chicago", 21_600, "2026-11-18T06:00:00+00:00"),  # midnight
        ("America/New_York", 86_400, "2026-11-18T05:00:00+00:00"),  # midnight
    ],
)
def test_intervals_are_those_of_the_local_clock(timezone, interval, begin):
    """A reading of the interval that goes on is in a bucket of its own, and beside what is expected of its own slot."""
    feed = a_feed(timezone=timezone, interval_seconds=interval, spread_window_seconds=86_400)
    now, own = dt.datetime(2026, 11, 18, 11, 29, 59, tzinfo=UTC), dt.datetime.fromisoformat(begin)
    shown = window(feed, None, now, 60 * 24)
    assert shown.end == own
    found = shown_of(feed, shown, 4000, Reading(ms(own), 50, None, None, None, False, -1))
    place = round((own - found["start"]).total_seconds()) // interval
    assert found["start"] + place * dt.timedelta(seconds=interval) == own
    assert np.flatnonzero(found["buckets"]["count"]).tolist() == [place]
    local = own.astimezone(feed.zone)
    slot = (local.hour * 60 + local.minute) * 60 // interval
    assert found["newest"]["expected"] == found["buckets"]["expected"][place] == 10_000 * local.isoweekday() + slot


def test_a_reading_is_beside_what_its_own_slot_expects_after_a_change_of_the_clocks():
    """Intervals of six hours begin an hour earlier in UTC from the change on, and the buckets do not."""
    feed = a_feed(timezone="America/Chicago", interval_seconds=21_600, spread_window_seconds=86_400)
    at = [dt.datetime(2026, 3, day, hour, tzinfo=feed.zone).astimezone(UTC) for day in (7, 8, 9) for hour in (0, 6, 12, 18)]
    start = at[0] - dt.timedelta(hours=6)
    readings = [Reading(ms(each), 50, None, None, None, False, -1) for each in at]
    found = shown_of(feed, Window(start, at[-1], at[-1], False), 4000, *readings)
    assert found["newest"]["expected"] == 10_003.0
    assert found["buckets"]["count"].sum() == len(at)


def test_a_feed_that_lies_in_the_past_is_shown_where_it_is():
    newest, hour, quarter = NOON - dt.timedelta(days=90), dt.timedelta(hours=1), dt.timedelta(minutes=15)
    now = NOON.replace(second=0)
    live = Window(now - hour, now, now + quarter, live=True)
    assert window(a_feed(), ms(newest), NOON, 60) == Window(newest - hour, newest, newest + quarter, live=False)
    assert window(a_feed(), ms(NOON - dt.timedelta(minutes=59)), NOON, 60) == live
    assert window(a_feed(), None, NOON, 60) == live


def test_a_long_interval_still_looks_ahead_and_a_long_window_at_most_a_day():
    feed, hour = a_feed(interval_seconds=3600), NOON.replace(second=0)
    assert window(feed, None, NOON, 60) == Window(hour - dt.timedelta(hours=1), hour, hour + dt.timedelta(hours=2), live=True)
    assert window(feed, None, NOON, 50_400).until == hour + dt.timedelta(days=1)


@pytest.mark.parametrize("interval", [10, 60, 900, 3600, 86_400])
@pytest.mark.parametrize("hours", [0.01, 1, 24, 24 * 35, 24 * 45])
@pytest.mark.parametrize("width", [10, 400, 1500])
def test_buckets_are_as_many_as_fit_cover_the_window_and_divide_a_day(interval, hours, width):
    feed = a_feed(interval_seconds=interval, spread_window_seconds=86_400)
    start = NOON.timestamp()
    until = start + hours * 3600
    cut = grid(feed, start, until, width)
    assert cut.buckets <= width
    assert cut.start <= start < cut.start + cut.seconds
    assert cut.start + (cut.buckets - 1) * cut.seconds <= until < cut.start + cut.buckets * cut.seconds
    assert 86_400 % cut.seconds == 0 or cut.seconds % 86_400 == 0
    assert cut.seconds % interval == 0
