"""What the holidays and special days around a night are taken for, from what was found of past ones."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.baseline_log import baseline_log, special_days
from contracts.calendar_entries import Entry
from contracts.feeds import load_feed
from jobs.backends import past_holidays
from jobs.backends.past_holidays import REACH, taken_for
from jobs.transforms.holiday_kinds import KINDS
from tests.contracts.test_baseline_log import history, promotion

DAY = dt.timedelta(days=1)
AS_OF, COLUMBUS_DAY = dt.date(2026, 10, 5), dt.date(2026, 10, 12)
WORKED = {"sunday": 6.0, "weekday": 1.0}
FEED = load_feed("service-use")


def found(*days: dt.date, unlike=WORKED) -> dict:
    return {str(day): {"made_from": "", "unlike": unlike, "like": None} for day in days}


def entry(*days: dt.date, like=None) -> Entry:
    return Entry(name="sale", description="sale", feeds=[FEED.name], dates=days, like=like)


def in_force(**note):
    return baseline_log(history(promotion(5, **note))).in_force


def test_a_coming_holiday_is_taken_for_what_the_last_one_was_like():
    last = dt.date(2025, 10, 13)
    assert taken_for(FEED, AS_OF, found(last), None) == {
        COLUMBUS_DAY: ("weekday", "Columbus Day was like its weekday on 2025-10-13")
    }
    assert taken_for(FEED, AS_OF, {}, None)[COLUMBUS_DAY].like == "sunday"


def test_special_days_are_no_evidence_of_public_holidays():
    """An entry for Columbus Day of 2025 makes that a special day: with its own past, if it says nothing."""
    last = dt.date(2025, 10, 13)
    declared = FEED.with_entries([entry(last)])
    assert taken_for(declared, AS_OF, found(last), None)[COLUMBUS_DAY].like == "sunday"
    special = FEED.with_entries([entry(last, COLUMBUS_DAY)])
    assert taken_for(special, AS_OF, found(last), None) == {
        COLUMBUS_DAY: ("weekday", "its past dates, 2025-10-13, were most like its weekday")
    }


def test_a_day_of_the_past_stays_what_the_baseline_in_force_takes_it_for():
    gone, labor_day, yesterday = AS_OF - REACH - DAY, dt.date(2026, 9, 7), AS_OF - DAY
    kinds = {str(day): "weekday" for day in (gone, labor_day, yesterday, COLUMBUS_DAY)}
    force = in_force(special_days=kinds, special_days_why={str(labor_day): "of old"})
    taken = taken_for(FEED, AS_OF, {}, force)
    assert {day: each.like for day, each in taken.items()} == {labor_day: "weekday", COLUMBUS_DAY: "sunday"}
    assert taken[labor_day].why == "of old"
    assert special_days(force.note)[COLUMBUS_DAY] == "weekday"


@pytest.mark.parametrize(
    ("first", "evidence"),
    [
        (dt.date(2025, 9, 1), [dt.date(2025, 10, 13)]),
        # Of a Columbus Day that is a week after the first reading nothing could be said, nor of a Saturday.
        (dt.date(2025, 10, 6), [dt.date(2025, 11, 11), dt.date(2025, 11, 27), dt.date(2025, 12, 25)]),
        (dt.date(2026, 5, 1), [dt.date(2026, 5, 25), dt.date(2026, 6, 19), dt.date(2026, 7, 3), dt.date(2026, 9, 7)]),
    ],
)
def test_the_evidence_of_a_holiday_is_its_last_date_or_all_of_a_year(first, evidence):
    days = [str(first + number * DAY) for number in range((AS_OF - first).days)]
    assert sorted(past_holidays._past(FEED, AS_OF, days))[: len(evidence)] == evidence
    assert past_holidays._past(FEED.with_entries([entry(COLUMBUS_DAY, like="sunday")]), AS_OF, days) == {}
    assert past_holidays._past(FEED, AS_OF, []) == {}


DATES = st.dates(AS_OF - 400 * DAY, AS_OF + 30 * DAY)
FOUND = st.dictionaries(DATES.map(str), st.dictionaries(st.sampled_from(KINDS), st.floats(0, 20)), max_size=30).map(
    lambda unlike: {day: {"made_from": "", "unlike": each, "like": None} for day, each in unlike.items()}
)
HOLIDAYS = list(FEED.calendar.public_holidays(AS_OF - 400 * DAY, AS_OF + 30 * DAY))
LIKES = st.sampled_from([*KINDS, None])
PAIRS = st.lists(st.sampled_from(HOLIDAYS) | DATES, max_size=8, unique=True).map(
    lambda days: [days[at : at + 2] for at in range(0, len(days), 2)]
)
ENTRIES = PAIRS.flatmap(lambda pairs: st.tuples(*(LIKES.map(lambda like, days=days: entry(*days, like=like)) for days in pairs)))


@given(DATES, FOUND, FOUND, ENTRIES)
def test_what_a_person_declares_stands_and_no_evidence_is_of_the_day_or_later(as_of, known, other, entries):
    feed = FEED.with_entries(entries)
    taken = taken_for(feed, as_of, known, None)
    decided = feed.with_found({day: each.like for day, each in taken.items()}).calendar
    for each in entries:
        for day in each.days if each.like else []:
            assert day not in taken
            assert decided.taken_for(day, day) == {day: each.like}
    for day, each in taken.items():
        earlier = {date: found for date, found in known.items() if date < str(day)}
        later = {date: found for date, found in other.items() if date >= str(day)}
        assert taken_for(feed, as_of, earlier | later, None)[day] == each
