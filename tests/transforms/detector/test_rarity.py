"""How rare a deviation is in its service's own past."""

import numpy as np
import pytest

from jobs.transforms.detector import rarity
from jobs.transforms.detector.moments import Pace
from jobs.transforms.detector.scale import Usual
from tests.transforms.detector.walks import HALF_HOUR

ONE = Usual(*np.ones((3, 1)))
YES = np.array([True])


def after(*errors: float, pace: Pace = HALF_HOUR) -> tuple[rarity.Past, rarity.Verdict]:
    """Of readings whose expected value and scales never change: each change is the difference of two errors."""
    past = rarity.new_past(1, pace)
    for seen, error in enumerate(errors):
        past = rarity.shifted(past, np.array([error]), np.array([error]), YES)
        sizes = rarity.measured(rarity.spell(past, np.array([seen]), pace), ONE)
        past, verdict = rarity.judge(past, sizes, YES, pace)
    return past, verdict


def measured(errors: list[list[float]], usual: Usual, pace: Pace) -> list[list[float]]:
    """By service, of readings around 10."""
    past = rarity.new_past(len(errors[0]), pace)
    for each in np.array(errors):
        past = rarity.shifted(past, each, 10 + each, np.ones(len(each), bool))
    return rarity.measured(rarity.spell(past, np.full(len(errors[0]), len(errors) - 1), pace), usual).tolist()


def test_a_reading_is_measured_in_three_ways():
    usual = Usual(np.zeros(2), np.array([2.0, 1.0]), np.array([10.0, 4.0]))
    first, second = measured([[3.0, 0.0], [4.0, 0.0], [-1.0, 2.0]], usual, HALF_HOUR)
    assert first == pytest.approx([-0.5, 6 / (np.sqrt(3) * 2), -0.5])
    assert second == pytest.approx([2, 2 / np.sqrt(3), 0.5])


def test_readings_of_five_minutes_are_measured_as_one_reading_with_their_mean():
    usual = Usual(*np.full((3, 1), 2.0))
    minutes = [[each] for each in (1.0, 5.0, 3.0, 4.0, 2.0, 0.0, -1.0, 1.0, 2.0, -2.0, 8.0, 6.0, 7.0, 9.0, 10.0)]
    assert measured(minutes, usual, Pace(60))[0] == pytest.approx(measured([[3.0], [0.0], [8.0]], usual, Pace(300))[0])


def test_there_is_no_change_before_there_are_two_spells():
    usual = Usual(*np.ones((3, 1)))
    assert measured([[50.0]], usual, HALF_HOUR)[0][2] == 0
    assert measured([[50.0]] * 9, usual, Pace(60))[0][2] == 0
    assert measured([[0.0]] * 5 + [[50.0]] * 5, usual, Pace(60))[0][2] == 50


def test_a_past_counts_by_spells_not_by_readings():
    calm = [0.2, -0.2, 0.0] * 100
    _, minutes = after(*calm, *[40.0] * 5, pace=Pace(60))
    assert minutes.score[0] == pytest.approx(after(*[0.01] * 60, 40.0)[1].score[0], rel=0.1)


def test_the_largest_deviation_ever_is_as_rare_as_the_past_is_long():
    _, verdict = after(*[0.2, -0.2, 0.0] * 33, 40.0)
    assert (verdict.beyond[0], verdict.seen[0]) == (0, 99)
    scores = [2 * size**2 / (size**2 + rarity.SIZE**2) for size in (40.0, 40.0 / np.sqrt(3), 40.0)]
    assert verdict.score[0] == pytest.approx(rarity.LARGEST * max(scores) + (1 - rarity.LARGEST) * np.mean(scores), rel=0.02)


def test_both_tails_are_judged_alike():
    errors = np.random.default_rng(1).normal(size=200).tolist()
    assert after(*errors, 9.0, -9.0)[1].beyond[0] < 2
    low, high = after(*errors, -9.0)[1], after(*[-each for each in errors], 9.0)[1]
    assert low == high._replace(deviation=-high.deviation)
    assert low.deviation[0] < 0


def test_what_is_rare_but_small_scores_little():
    calm = [0.01, -0.01, 0.0] * 100
    assert after(*calm, 0.5)[1].score[0] < 0.2 * after(*calm, 8.0)[1].score[0]


def test_what_was_seen_often_is_no_longer_rare():
    errors = [0.1, -0.2, 0.1] * 50
    scores = [after(*errors, *[9.0, 0.0, 0.0] * times, 9.0)[1].score[0] for times in (0, 3, 20)]
    assert scores[0] > scores[1] > scores[2]


def test_three_readings_together_may_be_rare_where_one_is_not():
    errors = [3.0, -3.0] * 100
    _, one = after(*errors, 0.0, 0.0, 3.0)
    _, three = after(*errors, 3.0, 3.0, 3.0)
    assert three.score[0] > 1.5 * one.score[0]


def test_a_sudden_step_may_be_rare_where_its_error_is_not():
    wave = (5 * np.sin(np.arange(400) / 30)).tolist()
    _, smooth = after(*wave, wave[-1])
    _, step = after(*wave, -wave[-1])
    assert smooth.score[0] < 0.5
    assert step.score[0] > 1.5


def test_who_has_no_reading_is_neither_judged_nor_counted():
    past, _ = after(1.0, 2.0)
    again = rarity.shifted(past, np.array([9.0]), np.array([9.0]), ~YES)
    same, verdict = rarity.judge(again, np.full((1, 3), 9.0), ~YES, HALF_HOUR)
    assert verdict.score[0] == 0
    assert np.array_equal(same.errors, past.errors)
    assert np.array_equal(same.values, past.values)
    assert (same.seen.tolist(), same.counts.sum()) == (past.seen.tolist(), past.counts.sum())
