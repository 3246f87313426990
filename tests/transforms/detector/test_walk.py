"""The walk: steps by interval, second readings, and the same scores as the detector gives step by step."""

import numpy as np

from jobs.transforms.detector.detector import new_state
from jobs.transforms.detector.walk import Readings, steps_of, walked
from tests.transforms.detector.walks import HALF_HOUR, days, walk


def readings(minutes, values, services=None) -> Readings:
    """Readings at so many minutes after a Monday's midnight, in UTC, without a holiday."""
    at = np.rint(np.asarray(minutes, float) * 60_000).astype(np.int64)
    of = np.zeros(len(at), np.int64) if services is None else np.asarray(services, np.int64)
    return Readings(of, at, at + 4 * 86_400_000, np.zeros(len(at), bool), np.asarray(values, float))


def of_table(values: np.ndarray, first: int = 0) -> Readings:
    """The readings of an array of shape (half hours, services) that are there."""
    row, service = np.divmod(np.arange(values.size), values.shape[1])
    kept = np.isfinite(values.ravel())
    return readings((row[kept] + first) * 30.0, values.ravel()[kept], service[kept])


def test_a_step_has_one_reading_of_each_service_in_an_interval():
    found = steps_of(readings([0, 31, 5, 30, 7, 59], [1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 0, 0]), HALF_HOUR)
    assert [step.tolist() for step in found.each()] == [[0, 2], [4], [3, 1], [5]]


def test_readings_that_are_in_order_already_make_the_same_steps():
    found = steps_of(readings([0, 5, 30, 31, 90], [1, 2, 3, 4, 5], [0, 1, 0, 2, 1]), HALF_HOUR)
    assert [step.tolist() for step in found.each()] == [[0, 1], [2, 3], [4]]
    assert [step.tolist() for step in steps_of(readings([0, 0], [1, 2], [0, 0]), HALF_HOUR).each()] == [[0], [1]]


def test_readings_out_of_order_are_walked_by_time_and_scored_in_their_places():
    straight = of_table(days(8))
    shuffled = np.random.default_rng(1).permutation(len(straight.value))
    _, one = walked(new_state(1, HALF_HOUR), straight, HALF_HOUR)
    _, two = walked(new_state(1, HALF_HOUR), Readings(*(each[shuffled] for each in straight)), HALF_HOUR)
    for straight_column, mixed_column in zip(one, two, strict=True):
        assert np.array_equal(straight_column[shuffled], mixed_column, equal_nan=True)


def test_the_scores_are_those_of_the_detector_step_by_step():
    values = days(9, services=2)
    values[200:230, 1] = np.nan
    kept = np.isfinite(values.ravel())
    _, found = walked(new_state(2, HALF_HOUR), of_table(values), HALF_HOUR)
    _, expected = walk(values)
    for name in ("expected", "low", "score", "alarm", "season", "size", "beyond"):
        assert np.array_equal(getattr(found, name), getattr(expected, name).ravel()[kept], equal_nan=True), name


def test_a_walk_that_stops_and_goes_on_gives_the_same_scores():
    values = days(9, services=2)
    _, whole = walked(new_state(2, HALF_HOUR), of_table(values), HALF_HOUR)
    state, first = walked(new_state(2, HALF_HOUR), of_table(values[:200]), HALF_HOUR)
    state, none = walked(state, of_table(values[:0]), HALF_HOUR)
    _, rest = walked(state, of_table(values[200:], first=200), HALF_HOUR)
    assert len(none.score) == 0
    for name in ("expected", "score", "alarm"):
        together = np.concatenate([getattr(first, name), getattr(rest, name)])
        assert np.array_equal(together, getattr(whole, name), equal_nan=True), name


def test_each_service_may_have_a_threshold_of_its_own():
    values = days(21, services=2)
    values[700:704] *= 2
    _, found = walked(new_state(2, HALF_HOUR), of_table(values), HALF_HOUR, np.array([1.2, 99.0]))
    _, same = walked(new_state(2, HALF_HOUR), of_table(values), HALF_HOUR)
    assert np.array_equal(found.score, same.score)
    assert np.array_equal(found.alarm[0::2], same.score[0::2] >= 1.2)
    assert found.alarm[0::2].any()
    assert not found.alarm[1::2].any()
