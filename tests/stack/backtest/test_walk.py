"""The walk: steps by interval, second readings, and the same scores as the detector gives step by step."""

import numpy as np

from jobs.transforms.detector.alarms import THRESHOLD
from stack.backtest.walk import on_holiday, steps_of, walked
from tests.stack.backtest.captures import rows_of
from tests.transforms.detector.walks import days, walk


def test_a_step_has_one_reading_of_each_service_in_an_interval():
    rows = rows_of([0, 31, 5, 30, 7, 59], [1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 0, 0], ("a", "b"))
    assert [step.tolist() for step in steps_of(rows, 1800)] == [[0, 2], [4], [3, 1], [5]]


def test_rows_out_of_order_are_walked_by_time_and_reported_in_their_places():
    values = days(8)[:, 0]
    minutes = np.arange(len(values)) * 30.0
    shuffled = np.random.default_rng(1).permutation(len(values))
    straight, mixed = rows_of(minutes.tolist(), values.tolist()), rows_of(minutes[shuffled].tolist(), values[shuffled].tolist())
    one = walked(straight, steps_of(straight, 1800), 1800, None, THRESHOLD)
    two = walked(mixed, steps_of(mixed, 1800), 1800, None, THRESHOLD)
    for straight_column, mixed_column in zip(one, two, strict=True):
        assert np.array_equal(straight_column[shuffled], mixed_column, equal_nan=True)


def test_the_scores_are_those_of_the_detector_step_by_step():
    values = days(9, services=2)
    values[200:230, 1] = np.nan
    row, service = np.divmod(np.arange(values.size), 2)
    kept = np.isfinite(values.ravel())
    rows = rows_of((row * 30.0)[kept].tolist(), values.ravel()[kept].tolist(), service[kept].tolist(), ("a", "b"))
    found = walked(rows, steps_of(rows, 1800), 1800, None, THRESHOLD)
    _, expected = walk(values)
    for name in ("expected", "low", "score", "alarm", "season", "size", "beyond"):
        assert np.array_equal(getattr(found, name), getattr(expected, name).ravel()[kept], equal_nan=True), name


def test_scores_do_not_depend_on_the_threshold():
    values = days(21)[:, 0]
    values[700:704] *= 2
    rows = rows_of((np.arange(len(values)) * 30.0).tolist(), values.tolist())
    found, lower = (walked(rows, steps_of(rows, 1800), 1800, None, threshold) for threshold in (THRESHOLD, 1.2))
    assert np.array_equal(found.score, lower.score)
    assert np.array_equal(lower.alarm, lower.score >= 1.2)
    assert lower.alarm.sum() > found.alarm.sum() > 0


def test_holidays_are_those_of_the_country():
    rows = rows_of([0, 32 * 1440], [1, 2])  # 2 June and 4 July 2014
    assert on_holiday(rows, "US").tolist() == [False, True]
    assert on_holiday(rows, "US-MN").tolist() == [False, True]
    assert not on_holiday(rows, None).any()
