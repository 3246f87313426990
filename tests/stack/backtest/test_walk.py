"""The walk through a capture: every row scored by its local time, whatever the threshold is."""

import numpy as np

from jobs.transforms.detector.alarms import THRESHOLD
from stack.backtest.walk import judged, on_holiday
from tests.stack.backtest.captures import rows_of
from tests.transforms.detector.walks import days, walk


def test_the_scores_are_those_of_the_detector():
    values = days(9, services=2)
    row, service = np.divmod(np.arange(values.size), 2)
    rows = rows_of((row * 30.0).tolist(), values.ravel().tolist(), service.tolist(), ("a", "b"))
    found, _ = judged(rows, 1800, None, THRESHOLD)
    _, expected = walk(values)
    for name in ("expected", "score", "alarm", "season"):
        assert np.array_equal(getattr(found, name), getattr(expected, name).ravel(), equal_nan=True), name


def test_scores_do_not_depend_on_the_threshold():
    values = days(21)[:, 0]
    values[700:704] *= 2
    rows = rows_of((np.arange(len(values)) * 30.0).tolist(), values.tolist())
    found, lower = (judged(rows, 1800, None, threshold)[0] for threshold in (THRESHOLD, 1.2))
    assert np.array_equal(found.score, lower.score)
    assert np.array_equal(lower.alarm, lower.score >= 1.2)
    assert lower.alarm.sum() > found.alarm.sum() > 0


def test_holidays_are_those_of_the_country():
    rows = rows_of([0, 32 * 1440], [1, 2])  # 2 June and 4 July 2014
    assert on_holiday(rows, "US").tolist() == [False, True]
    assert on_holiday(rows, "US-MN").tolist() == [False, True]
    assert not on_holiday(rows, None).any()
