"""The plain rule: the mean of the last four dates of a kind of day, by hand."""

import numpy as np

from stack.backtest.plain import last_four_average, plain_anomalies
from tests.stack.backtest.captures import rows_of

WEEK = 7 * 1440


def test_the_average_is_that_of_the_last_four_dates_of_the_kind_of_day():
    values = [10, 20, 30, 40, 50, 60]
    rows = rows_of([WEEK * each + 600 for each in range(6)], values)
    found = last_four_average(rows, 1800, np.zeros(6, bool))
    assert np.array_equal(found, [np.nan, np.nan, 15, 20, 25, 35], equal_nan=True)


def test_services_slots_and_days_are_apart_and_a_holiday_is_a_sunday():
    minutes = [0, WEEK, 2 * WEEK, 2 * WEEK + 30, 2 * WEEK + 1440, 2 * WEEK]
    rows = rows_of(minutes, [10, 20, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1], ("a", "b"))
    none = np.zeros(6, bool)
    assert np.array_equal(last_four_average(rows, 1800, none), [np.nan, np.nan, 15, *[np.nan] * 3], equal_nan=True)
    assert np.isnan(last_four_average(rows, 1800, np.arange(6) == 2)).all()
    sundays = rows_of([6 * 1440, 6 * 1440 + WEEK, 6 * 1440 + WEEK + 1440], [10, 20, 9])
    assert last_four_average(sundays, 1800, np.array([False, False, True]))[2] == 15


def test_a_date_counts_from_the_next_on_and_missing_readings_never():
    rows = rows_of([0, 10, WEEK, 2 * WEEK, 3 * WEEK, 3 * WEEK + 10], [10, 30, np.nan, 40, 5, 5])
    found = last_four_average(rows, 1800, np.zeros(6, bool))
    assert np.isnan(found[:4]).all()
    assert found[4] == found[5] == (10 + 30 + 40) / 3


def test_five_percent_is_the_limit_and_zero_expects_nothing_else():
    values, average = np.array([105.0, 105.1, 94.9, 0.0, 1.0, 5.0, np.nan]), np.array([100.0, 100, 100, 0, 0, np.nan, 100])
    assert plain_anomalies(values, average).tolist() == [False, True, True, False, True, False, False]
