"""What holidays were like: by hand, on made days, and on the traffic of a real road."""

import csv
import datetime as dt
import gzip
from pathlib import Path

import holidays
import numpy as np
import pytest

from jobs.transforms.holiday_kinds import dates_of_kinds, next_like, of_feed, unlikeness, unlikeness_to_itself, was_like
from jobs.transforms.normal import normal

SAMPLE = Path(__file__).parents[2] / "samples" / "metro_interstate_traffic_volume.csv.gz"
SLOTS, WINDOWS = 48, 16
COLUMBUS_DAY = dt.date(2026, 10, 12)
THREE_WEEKS_LATER = dt.date(2026, 11, 1)  # a Sunday
NAN = float("nan")


def day_of(shape, seed, level=400.0):
    """Poisson counts of one date: office hours on weekdays, an evening peak on Sundays."""
    hour = np.arange(SLOTS) / 2
    peak = {"weekday": (13, 3.0, 3), "sunday": (19, 1.0, 4), "christmas": (10, 1.5, 1)}[shape]
    random = np.random.default_rng(seed)
    curve = level * (0.3 + peak[1] * np.exp(-(((hour - peak[0]) / peak[2]) ** 2)))
    return random.poisson(curve * random.normal(1, 0.03)).astype(float)


def dates_of(shape, count, seed=0, level=400.0):
    return np.array([day_of(shape, 1000 * seed + date, level) for date in range(count)])


def test_unlikeness_is_in_distances_of_the_kinds_own_dates():
    usual = [unlikeness(day_of("sunday", seed), dates_of("sunday", 6), WINDOWS) for seed in range(100, 140)]
    assert np.median(usual) == pytest.approx(1, abs=0.35)
    assert max(usual) < 3
    assert unlikeness(day_of("weekday", 1), dates_of("sunday", 6), WINDOWS) > 6


def test_unlikeness_by_hand():
    """Two dates whose roots are 9 and 11 in every window, and that count the same but for their age."""
    dates = np.array([[81.0] * 4, [121.0] * 4])
    older = 0.5 ** (1 / 3)
    expected = ((121 + 81 * older) / (1 + older)) ** 0.5
    noise = ((11 - expected) + (expected - 9)) / 2 * 2**0.5
    assert unlikeness(np.full(4, 400.0), dates, 4) == pytest.approx((20 - expected) / (noise * 1.5**0.5))


def test_too_few_dates_or_readings_are_no_evidence():
    day, half = day_of("sunday", 1), day_of("sunday", 1)
    half[10:40] = NAN
    assert np.isnan(unlikeness(day, dates_of("sunday", 1), WINDOWS))
    assert np.isnan(unlikeness(day, np.empty((0, SLOTS)), WINDOWS))
    assert np.isnan(unlikeness(half, dates_of("sunday", 4), WINDOWS))
    assert np.isnan(unlikeness_to_itself(day, day, dates_of("weekday", 4), np.full((4, SLOTS), NAN), WINDOWS))


def test_a_holiday_is_like_itself_although_the_service_has_doubled_since():
    weekdays, before = dates_of("weekday", 6, level=800), dates_of("weekday", 6, seed=1)
    christmas, last = day_of("christmas", 7, level=800), day_of("christmas", 8)
    assert unlikeness_to_itself(christmas, last, weekdays, before, WINDOWS) < 2
    assert unlikeness_to_itself(christmas, last, weekdays, weekdays, WINDOWS) > 6  # as if it had not doubled
    assert unlikeness(christmas, weekdays, WINDOWS) > 6


def test_the_feeds_unlikeness_is_the_median_of_the_services_that_know():
    services = [{"sunday": 9.0, "weekday": 1.0}, {"sunday": NAN, "weekday": 40.0}, {"sunday": 7.0, "weekday": 2.0, "itself": NAN}]
    assert of_feed(services) == {"sunday": 8.0, "weekday": 2.0}
    assert of_feed([]) == {}


@pytest.mark.parametrize(
    ("unlike", "kind"),
    [
        ({"sunday": 1.4, "weekday": 1.0}, "sunday"),  # nothing is clearly better than what is declared
        ({"sunday": 1.6, "weekday": 1.0}, "weekday"),
        ({"sunday": 1.6, "weekday": 1.5, "itself": 1.0}, "itself"),
        ({"sunday": 5.0, "weekday": 9.0}, None),
        ({"weekday": 1.0}, "weekday"),
        ({"weekday": 4.0}, None),
        ({}, "sunday"),
    ],
)
def test_what_a_past_holiday_was_like(unlike, kind):
    assert was_like(unlike) == kind


def test_what_is_declared_may_be_another_kind():
    assert was_like({"sunday": 1.0, "weekday": 1.4}, declared="weekday") == "weekday"
    assert was_like({}, declared="weekday") == next_like([], declared="weekday") == "weekday"


@pytest.mark.parametrize(
    ("past", "kind"),
    [
        ([], "sunday"),
        ([{}], "sunday"),
        ([{"sunday": 0.0, "weekday": 0.0}], "sunday"),  # of services that were silent
        ([{"sunday": 6.0, "weekday": 1.0}], "weekday"),
        ([{"sunday": 6.0, "weekday": 9.0}], "itself"),  # unlike both, and there is nothing yet to compare it with
        ([{"sunday": 6.0, "weekday": 9.0}, {"sunday": 6.0, "weekday": 9.0, "itself": 8.0}], "sunday"),
        ([{"sunday": 1.0, "weekday": 4.0}, {"sunday": 4.0, "weekday": 1.0}], "weekday"),  # 2.5 and 1.6
        ([{"sunday": 1.0, "weekday": 9.0}, {"sunday": 2.0, "weekday": 1.0}], "sunday"),  # 1.6 and 2.1
    ],
)
def test_what_the_next_one_is_taken_for(past, kind):
    assert next_like(past) == kind


def test_a_holiday_is_a_date_of_the_kind_that_it_was_like_and_of_no_other():
    thanksgiving, monday = dt.date(2026, 11, 26), dt.date(2026, 10, 12)
    as_of, week = dt.date(2026, 12, 1), dt.timedelta(7)
    for like, day_type in [("sunday", 7), ("weekday", 4), ("itself", None), (None, None)]:
        dates = dates_of_kinds(as_of, {thanksgiving: like, monday: "weekday"}, 4)
        assert [each for each, of in dates.items() if thanksgiving in of] == ([day_type] if day_type else [])
        assert dates[1] == [dt.date(2026, 11, 30) - back * week for back in (3, 2, 1, 0)]
    # An ordinary Thursday stands in for the one that is missing.
    assert dates[4] == [thanksgiving - back * week for back in (4, 3, 2, 1)]
    assert sum(map(len, dates_of_kinds(as_of, {}).values())) == 7 * 12


def history(first, last, surge=None, unlike_holiday=False):
    """Readings by date; Columbus Day is a Monday on which people work, unless it is unlike."""
    found = {}
    for back in range((last - first).days + 1):
        date = first + dt.timedelta(days=back)
        shape = "sunday" if date.isoweekday() > 5 else "weekday"
        found[date] = day_of("christmas" if unlike_holiday and date == COLUMBUS_DAY else shape, date.toordinal())
    if surge:
        found[surge][20:28] = np.rint(found[surge][20:28] * 1.98)
    return found


def judged(days, holiday):
    """(what the holiday was like, Sunday's dates three weeks later, their normal)."""
    before = dates_of_kinds(holiday, {})
    past = {kind: np.array([days[date] for date in before[day_type]]) for kind, day_type in (("sunday", 7), ("weekday", 1))}
    like = was_like(of_feed([{kind: unlikeness(days[holiday], dates, WINDOWS) for kind, dates in past.items()}]))
    sundays = dates_of_kinds(THREE_WEEKS_LATER, {holiday: like})[7]
    return like, sundays, normal(np.array([days[date] for date in sundays]), WINDOWS)


def test_a_holiday_on_which_people_worked_does_not_hide_that_traffic_nearly_doubled_three_weeks_later():
    days = history(dt.date(2026, 6, 1), THREE_WEEKS_LATER, surge=THREE_WEEKS_LATER)
    like, sundays, found = judged(days, COLUMBUS_DAY)
    assert like == "weekday"
    assert COLUMBUS_DAY not in sundays
    off = np.abs(days[THREE_WEEKS_LATER] - found.level) / found.scale
    assert (off[20:28] > 6).all()
    assert (np.delete(off, range(20, 28)) < 6).all()
    # Even where nothing is known of the holiday and it counts as a Sunday, it widens nothing that matters.
    declared = dates_of_kinds(THREE_WEEKS_LATER, {COLUMBUS_DAY: "sunday"})[7]
    assert COLUMBUS_DAY in declared
    found = normal(np.array([days[date] for date in declared]), WINDOWS)
    assert ((days[THREE_WEEKS_LATER] - found.level)[20:28] > 6 * found.scale[20:28]).all()
    # As the mean and the spread of the last four have it, nothing happened.
    last = np.array([days[date] for date in declared[-4:]])
    spread = 1.4826 * np.median(np.abs(last - last.mean(0)) * (4 / 3) ** 0.5, axis=0)
    assert not ((days[THREE_WEEKS_LATER] - last.mean(0))[20:28] > 6 * spread[20:28]).all()


def test_a_holiday_that_was_unlike_every_kind_is_in_no_average():
    days = history(dt.date(2026, 6, 1), THREE_WEEKS_LATER, unlike_holiday=True)
    like, sundays, _ = judged(days, COLUMBUS_DAY)
    assert like is None
    assert COLUMBUS_DAY not in sundays
    assert COLUMBUS_DAY not in dates_of_kinds(THREE_WEEKS_LATER, {COLUMBUS_DAY: like})[1]


def test_a_real_road_has_holidays_of_every_kind():
    with gzip.open(SAMPLE, "rt") as rows:
        read = [(dt.datetime.fromisoformat(row["date_time"]), float(row["traffic_volume"])) for row in csv.DictReader(rows)]
    days: dict = {}
    for at, value in read:
        days.setdefault(at.date(), np.full(24, NAN))[at.hour] = value
    calendar = holidays.country_holidays("US", subdiv="MN", years=range(2012, 2019))
    like, past = {}, {}
    before: dict = {}
    for date in sorted(set(calendar) & set(days)):
        kinds = dates_of_kinds(date, like)
        sundays, weekdays = (np.array([days.get(each, np.full(24, NAN)) for each in kinds[of]]) for of in (7, date.isoweekday()))
        unlike = {"sunday": unlikeness(days[date], sundays, 8), "weekday": unlikeness(days[date], weekdays, 8)}
        name = calendar[date]
        if name in before:
            unlike["itself"] = unlikeness_to_itself(days[date], before[name][0], weekdays, before[name][1], 8)
        before[name] = days[date], weekdays
        past.setdefault(name, []).append(of_feed([unlike]))
        like[date] = was_like(past[name][-1])
    # The Friday on which Veterans Day was kept had the traffic of any Friday, and no one goes to work on Labor Day.
    assert [like[dt.date(year, *day)] for year, day in [(2016, (11, 11)), (2017, (11, 10))]] == ["weekday", "weekday"]
    assert [like[each] for each in (dt.date(2013, 9, 2), dt.date(2015, 9, 7), dt.date(2016, 9, 5))] == ["sunday"] * 3
    assert next_like(past["Veterans Day (observed)"]) == "weekday"
    assert next_like(past["Thanksgiving Day"]) == "itself"
