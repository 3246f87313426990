import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.excluded_slots import excluded

CHICAGO = ZoneInfo("America/Chicago")
EPOCH = dt.date(1970, 1, 1)
HALF_HOUR = 1800
SPRING, AUTUMN = dt.date(2026, 3, 8), dt.date(2026, 11, 1)  # clocks go forward and back at two o'clock


def local(date, hour, minute=0, fold=0):
    return dt.datetime.combine(date, dt.time(hour, minute), CHICAGO).replace(fold=fold).astimezone(dt.UTC)


def slots_of(ranges, *dates, interval=HALF_HOUR):
    days = np.array([(date - EPOCH).days for date in dates], np.int32)
    return [np.flatnonzero(row).tolist() for row in excluded(ranges, days, CHICAGO, interval)]


def test_every_slot_that_a_range_touches_is_left_out():
    date = dt.date(2026, 6, 1)
    assert slots_of([(local(date, 9), local(date, 10))], date) == [[18, 19]]
    assert slots_of([(local(date, 9, 29), local(date, 10, 1))], date) == [[18, 19, 20]]
    assert slots_of([(local(date, 9), local(date, 9))], date) == [[]]
    assert slots_of([], date) == [[]]


def test_a_range_over_midnight_is_of_both_dates_and_other_dates_have_none():
    first, second, later = (dt.date(2026, 6, day) for day in (1, 2, 9))
    over = [(local(first, 23), local(second, 1)), (local(second, 12), local(second, 12, 30))]
    assert slots_of(over, first, second, later) == [[46, 47], [0, 1, 24], []]


def test_a_range_of_years_is_all_of_its_dates():
    dates = [dt.date(2026, 6, 1), dt.date(2026, 6, 8)]
    years = [(dt.datetime(2000, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC))]
    assert slots_of(years, *dates) == [list(range(48))] * 2


def test_a_skipped_hour_has_no_slots_and_one_that_comes_twice_is_left_out_if_either_is():
    assert slots_of([(local(SPRING, 1), local(SPRING, 4))], SPRING) == [[2, 3, 6, 7]]
    assert slots_of([(local(AUTUMN, 1, 0, fold=1), local(AUTUMN, 1, 30, fold=1))], AUTUMN) == [[2]]
    assert slots_of([(local(AUTUMN, 1, 30), local(AUTUMN, 1, 10, fold=1))], AUTUMN) == [[2, 3]]


@given(
    st.integers(0, 4 * 86_400),
    st.integers(0, 2 * 86_400),
    st.sampled_from([10, 300, 1800, 3600]),
    st.sampled_from([SPRING, AUTUMN]),
)
def test_it_is_what_each_second_of_the_range_says(start, length, interval, around):
    """A second in thirty-seven, on the local clock, and the last."""
    first = local(around, 0) - dt.timedelta(days=1) + dt.timedelta(seconds=start)
    dates = [around + dt.timedelta(days=days) for days in (-1, 0, 2)]
    expected: list = [set() for _ in dates]
    for second in {*range(0, length, min(37, interval)), length - 1} if length else ():
        at = (first + dt.timedelta(seconds=second)).astimezone(CHICAGO)
        if at.date() in dates:
            expected[dates.index(at.date())].add((at.hour * 3600 + at.minute * 60 + at.second) // interval)
    found = slots_of([(first, first + dt.timedelta(seconds=length))], *dates, interval=interval)
    assert found == [sorted(each) for each in expected]


def test_what_is_no_range_is_refused():
    at = local(SPRING, 9)
    for bad in [(at, at - dt.timedelta(seconds=1)), (at.replace(tzinfo=None), at)]:
        with pytest.raises(ValueError, match="no range of instants: both need a time zone"):
            slots_of([bad], SPRING)
