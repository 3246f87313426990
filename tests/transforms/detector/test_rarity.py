"""How rare an error is in its service's own past."""

import numpy as np
import pytest

from jobs.transforms.detector import rarity

ONE = np.array([1.0])
YES = np.array([True])


def after(*errors: float) -> tuple[rarity.Past, rarity.Verdict]:
    past = rarity.new_past(1)
    for error in errors:
        past, verdict = rarity.judge(rarity.shifted(past, np.array([error]), YES), ONE, YES)
    return past, verdict


def test_the_largest_error_ever_is_as_rare_as_the_past_is_long():
    _, verdict = after(*[0.2, -0.2, 0.0] * 33, 40.0)
    assert (verdict.beyond[0], verdict.seen[0]) == (0, 99)
    weights = [size**2 / (size**2 + rarity.SIZE**2) for size in (40.0, 40.0 / np.sqrt(3))]
    assert verdict.score[0] == pytest.approx(np.mean([2 * weights[0], 2 * weights[1]]), rel=0.02)


def test_both_tails_are_judged_alike():
    errors = np.random.default_rng(1).normal(size=200).tolist()
    assert after(*errors, 6.0, -6.0)[1].beyond[0] < 2
    assert after(*errors, -9.0)[1].size[0] == after(*[-each for each in errors], 9.0)[1].size[0]


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
    assert three.size[0] == pytest.approx(3 * np.sqrt(3))
    assert three.score[0] > 1.5 * one.score[0]


def test_who_has_no_reading_is_neither_judged_nor_counted():
    past, _ = after(1.0, 2.0)
    same, verdict = rarity.judge(rarity.shifted(past, np.array([9.0]), ~YES), ONE, ~YES)
    assert verdict.score[0] == 0
    assert np.array_equal(same.recent, past.recent)
    assert (same.seen.tolist(), same.counts.sum()) == (past.seen.tolist(), past.counts.sum())
