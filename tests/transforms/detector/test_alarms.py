"""From scores to alarms and incidents."""

import numpy as np
import pytest

from jobs.transforms.detector import alarms
from jobs.transforms.detector.moments import Pace

HOURLY = Pace(3600)


def raised(scores, sizes=None, counts=True, stuck=(), threshold=alarms.THRESHOLD):
    """(rows with an alarm, the reported scores, the incident's onset row or None of each row) of one service, hour by hour."""
    sizes = [5.0 if score >= 1 else 0.0 for score in scores] if sizes is None else sizes
    state, alarmed, reported, incidents = alarms.new_alarms(1), [], [], []
    for row, (score, size) in enumerate(zip(scores, sizes, strict=True)):
        columns = [np.array([each]) for each in (float(score), float(size), row in stuck, counts)]
        state, found = alarms.raised(state, alarms.Evidence(*columns), np.array([True]), row * 3600.0, HOURLY, threshold)
        alarmed += [row] * bool(found.alarm[0])
        reported.append(float(found.score[0]))
        incidents.append(None if np.isnan(found.incident[0]) else int(found.incident[0] // 3600))
    return alarmed, reported, incidents


def test_the_score_stands_at_the_onset_and_falls_back_within_the_incident():
    alarmed, reported, incidents = raised([0, 3, 3, 3, 0])
    assert alarmed == [1]
    assert reported[1] == 3
    assert max(reported[2:]) < 0.2
    assert incidents == [None, 1, 1, 1, None]


@pytest.mark.parametrize(("counts", "hours"), [(True, 24), (False, 12)])
def test_one_alarm_in_a_day_for_counts_and_in_half_a_day_for_others(counts, hours):
    alarmed, _, _ = raised([3, *[0] * (hours - 2), 3, 3], counts=counts)
    assert alarmed == [0, hours]


def test_a_clearly_higher_score_is_news():
    assert raised([2.2, 0, 2.3])[0] == [0]
    assert raised([2.2, 0, 3.1])[0] == [0, 2]


@pytest.mark.parametrize("threshold", [0.5, 1.0, 2.0, 2.9])
def test_at_any_threshold_an_incident_raises_one_alarm(threshold):
    _, reported, _ = raised([0.1, 3, 2.9, 3, 2.5, 1.2, 0.9, 0.6, 0.1], threshold=99)
    assert [row for row, score in enumerate(reported) if score >= threshold] == [1]


def test_who_gets_stuck_raises_an_alarm_in_any_case():
    assert raised([3, 0, 3], [5, 0, 0], stuck={2})[0] == [0, 2]


def test_each_alarm_raises_the_bar_for_a_while():
    scores = ([3.0] + [0.0] * 23) * 8
    alarmed, reported, _ = raised(scores)
    heights = [reported[row] for row in range(0, len(scores), 24)]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == pytest.approx(3 / (1 + alarms.BUDGET * sum(np.exp(-day / 7) for day in range(1, 8))), rel=0.05)
    assert alarmed == [row for row in range(0, len(scores), 24) if reported[row] >= alarms.THRESHOLD]


def test_an_incident_ends_after_normal_readings_and_another_gets_its_own_onset():
    quiet = [0] * (alarms.GAP - 1)
    assert raised([3, *quiet, 3, *quiet, 0])[2] == [0, None, None, 0, None, None, None]
    assert raised([3, *quiet, 0, *[0] * 24, 3])[2][-1] == len([3, *quiet, 0, *[0] * 24])


def test_the_threshold_is_the_callers():
    assert raised([1.5, 0, 0], threshold=1.4)[0] == [0]
    assert raised([1.5, 0, 0])[0] == []
