"""A state as numbers: what is packed comes back as it was, and goes on as if it had never been packed."""

import numpy as np
import pytest

from jobs.transforms.detector import detector, layout
from jobs.transforms.detector.moments import Pace
from tests.transforms.detector.walks import HALF_HOUR, days, leaves, walk


def values_of_three() -> np.ndarray:
    values = days(9, services=3)
    values[:, 1] = np.random.default_rng(4).normal(0, 3, len(values))
    values[100:150, 2] = np.nan
    return values


def test_a_packed_state_comes_back_as_it_was():
    state, _ = walk(values_of_three())
    back = layout.unpacked(layout.packed(state), HALF_HOUR)
    assert type(back) is detector.State
    for one, two in zip(leaves(state), leaves(back), strict=True):
        assert one.dtype == two.dtype
        assert np.array_equal(one, two, equal_nan=True)


def test_a_walk_goes_on_from_the_packed_states_of_some_services_in_any_order():
    values = values_of_three()
    _, whole = walk(values)
    state, _ = walk(values[:333])
    chosen = [2, 0]
    rows = np.stack([np.frombuffer(layout.packed(state)[each].tobytes()) for each in chosen])
    _, rest = walk(values[333:, chosen], state=layout.unpacked(rows, HALF_HOUR), first=333)
    for name in ("score", "expected", "alarm", "beyond"):
        assert np.array_equal(getattr(rest, name), getattr(whole, name)[333:, chosen], equal_nan=True), name


def test_services_that_join_leave_the_others_as_they_were():
    values = values_of_three()
    state, _ = walk(values[:, :2])
    both = layout.joined(state, walk(values[:, 2:])[0])
    assert len(both.kind.last) == 3
    for one, two in zip(leaves(both), leaves(walk(values)[0]), strict=True):
        assert np.array_equal(one, two, equal_nan=True)


@pytest.mark.parametrize("interval", [10, 60, 1800, 3600, 86_400])
def test_a_row_is_as_wide_as_the_pace_wants(interval):
    pace = Pace(interval)
    assert layout.packed(detector.new_state(2, pace)).shape == (2, layout.width(pace))


def test_a_state_of_another_pace_is_refused():
    rows = layout.packed(detector.new_state(2, HALF_HOUR))
    with pytest.raises(ValueError, match="with an interval of 86400 s a service has"):
        layout.unpacked(rows, Pace(86_400))
