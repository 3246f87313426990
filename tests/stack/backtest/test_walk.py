"""The walk through a capture: every row scored by its local time, whatever the rule is."""

import numpy as np

from jobs.transforms.detector.incident_life import NO_INCIDENT
from stack.backtest.walk import onsets_by, scored
from tests.stack.backtest.captures import MONDAY, rows_of, settings
from tests.transforms.detector.walks import days, walk


def test_the_scores_are_those_of_the_detector():
    values = days(9, services=2)
    row, service = np.divmod(np.arange(values.size), 2)
    rows = rows_of((row * 30.0).tolist(), values.ravel().tolist(), service.tolist(), ("a", "b"))
    _, found = scored(rows, settings())
    _, expected = walk(values)
    for name in ("expected", "score", "alarm", "season"):
        assert np.array_equal(getattr(found, name), getattr(expected, name).ravel(), equal_nan=True), name


def test_each_service_goes_by_the_first_rule_whose_pattern_matches():
    values = np.repeat(days(21), 2, axis=1)
    values[700:704] *= 2
    row, service = np.divmod(np.arange(values.size), 2)
    rows = rows_of((row * 30.0).tolist(), values.ravel().tolist(), service.tolist(), ("a", "batch"))
    rule = settings(
        score=0.5, overrides=[{"services": "bat.*", "rule": {"score": 99}}, {"services": "b.*", "rule": {"score": 0}}]
    )
    readings, score = scored(rows, rule)
    onsets = onsets_by(rule, rows.names, readings, score)
    assert onsets[rows.services == 0][700] == round(MONDAY.timestamp() * 1000) + 700 * 1_800_000
    assert (onsets[rows.services == 1] == NO_INCIDENT).all()


def test_holidays_are_those_of_the_country():
    rows = rows_of([0, 32 * 1440], [1, 2])  # 2 June and 4 July 2014
    assert scored(rows, settings("US"))[0].holiday.tolist() == [False, True]
    assert scored(rows, settings("US-MN"))[0].holiday.tolist() == [False, True]
    assert not scored(rows, settings())[0].holiday.any()
