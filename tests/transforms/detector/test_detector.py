"""The detector as a whole: causal, pure, indifferent to what stands beside a service, and awake."""

import numpy as np
import pytest

from jobs.transforms.detector import detector
from jobs.transforms.detector.moments import Pace
from tests.transforms.detector.walks import HALF_HOUR, days, leaves, moment, walk


def test_a_score_depends_on_the_past_only():
    values = days(10)
    other = values.copy()
    other[200:] = 7
    _, first = walk(values)
    _, second = walk(other)
    for one, two in zip(first, second, strict=True):
        assert np.array_equal(one[:200], two[:200], equal_nan=True)
    assert not np.array_equal(first.score[200:], second.score[200:])


def test_a_step_leaves_the_state_that_it_was_given_as_it_is():
    state, _ = walk(days(9, services=3))
    before = [leaf.copy() for leaf in leaves(state)]
    detector.step(state, np.array([1.0, -5.0, np.nan]), moment(9 * 48), HALF_HOUR)
    for leaf, copy in zip(leaves(state), before, strict=True):
        assert np.array_equal(leaf, copy, equal_nan=True)


def test_a_walk_may_stop_anywhere_and_go_on():
    values = days(12, services=2)
    whole_state, whole = walk(values)
    state, first = walk(values[:333])
    state, rest = walk(values[333:], state=state, first=333)
    assert np.array_equal(whole.score, np.concatenate([first.score, rest.score]))
    for one, two in zip(leaves(whole_state), leaves(state), strict=True):
        assert np.array_equal(one, two, equal_nan=True)


def test_a_service_is_scored_alike_alone_and_among_others():
    values = days(9, services=4)
    values[:, 1] = np.random.default_rng(4).normal(0, 3, len(values))
    values[100:150, 2] = np.nan
    _, together = walk(values)
    for service in range(4):
        _, alone = walk(values[:, [service]])
        for one, many in zip(alone, together, strict=True):
            assert np.array_equal(one[:, 0], many[:, service], equal_nan=True)


def test_a_state_is_arrays_with_one_entry_per_service():
    state, _ = walk(days(2, services=5))
    assert {leaf.shape[0] for leaf in leaves(state)} == {5}
    assert {leaf.dtype.kind for leaf in leaves(state)} <= {"f", "b"}


@pytest.mark.parametrize(("factor", "length"), [(2.0, 4), (0.0, 4), (4.0, 1)])
def test_a_surge_an_outage_and_a_spike_raise_one_alarm_at_their_onset(factor, length):
    values = days(21, weekend=0.6)
    at = 48 * 17 + 20
    values[at : at + length] = np.rint(values[at : at + length] * factor)
    _, score = walk(values)
    assert np.flatnonzero(score.alarm[48 * 7 :, 0]).tolist() == [at - 48 * 7] or score.alarm[48 * 14 :].sum() <= 2
    assert score.alarm[at, 0]
    assert score.score[at, 0] > 2 * score.score[at + 1 : at + 48, 0].max()
    assert np.sign(score.size[at, 0]) == (1 if factor > 1 else -1)


def test_a_holiday_on_which_nothing_changed_does_not_hide_a_surge_three_weeks_later():
    values = days(49, weekend=0.4)
    holiday = 25  # a Friday that was like any Friday
    sunday = 48  # day number: three weeks and two days later
    values[sunday * 48 + 20 : sunday * 48 + 26] *= 2
    _, score = walk(values, holidays=(holiday,))
    assert score.alarm[sunday * 48 + 20 : sunday * 48 + 22].any()
    assert not score.alarm[holiday * 48 : (holiday + 1) * 48].sum() > 1


def test_noise_raises_no_more_alarms_where_readings_come_more_often():
    """If each of these readings were judged alone, they would raise 20 alarms."""
    minutes = np.arange(1440)
    mean = 300 * (1.5 + np.sin(minutes / 1440 * 2 * np.pi))
    values = np.random.default_rng(4).poisson(mean[:, None], (len(minutes), 12)).astype(float)
    _, score = walk(values, Pace(60))
    assert score.alarm.sum() <= 6


def test_the_expected_value_of_small_counts_is_their_mean():
    values = np.random.default_rng(1).poisson(1.5, (48 * 28, 4)).astype(float)
    _, score = walk(values)
    known = slice(48 * 14, None)
    assert abs(score.expected[known].mean() - values[known].mean()) < 0.1
    assert (score.low[known] <= score.expected[known]).all()
    assert (score.expected[known] <= score.high[known]).all()


def test_missing_readings_get_an_expected_value_and_no_score():
    values = days(9)
    values[400:410] = np.nan
    _, score = walk(values)
    gone = slice(400, 410)
    assert np.isfinite(score.expected[gone]).all()
    assert score.score[gone].tolist() == [[0.0]] * 10
    assert not score.alarm[gone].any()
    assert np.isnan(score.size[gone]).all()


def test_a_series_that_turns_negative_late_is_expected_where_it_was():
    random = np.random.default_rng(2)
    values = random.normal(9, 2, (48 * 6, 1))
    values[: 48 * 4] = np.abs(values[: 48 * 4])
    values[48 * 4] = -1.0
    _, score = walk(values)
    later = slice(48 * 4 + 1, 48 * 4 + 20)
    assert np.abs(score.expected[later] - 9).max() < 3
    assert np.median(score.high[later] - score.low[later]) == pytest.approx(2 * detector.BAND * 2, rel=0.5)


def test_a_normal_week_is_quiet():
    _, score = walk(days(35, services=20, weekend=0.6))
    assert score.alarm[48 * 14 :].sum() / (20 * 3) < 0.5
