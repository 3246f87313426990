"""A backtest as a whole: its output file, its incidents and their reasons, and the threshold for a wanted load."""

import csv

import numpy as np
import pytest

from contracts.incidents import Incidents
from jobs.transforms.detector.reasons import reason
from stack.backtest.result import Backtest, backtest, of_capture, write
from stack.backtest.suggestion import suggestion
from stack.errors import StackError
from tests.stack.backtest.captures import MONDAY, rows_of, settings
from tests.transforms.detector.walks import days

SURGE = 48 * 30 + 20
WEEK = 7 * 86_400


@pytest.fixture(scope="module")
def result() -> Backtest:
    """Five weeks of half hours, with a surge of three hours on the thirtieth day, and a reading that is missing."""
    values = days(35)[:, 0]
    values[SURGE : SURGE + 6] *= 2
    values[100] = np.nan
    return backtest(rows_of((30.0 * np.arange(len(values))).tolist(), values.tolist()), settings(), 2 * WEEK)


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
    assert " scales above what is usual at this time of " in text
    assert f"; 0 of {SURGE - 13:,} earlier readings deviated as much" in text
    assert reason(result.score, 100) == "no reading, or none before it"
    assert "too few earlier readings" in reason(result.score, 5)


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
    assert backtest(short, settings(), 2 * WEEK).counted_from == start + 300 * 60_000
    flags = np.zeros(len(result.rows.values), bool)
    flags[[10, 48 * 20, 48 * 30]] = True
    assert result.per_week(flags) == pytest.approx(2 / (21 - 0.5 / 24) * 7)


def test_a_row_opens_an_incident_if_it_is_the_first_of_it(result):
    rows = np.flatnonzero(result.opened)
    assert SURGE in rows
    assert [result.ids[int(row)].as_py() for row in rows] == [each.id for each in result.incidents]
    assert [each.id for each in result.reported] == [each.id for each in result.incidents if each.start >= result.counted_from]


def test_a_rule_decides_what_is_an_incident(result):
    rule = {"score": 1.2, "percent": 50, "persistence": "3 of 4"}
    found = backtest(result.rows, settings(**rule), 2 * WEEK)
    assert np.array_equal(found.score.score, result.score.score), "scores do not depend on the rule"
    (surge,) = found.incidents
    assert (surge.id, surge.rows[0]) == ("www@2014-07-02T10:00:00Z", SURGE + 2)
    assert np.array_equal(result.opened_by(Incidents.model_validate(rule)), found.opened)


@pytest.mark.full
@pytest.mark.parametrize("rule", [{}, {"persistence": "2 of 3"}, {"percent": 5, "minimum": 300, "score": None}])
@pytest.mark.parametrize("wanted", [pytest.param(0.5, marks=pytest.mark.full), 3.0])
def test_the_suggested_rule_keeps_to_the_load_and_a_lower_score_does_not(result, wanted, rule):
    declared = Incidents.model_validate(rule)
    run = backtest(result.rows, settings(**rule), 2 * WEEK)
    load = run.load(declared, wanted)
    suggested, lines = suggestion(load, declared, ["www"], run.reported)
    again = backtest(result.rows, of_capture(1800, None, suggested), 2 * WEEK)
    assert again.per_week(again.opened) <= wanted
    assert f"# {again.per_week(again.opened):.1f} incidents a week, {wanted:g} wanted" in lines[0]
    if suggested.score:
        lower = backtest(result.rows, of_capture(1800, None, declared.with_score(suggested.score - 0.01)), 2 * WEEK)
        assert lower.per_week(lower.opened) > wanted
    opened = {each.end for each in again.incidents}
    missed = [each.id for each in run.reported if each.last not in opened]
    assert lines[0].endswith(f"; {len(missed)} of {len(run.reported)} incidents of this run missed")
    assert [line.split()[2].rstrip(",") for line in lines[1:21]] == missed[:20]


def test_scores_of_overrides_stay_and_may_open_more_than_is_wanted(result):
    declared = Incidents.model_validate({"score": 5, "overrides": [{"services": "w+", "rule": {"score": 0.5}}]})
    run = backtest(result.rows, of_capture(1800, None, declared), 2 * WEEK)
    with pytest.raises(StackError, match=r"overrides with a score of their own alone open \d+\.\d a week"):
        suggestion(run.load(declared, 0.5), declared, ["www"], run.reported)
    suggested, lines = suggestion(run.load(declared, 100), declared, ["www"], run.reported)
    assert suggested.overrides == declared.overrides
    assert f"# {run.per_week(run.opened):.1f} incidents a week, 100 wanted; 0 of" in lines[0]
