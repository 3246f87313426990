"""A lasting change is one shift of level, adapted to within a day."""

import numpy as np

from tests.transforms.detector.walks import days, walk

DAY_ROWS = 48


def test_a_service_up_a_third_is_reported_once_and_adapted_to_within_a_day():
    values = days(28, level=2000)
    monday = 21 * DAY_ROWS
    values[monday:] = np.rint(values[monday:] * 1.33)
    _, score = walk(values)
    assert score.alarm[monday : monday + DAY_ROWS].sum() == 1
    assert score.alarm[monday : monday + 4].sum() == 1
    assert score.alarm[monday + DAY_ROWS :].sum() == 0
    assert 1 <= score.shifted[monday : monday + DAY_ROWS].sum() <= 2
    later = slice(monday + DAY_ROWS, monday + 3 * DAY_ROWS)
    assert np.median(np.abs(score.expected[later, 0] / values[later, 0] - 1)) < 0.1


def test_an_incident_of_hours_is_no_shift():
    values = days(28, level=2000)
    values[20 * DAY_ROWS + 10 : 20 * DAY_ROWS + 18] *= 2
    _, score = walk(values)
    assert not score.shifted.any()
