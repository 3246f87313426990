"""The page of a backtest needs nothing else, says what was found, and cannot be broken by a service's name."""

import json
import re

import numpy as np
import pytest

from stack.backtest import report
from stack.backtest.bars import weekly_bars
from stack.backtest.labels import Judgement, Label
from stack.backtest.result import Backtest, backtest
from tests.stack.backtest.captures import MONDAY, rows_of, settings
from tests.transforms.detector.walks import days

NAME = "</script><b>shop"
START = round(MONDAY.timestamp() * 1000)


@pytest.fixture(scope="module")
def result() -> Backtest:
    values = days(21)[:, 0]
    values[48 * 17 + 20 : 48 * 17 + 26] *= 3
    return backtest(rows_of((30.0 * np.arange(len(values))).tolist(), values.tolist(), names=(NAME,)), settings(), 7 * 86_400)


@pytest.fixture(scope="module")
def page(result, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    verdicts = {"detector": Judgement(2, 1, 4, 3, 1800.0, 0.5)}
    report.write_report(result, [Label(NAME, START, START + 3_600_000)], verdicts, "a <file>", "Europe/Berlin", path)
    return path.read_text()


def test_nothing_is_fetched_from_elsewhere(page):
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//""", page)
    assert "@import" not in page
    assert "{{" not in page.split("<script>")[0]
    assert "uPlot" in page


def test_names_are_text(page):
    assert NAME not in page
    assert "&lt;/script&gt;&lt;b&gt;shop" in page
    assert "<title>Backtest of a &lt;file&gt;</title>" in page


def test_the_charts_have_the_series_the_incidents_and_the_labels(page, result):
    (chart,) = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    assert (chart["service"], chart["zone"], chart["labels"]) == (NAME, "Europe/Berlin", [[START / 1000, START / 1000 + 3600]])
    times, value, low, high, expected, score = chart["columns"]
    assert times == (result.rows.instants / 1000).tolist()
    assert value == pytest.approx(result.rows.values.tolist(), rel=1e-4)
    assert (low[0], expected[0]) == (None, None)
    assert all(a <= b <= c for a, b, c in list(zip(low, expected, high, strict=True))[1:])
    assert max(score) == pytest.approx(result.score.score.max(), rel=1e-4)
    assert chart["incidents"] == [[each.start / 1000, each.end / 1000] for each in result.incidents]


def test_incidents_and_verdicts_are_in_tables(page, result):
    assert "0.75<td>0.50 (1 of 2)<td>30 min<td>0.5" in page
    surge = max(result.incidents, key=lambda each: each.highest)
    assert f">2014-06-19 12:00</a><td>2014-06-19 14:30<td>{surge.highest:.2f}<td>high" in page


def test_the_start_of_an_incident_leads_to_its_place_in_the_chart(page, result):
    surge = max(result.incidents, key=lambda each: each.highest)
    ten_days = 10 * 86_400
    span = f"from={surge.start // 1000 - ten_days}&amp;to={surge.end // 1000 + ten_days}"
    assert f'<a href="#chart=0&amp;{span}">2014-06-19 12:00</a>' in page


def test_a_long_series_keeps_its_extremes():
    values = np.sin(np.arange(1000.0))
    values[[333, 777]] = 9, -9
    values[5] = np.nan
    kept = report._thinned(np.arange(1000), values, 20)
    assert len(kept) <= 20
    assert {333, 777} <= set(kept.tolist())
    assert sorted(kept) == kept.tolist()


def test_bars_count_incidents_by_week(result):
    bars = re.findall(r"<title>([\d-]+): (\d+)</title>", weekly_bars(result))
    weeks = (result.rows.instants - START) // (7 * 86_400_000)
    opened = [("2014-06-02", weeks == 0), ("2014-06-09", weeks == 1), ("2014-06-16", weeks == 2)]
    assert bars[:3] == [(day, str(np.count_nonzero(result.opened[of]))) for day, of in opened]
    assert bars[3:] == [(day, str(np.count_nonzero(result.plain[of]))) for day, of in opened]
    assert weekly_bars(result).count("class=warm") == 2
