"""From scores to alarms."""

import numpy as np
import pytest

from jobs.transforms.detector import alarms
from jobs.transforms.detector.moments import Pace

HOURLY = Pace(3600)


def raised(scores, counts=True, stuck=(), threshold=alarms.THRESHOLD):
    """(rows with an alarm, the reported scores) of one service, hour by hour."""
    state, alarmed, reported = alarms.new_alarms(1), [], []
    for row, score in enumerate(scores):
        columns = [np.array([each]) for each in (float(score), row in stuck, counts)]
        state, found = alarms.raised(state, alarms.Evidence(*columns), np.array([True]), row * 3600.0, HOURLY, threshold)
        alarmed += [row] * bool(found.alarm[0])
        reported.append(float(found.score[0]))
    return alarmed, reported


def test_the_score_stands_at_the_onset_and_falls_back_within_the_incident():
    alarmed, reported = raised([0, 3, 3, 3, 0])
    assert alarmed == [1]
    assert reported[1] == 3
    assert max(reported[2:]) < 0.2


@pytest.mark.parametrize(("counts", "hours"), [(True, 24), (False, 12)])
def test_one_alarm_in_a_day_for_counts_and_in_half_a_day_for_others(counts, hours):
    alarmed, _ = raised([3, *[0] * (hours - 2), 3, 3], counts=counts)
    assert alarmed == [0, hours]


def test_a_clearly_higher_score_is_news():
    assert raised([2.2, 0, 2.3])[0] == [0]
    assert raised([2.2, 0, 3.1])[0] == [0, 2]


@pytest.mark.parametrize("threshold", [0.5, 1.0, 2.0, 2.9])
def test_at_any_threshold_an_incident_raises_one_alarm(threshold):
    _, reported = raised([0.1, 3, 2.9, 3, 2.5, 1.2, 0.9, 0.6, 0.1], threshold=99)
    assert [row for row, score in enumerate(reported) if score >= threshold] == [1]


def test_who_gets_stuck_raises_an_alarm_in_any_case():
    assert raised([3, 0, 3], stuck={2})[0] == [0, 2]


def test_each_alarm_raises_the_bar_for_a_while():
    scores = ([3.0] + [0.0] * 23) * 8
    alarmed, reported = raised(scores)
    heights = [reported[row] for row in range(0, len(scores), 24)]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == pytest.approx(3 / (1 + alarms.BUDGET * sum(np.exp(-day / 7) for day in range(1, 8))), rel=0.05)
    assert alarmed == [row for row in range(0, len(scores), 24) if reported[row] >= alarms.THRESHOLD]


def test_the_threshold_is_the_callers():
    assert raised([1.5, 0, 0], threshold=1.4)[0] == [0]
    assert raised([1.5, 0, 0])[0] == []
