"""Rates and averages, computed by hand."""

import numpy as np
import pytest

from jobs.transforms.detector.moments import Pace, average


@pytest.mark.parametrize(("interval", "slots", "per_day"), [(10, 48, 8640), (1800, 48, 48), (3600, 24, 24), (86_400, 1, 1)])
def test_a_day_has_at_most_48_slots(interval, slots, per_day):
    assert (Pace(interval).slots, Pace(interval).per_day) == (slots, per_day)


def test_a_rate_is_the_weight_of_one_reading_and_never_more_than_all():
    assert Pace(3600).rate(2.0) == pytest.approx(1 / 48)
    assert Pace(86_400).rate(0.25) == 1.0


def test_an_average_is_plain_at_first_and_forgets_later():
    values, mean = [4.0, 8.0, 6.0, 100.0], np.array([0.0])
    for seen, value in enumerate(values):
        mean = average(mean, np.array([value]), np.array([float(seen)]), 0.3, np.array([True]))
    assert mean[0] == pytest.approx(6 + 0.3 * (100 - 6))
    assert average(mean, np.array([1.0]), np.array([4.0]), 0.3, np.array([False]))[0] == mean[0]
