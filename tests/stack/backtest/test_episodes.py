"""Episodes tell for every score how many incidents a rule opens, into however many pieces the readings are cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incident_life import followed
from jobs.transforms.detector.rules import GAP, Rules
from jobs.transforms.detector.walk import Readings
from stack.backtest.episodes import Episodes, EpisodeWalk

HALF_HOUR = 1_800_000


def rules(needed: int, within: int, score: float = 0.0, gap: int = GAP) -> Rules:
    two, off = np.ones(2), np.full(2, np.nan)
    return Rules(score * two, off, off, off, needed * two.astype(np.int64), within * two.astype(np.int64), np.full(2, gap))


def readings_of(cells: list[tuple[int, float]]) -> tuple[Readings, Score]:
    """cells: (service, score) by time; a score above zero is that of an unusual reading, one below zero that of a usual one."""
    many = len(cells)
    service, scores = np.array([each[0] for each in cells], np.int64), np.array([each[1] for each in cells])
    at, none = np.arange(many) * HALF_HOUR, np.zeros(many, bool)
    zeros = np.zeros(many)
    sizes = np.where(scores > 0, 9.0, 0.0)
    score = Score(zeros, zeros, zeros, np.abs(scores), none, none, zeros, sizes, zeros, sizes, zeros, zeros, none)
    return Readings(service, at, at, none, np.ones(many)), score


def walked(cells: list[tuple[int, float]], rule: Rules, cuts: list[int]) -> Episodes:
    readings, score = readings_of(cells)
    walk, found = EpisodeWalk(int(rule.gap[0])), []
    for first, end in zip([0, *cuts], [*cuts, len(cells)], strict=True):
        some = Readings(*(column[first:end] for column in readings))
        of_some = Score(*(column[first:end] for column in score))
        found.append(walk.ended(some, of_some, rule, last=end == len(cells)))
    return Episodes(*map(np.concatenate, zip(*found, strict=True)))


def opened(cells: list[tuple[int, float]], rule: Rules) -> int:
    readings, score = readings_of(cells)
    _, events, _ = followed({}, ["a", "b"], readings, score, rule)
    return sum(event.state == "opened" for event in events)


def test_an_episode_ends_with_three_usual_readings_and_has_its_highest_score():
    scores = [1, 0, 0, 3, 0, 0, 0, 2, 2.5, 0]
    found = walked([(0, each) for each in scores], rules(1, 1), [])
    assert (found.last // HALF_HOUR).tolist() == [3, 8]
    assert found.score.tolist() == [3, 2.5]


def test_with_a_longer_gap_unusual_readings_by_chance_do_not_keep_an_episode_open():
    often = [1, 0, 0, 0, 0, 0, 0, 0] * 3 + [1] + [0] * 8
    assert (walked([(0, each) for each in often], rules(1, 1, gap=8), [9]).last // HALF_HOUR).tolist() == [8, 24]
    more = [1, 0, 0, 0] * 6 + [0] * 8
    assert (walked([(0, each) for each in more], rules(1, 1, gap=8), [9]).last // HALF_HOUR).tolist() == [20]


def test_with_persistence_only_onsets_count_that_enough_others_follow():
    scores = [5, 0, 0, 0, 1, 2, 0, 0, 0, 9]
    found = walked([(0, each) for each in scores], rules(2, 2), [])
    assert ((found.last // HALF_HOUR).tolist(), found.score.tolist()) == ([5], [1])
    found = walked([(0, each) for each in [5, 0, 0, 1, 2]], rules(2, 2), [])
    assert found.score.tolist() == [5], "what was rejected for want of others stands"


def test_a_score_before_an_unusual_reading_counts_if_it_still_stands():
    scores = [-3, 0, 0, 1, 0, 0, 0, -3, 0, 0, 0, 1, 0, -2, 1]
    found = walked([(0, each) for each in scores], rules(1, 1), [2, 8, 13])
    assert ((found.last // HALF_HOUR).tolist(), found.score.tolist()) == ([3, 14], [3, 2])


CELLS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0, 0, 0, 0.5, 1, 1.5, 2, -1, -2])), min_size=1, max_size=60)


@given(
    CELLS, st.lists(st.integers(0, 60), max_size=3), st.sampled_from([(1, 1), (2, 2), (2, 4), (3, 5)]), st.sampled_from([GAP, 8])
)
def test_pieces_make_no_difference(cells, cuts, persistence, gap):
    rule = rules(*persistence, gap=gap)
    whole, pieces = walked(cells, rule, []), walked(cells, rule, sorted(min(each, len(cells) - 1) for each in cuts))
    assert sorted(zip(*map(np.ndarray.tolist, whole), strict=True)) == sorted(zip(*map(np.ndarray.tolist, pieces), strict=True))


@pytest.mark.parametrize("score", [0.5, 1, 1.5, 2, 3])
@given(cells=CELLS)
def test_each_score_opens_as_many_incidents_as_episodes_reach_it(score, cells):
    cells = [(service, max(each, 0)) for service, each in cells]
    assert np.count_nonzero(walked(cells, rules(1, 1), []).score >= score) == opened(cells, rules(1, 1, score))


@pytest.mark.parametrize("score", [0.5, 1, 1.5, 2, 3])
@given(cells=CELLS, persistence=st.sampled_from([(1, 1), (2, 2), (2, 4), (3, 5)]), gap=st.sampled_from([GAP, 8]))
def test_with_persistence_or_scores_that_stand_never_more_incidents_are_opened(score, cells, persistence, gap):
    needed, within = persistence
    reached = np.count_nonzero(walked(cells, rules(needed, within, gap=gap), []).score >= score)
    assert reached >= opened(cells, rules(needed, within, score, gap))
