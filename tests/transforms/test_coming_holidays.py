"""What a coming holiday is taken for: by hand, and whatever the past may be."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.coming_holidays import ENOUGH, Past, is_evidence, taken_for
from jobs.transforms.holiday_kinds import KINDS

COLUMBUS_DAY = dt.date(2026, 10, 12)  # a Monday
BEFORE, LABOR_DAY, JUNETEENTH, MEMORIAL_DAY = (
    dt.date(*day) for day in [(2025, 10, 13), (2026, 9, 7), (2026, 6, 19), (2026, 5, 25)]
)
WORKED, RESTED, UNLIKE = {"sunday": 6.0, "weekday": 1.0}, {"sunday": 1.0, "weekday": 6.0}, {"sunday": 6.0, "weekday": 9.0}


def others(*unlike):
    dates = [MEMORIAL_DAY, JUNETEENTH, LABOR_DAY]
    return [Past(date, f"holiday of {date}", each) for date, each in zip(dates, unlike, strict=False)]


def columbus_day(*past: Past):
    return taken_for(COLUMBUS_DAY, "Columbus Day", past)


def test_a_holiday_is_taken_for_what_its_newest_one_was_like_whatever_others_were():
    two_years_ago = Past(dt.date(2024, 10, 14), "Columbus Day", RESTED)
    found = columbus_day(*others(RESTED, RESTED, RESTED), Past(BEFORE, "Columbus Day", WORKED), two_years_ago)
    assert found == ("weekday", "Columbus Day was like its weekday on 2025-10-13")


@pytest.mark.parametrize(("unlike", "like"), [(WORKED, "weekday"), (RESTED, "sunday"), (UNLIKE, "itself")])
def test_it_is_taken_for_each_kind(unlike, like):
    assert columbus_day(Past(BEFORE, "Columbus Day", unlike)).like == like


def test_without_one_it_is_taken_for_what_all_others_were_like():
    found = columbus_day(*others(WORKED, WORKED, WORKED))
    assert found == ("weekday", "all 3 holidays from 2026-05-25 to 2026-09-07 were like its weekday")
    unjudged = Past(BEFORE, "Columbus Day", {})
    assert columbus_day(unjudged, *others(WORKED, WORKED, WORKED)) == found


@pytest.mark.parametrize(
    ("unlike", "why"),
    [
        ([WORKED, WORKED], "fewer than 3 others"),
        ([WORKED, WORKED, {}], "fewer than 3 others"),
        ([WORKED, WORKED, RESTED], "the 3 others do not agree"),
        ([WORKED, WORKED, UNLIKE], "the 3 others do not agree"),
        ([UNLIKE, UNLIKE, UNLIKE], "the 3 others do not agree"),  # each was like itself alone
    ],
)
def test_else_it_is_taken_for_what_is_declared(unlike, why):
    found = columbus_day(*others(*unlike))
    assert found == ("sunday", f"as declared: no holiday of this name is known, and {why}")


def test_a_holiday_on_a_weekend_says_nothing_of_one_on_a_working_day():
    """People rest on Saturdays, so Christmas of 2027 is like its weekday."""
    saturday, monday = dt.date(2027, 12, 25), dt.date(2028, 12, 25)
    past = [Past(saturday, "Christmas Day", WORKED)]
    assert taken_for(monday, "Christmas Day", past).like == "sunday"
    assert taken_for(dt.date(2032, 12, 25), "Christmas Day", past).like == "weekday", "a Saturday again"
    assert [is_evidence(saturday, monday), is_evidence(saturday, saturday)] == [False, False]


DATES = st.dates(dt.date(2024, 1, 1), dt.date(2027, 12, 31))
UNLIKENESS = st.dictionaries(st.sampled_from(KINDS), st.floats(0, 20))
PASTS = st.lists(st.builds(Past, DATES, st.sampled_from("abc"), UNLIKENESS), max_size=12, unique_by=lambda each: each.date)


@given(DATES, st.sampled_from("abc"), PASTS, PASTS)
def test_no_evidence_is_of_the_date_itself_or_later(date, name, past, later):
    known = [each for each in past if each.date < date]
    expected = taken_for(date, name, known)
    assert taken_for(date, name, [each for each in later if each.date >= date] + known[::-1]) == expected
    if sum(bool(each.unlike) for each in known) < ENOUGH and name not in {each.name for each in known}:
        assert expected.like == "sunday"
