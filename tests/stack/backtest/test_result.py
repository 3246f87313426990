"""A backtest as a whole: its output file, its incidents and their reasons, and the threshold for a wanted load."""

import csv

import numpy as np
import pytest

from jobs.transforms.detector.reasons import reason
from stack.backtest.result import Backtest, backtest, write
from tests.stack.backtest.captures import MONDAY, rows_of
from tests.transforms.detector.walks import days

SURGE = 48 * 30 + 20
WEEK = 7 * 86_400


@pytest.fixture(scope="module")
def result() -> Backtest:
    """Five weeks of half hours, with a surge of three hours on the thirtieth day, and a reading that is missing."""
    values = days(35)[:, 0]
    values[SURGE : SURGE + 6] *= 2
    values[100] = np.nan
    return backtest(rows_of((30.0 * np.arange(len(values))).tolist(), values.tolist()), 1800, None, 2 * WEEK)


def test_the_surge_is_one_incident_with_its_figures(result):
    (surge,) = [each for each in result.incidents if SURGE in each.rows]
    assert (surge.id, surge.service, surge.direction) == ("www@2014-07-02T10:00:00Z", "www", "high")
    assert surge.rows[:6].tolist() == list(range(SURGE, SURGE + 6))
    assert len(surge.rows) <= 8
    assert surge.end - surge.start == (surge.rows[-1] - SURGE) * 1_800_000
    assert surge.total == result.rows.values[surge.rows].sum()
    assert surge.expected == pytest.approx(result.score.expected[surge.rows].sum())
    assert result.score.expected[SURGE : SURGE + 6].sum() == pytest.approx(
        result.rows.values[SURGE : SURGE + 6].sum() / 2, rel=0.1
    )
    assert surge.highest == result.score.score.max()


def test_an_incident_says_why(result):
    text = reason(result.score, SURGE)
    assert " scales above what this time of " in text
    assert f"; 0 of {SURGE - 13:,} readings before deviated as much" in text
    assert reason(result.score, 100) == "no reading, or none before it"
    assert "too few readings before it" in reason(result.score, 5)


def test_the_output_has_a_line_for_each_row_in_its_order(result, tmp_path):
    write(result, tmp_path / "out.csv", explain=False)
    lines = list(csv.DictReader((tmp_path / "out.csv").open()))
    header = ["timestamp", "value", "expected", "predicted_pct", "anomaly_score", "is_anomaly", "incident_id"]
    assert list(lines[0]) == header
    assert [each["timestamp"] for each in lines] == result.rows.timestamps.to_pylist()
    assert [each["value"] for each in lines] == result.rows.given.to_pylist()
    surge, missing = lines[SURGE], lines[100]
    assert float(surge["predicted_pct"]) == pytest.approx(100 * float(surge["value"]) / float(surge["expected"]), rel=1e-4)
    assert (surge["is_anomaly"], surge["incident_id"]) == ("true", "www@2014-07-02T10:00:00Z")
    assert (missing["value"], missing["predicted_pct"], missing["anomaly_score"], missing["is_anomaly"]) == (
        "nan",
        "",
        "0.0000",
        "false",
    )
    assert float(missing["expected"]) > 0
    assert lines[0]["expected"] == ""
    assert [float(each["anomaly_score"]) for each in lines] == pytest.approx(result.score.score.tolist(), abs=1e-4)


def test_with_explain_each_line_says_its_service_and_why(result, tmp_path):
    write(result, tmp_path / "out.csv", explain=True)
    line = list(csv.DictReader((tmp_path / "out.csv").open()))[SURGE]
    assert (line["service"], line["reason"]) == ("www", reason(result.score, SURGE))


def test_the_warm_up_is_not_counted_and_at_most_half_of_the_capture(result):
    start = round(MONDAY.timestamp() * 1000)
    assert result.counted_from == start + 2 * WEEK * 1000
    short = rows_of([0, 60, 120, 600], [1, 2, 3, 4])
    assert backtest(short, 1800, None, 2 * WEEK).counted_from == start + 300 * 60_000
    flags = np.zeros(len(result.rows.values), bool)
    flags[[10, 48 * 20, 48 * 30]] = True
    assert result.per_week(flags) == pytest.approx(2 / (21 - 0.5 / 24) * 7)


def test_an_incident_is_reported_by_an_alarm_within_it_or_on_the_day_before(result):
    (surge,) = [each for each in result.incidents if SURGE in each.rows]
    for row, reported in ((SURGE + 2, True), (SURGE - 40, True), (SURGE - 60, False), (SURGE + 30, False)):
        assert result.reported(surge, np.arange(len(result.rows.values)) == row) == reported


@pytest.mark.parametrize("wanted", [0.5, 3.0])
def test_the_suggested_threshold_meets_the_load_and_a_lower_one_does_not(result, wanted):
    threshold = result.suggested(wanted)
    assert result.per_week(result.alarms_at(threshold)) <= wanted
    assert result.per_week(result.alarms_at(threshold - 0.02)) > wanted
