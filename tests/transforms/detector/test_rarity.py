"""How rare a deviation is in its service's own past."""

import numpy as np
import pytest

from jobs.transforms.detector import rarity

ONE = np.array([1.0])
YES = np.array([True])


def after(*errors: float) -> tuple[rarity.Past, rarity.Verdict]:
    """Of readings whose expected value and scales never change: each change is the difference of two errors."""
    past, last = rarity.new_past(1), 0.0
    for error in errors:
        past = rarity.shifted(past, np.array([error]), YES)
        past, verdict = rarity.judge(past, rarity.measured(past, ONE, np.array([error - last]), ONE), YES)
        last = error
    return past, verdict


def test_a_reading_is_measured_in_three_ways():
    past = rarity.new_past(2)
    for errors in ([3.0, 0.0], [4.0, 0.0], [-1.0, 2.0]):
        past = rarity.shifted(past, np.array(errors), np.array([True, True]))
    sizes = rarity.measured(past, np.array([2.0, 1.0]), np.array([-5.0, 2.0]), np.array([10.0, 4.0]))
    assert sizes[0].tolist() == pytest.approx([0.5, 6 / (np.sqrt(3) * 2), 0.5])
    assert sizes[1].tolist() == pytest.approx([2, 2 / np.sqrt(3), 0.5])


def test_the_largest_deviation_ever_is_as_rare_as_the_past_is_long():
    _, verdict = after(*[0.2, -0.2, 0.0] * 33, 40.0)
    assert (verdict.beyond[0], verdict.seen[0]) == (0, 99)
    scores = [2 * size**2 / (size**2 + rarity.SIZE**2) for size in (40.0, 40.0 / np.sqrt(3), 40.0)]
    assert verdict.score[0] == pytest.approx(rarity.LARGEST * max(scores) + (1 - rarity.LARGEST) * np.mean(scores), rel=0.02)


def test_both_tails_are_judged_alike():
    errors = np.random.default_rng(1).normal(size=200).tolist()
    assert after(*errors, 9.0, -9.0)[1].beyond[0] < 2
    mirrored = after(*[-each for each in errors], 9.0)[1]
    assert all(np.array_equal(one, two) for one, two in zip(after(*errors, -9.0)[1], mirrored, strict=True))


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
    again = rarity.shifted(past, np.array([9.0]), ~YES)
    same, verdict = rarity.judge(again, rarity.measured(again, ONE, np.array([9.0]), ONE), ~YES)
    assert verdict.score[0] == 0
    assert np.array_equal(same.recent, past.recent)
    assert (same.seen.tolist(), same.counts.sum()) == (past.seen.tolist(), past.counts.sum())
