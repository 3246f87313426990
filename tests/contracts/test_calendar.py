"""The calendar of a feed: the day type of special days, and the dates of a baseline without them."""

import datetime as dt

import pytest

from contracts.calendar import OWN, Calendar
from contracts.calendar_entries import Entry
from contracts.public_holidays import Holidays

THANKSGIVING, SALE, AS_OF = dt.date(2026, 11, 26), dt.date(2026, 11, 27), dt.date(2026, 12, 1)
WEEK = dt.timedelta(weeks=1)


def calendar(*days: dt.date, like=None, found=None, holidays="US") -> Calendar:
    entry = Entry(name="sale", description="sale", feeds=["calls"], dates=days, like=like)
    return Calendar(dt.UTC, Holidays(country=holidays) if holidays else None, (entry,), found or {})


@pytest.mark.parametrize(("like", "day_type"), [("sunday", 7), ("weekday", 5), ("itself", OWN), (None, 5)])
def test_a_special_day_has_the_day_type_of_what_it_is_declared_to_be_like(like, day_type):
    assert calendar(SALE, like=like).day_types(THANKSGIVING, SALE + dt.timedelta(days=1)) == {
        THANKSGIVING: 7,
        SALE: day_type,
        SALE + dt.timedelta(days=1): 6,
    }


def test_what_is_found_counts_where_nothing_is_declared():
    found = {SALE: "sunday"}
    assert calendar(SALE, found=found).day_type(SALE) == 7
    assert calendar(SALE, found=found, like="weekday").day_type(SALE) == 5


def test_what_is_declared_of_a_public_holiday_counts():
    assert calendar(THANKSGIVING, like="weekday").day_type(THANKSGIVING) == 4
    assert calendar(THANKSGIVING, like="weekday").declared(THANKSGIVING, SALE) == {THANKSGIVING: "weekday"}


@pytest.mark.parametrize(("kind", "day_type"), [("sunday", 7), ("weekday", 4), ("itself", OWN)])
def test_a_public_holiday_is_what_was_found_unless_an_entry_says_more(kind, day_type):
    found = {THANKSGIVING: kind}
    assert calendar(SALE, found=found).day_type(THANKSGIVING) == day_type
    assert calendar(SALE, found=found).public_holidays(THANKSGIVING, SALE) == {THANKSGIVING: "Thanksgiving Day"}
    assert calendar(THANKSGIVING, found=found).day_type(THANKSGIVING) == day_type
    assert calendar(THANKSGIVING, found=found).public_holidays(THANKSGIVING, SALE) == {}
    for like, declared in [("sunday", 7), ("weekday", 4), ("itself", OWN)]:
        assert calendar(THANKSGIVING, found=found, like=like).day_type(THANKSGIVING) == declared


def test_the_dates_of_a_baseline_are_those_that_are_declared_whatever_was_found():
    found = calendar(SALE, found={THANKSGIVING: "weekday"})
    assert found.baseline_dates(AS_OF) == calendar(SALE).baseline_dates(AS_OF)
    assert THANKSGIVING in found.baseline_dates(AS_OF)[7]


@pytest.mark.parametrize("like", ["sunday", "weekday", "itself", None])
def test_no_special_day_is_among_the_dates_of_a_baseline(like):
    dates = calendar(SALE, THANKSGIVING, SALE - 2 * WEEK, like=like).baseline_dates(AS_OF)
    assert dates[5] == [SALE - back * WEEK for back in (5, 4, 3, 1)]
    assert dates[7] == [
        dt.date(2026, 11, day) for day in (11, 15, 22, 29)
    ]  # Veterans Day is a holiday, Thanksgiving is special here
    assert {len(found) for found in dates.values()} == {4}


def test_many_special_days_leave_four_dates():
    sales = [SALE - back * WEEK for back in range(12)]
    assert calendar(*sales).baseline_dates(AS_OF)[5] == [SALE - back * WEEK for back in (15, 14, 13, 12)]


def test_the_newest_date_that_counts_is_no_special_day():
    assert calendar(SALE).newest_counting(AS_OF) == dt.date(2026, 11, 30)
    assert calendar(SALE, THANKSGIVING).newest_counting(SALE + dt.timedelta(days=1)) == dt.date(2026, 11, 25)


def test_the_year_before_of_a_special_day_is_another_of_its_dates():
    before = dt.date(2025, 11, 28)
    assert calendar(SALE, before).year_before(SALE) == before
    assert calendar(SALE, before).year_before(THANKSGIVING) == dt.date(2025, 11, 27)
    assert calendar(SALE, holidays=None).year_before(SALE) is None
