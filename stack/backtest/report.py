"""The page of a backtest: one HTML file that needs nothing else, with charts, incidents per week and verdicts."""

import datetime as dt
import html
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from stack.backtest.bars import weekly_bars
from stack.backtest.incidents import Incident
from stack.backtest.labels import Judgement, Label
from stack.backtest.result import Backtest
from stack.instance import ROOT

HERE = Path(__file__).parent
VENDOR = ROOT / "serving" / "static" / "vendor"
SERVICES_SHOWN, INCIDENTS_SHOWN = 12, 200
POINTS = 60_000  # of all charts together; of a longer series, the lowest and the highest reading of each stretch
AROUND = dt.timedelta(days=10)  # what a chart shows before and after the incident that one clicks


def write_report(
    result: Backtest, labels: list[Label], verdicts: dict[str, Judgement], title: str, zone: str, path: Path
) -> None:
    """Writes the page. labels: shown in the charts. verdicts: by the name of what was judged; none without labels."""
    shown = _services_shown(result)
    charts = [_chart(result, service, labels, zone, POINTS // len(shown)) for service in shown]
    left_out = len(result.rows.names) - len(shown)
    parts = {
        "title": html.escape(title),
        "summary": _summary(result, zone),
        "more": f"<p class=quiet>{left_out:,} more services are in the output file.</p>" if left_out else "",
        "charts": "".join(
            f"<section><h2>{html.escape(chart['service'])}</h2><div class=chart></div></section>" for chart in charts
        ),
        "bars": weekly_bars(result),
        "verdicts": _verdicts(verdicts),
        "incidents": _incidents(result, zone, [chart["service"] for chart in charts]),
        "style": (VENDOR / "uPlot.min.css").read_text() + (HERE / "report.css").read_text(),
        "script": (VENDOR / "uPlot.iife.min.js").read_text() + (HERE / "report.js").read_text(),
        "data": json.dumps(charts, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    }
    page = (HERE / "report.html").read_text()
    for name in ("title", "summary", "more", "charts", "bars", "verdicts", "incidents", "style", "script", "data"):
        page = page.replace("{{" + name + "}}", parts[name], 1)
    path.write_text(page, encoding="utf-8")


def _services_shown(result: Backtest) -> list[int]:
    """Those with the most incidents first."""
    counts = dict.fromkeys(range(len(result.rows.names)), 0)
    for each in result.incidents:
        counts[int(result.rows.services[each.peak])] += 1
    return sorted(counts, key=lambda service: -counts[service])[:SERVICES_SHOWN]


def _chart(result: Backtest, service: int, labels: list[Label], zone: str, points: int) -> dict:
    """What report.js draws: columns by time (epoch seconds, rising), spans of incidents and labels. points: at most so many."""
    rows, score = result.rows, result.score
    of = np.flatnonzero(rows.services == service)
    of = of[np.argsort(rows.instants[of], kind="stable")]
    of = _thinned(of, rows.values[of], points)
    columns = [rows.values[of], score.low[of], score.high[of], score.expected[of], score.score[of]]
    name = rows.names[service]
    return {
        "service": name,
        "zone": zone,
        "columns": [(rows.instants[of] / 1000).tolist(), *(_rounded(each) for each in columns)],
        "incidents": [[each.start / 1000, each.end / 1000] for each in result.incidents if each.service == name],
        "labels": [[each.start / 1000, each.end / 1000] for each in labels if each.service == name],
        "threshold": _rounded(result.settings.rules_of([name]).score)[0],
    }


def _thinned(rows: np.ndarray, values: np.ndarray, points: int) -> np.ndarray:
    if len(rows) <= points:
        return rows
    stretches = np.array_split(np.arange(len(rows)), points // 2)
    known = np.where(np.isfinite(values), values, np.nanmean(values))
    kept = {int(each[pick(known[each])]) for each in stretches for pick in (np.argmin, np.argmax)}
    return rows[sorted(kept)]


def _rounded(column: np.ndarray) -> list[float | None]:
    return [float(f"{each:.5g}") if np.isfinite(each) else None for each in column.tolist()]


def _summary(result: Backtest, zone: str) -> str:
    first, last = int(result.rows.instants.min()), int(result.rows.instants.max())
    rows = {
        "rows": f"{len(result.rows.values):,}",
        "services": f"{len(result.rows.names):,}",
        "from": _local(first, zone),
        "to": _local(last, zone),
        "counted from": _local(result.counted_from, zone),
        "incidents": f"{len(result.reported):,}",
        "incidents a week": f"{result.per_week(result.opened):.1f}",
        "readings a week that the plain rule flags": f"{result.per_week(result.plain):,.1f}",
    }
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{html.escape(value)}</dd></div>" for name, value in rows.items()) + "</dl>"


def _verdicts(verdicts: dict[str, Judgement]) -> str:
    if not verdicts:
        return ""
    lines = "".join(
        f"<tr><td>{name}<td>{each.precision:.2f}<td>{each.recall:.2f} ({each.found} of {each.labels})"
        f"<td>{each.delay_seconds / 60:.0f} min<td>{each.false_per_week:.1f}"
        for name, each in verdicts.items()
    )
    head = "<tr><th><th>precision<th>recall<th>median delay<th>false alarms a week"
    return f"<section><h2>Against the labels</h2><table>{head}{lines}</table></section>"


def _incidents(result: Backtest, zone: str, charts: list[str]) -> str:
    """charts: the services that have one, in the page's order."""
    shown = sorted(result.incidents, key=lambda each: -each.highest)[:INCIDENTS_SHOWN]
    lines = "".join(_incident(result, each, zone, charts) for each in shown)
    head = "<tr><th>service<th>start<th>end<th>score<th>direction<th>peak<th>expected there<th>total<th>expected in all<th>why"
    return f"<table>{head}{lines}</table>" if lines else "<p>None.</p>"


def _incident(result: Backtest, each: Incident, zone: str, charts: list[str]) -> str:
    peak = each.peak
    figures = (result.rows.values[peak], result.score.expected[peak], each.total, each.expected)
    start = _local(each.start, zone)
    if each.service in charts:
        around = round(AROUND.total_seconds())
        span = f"from={each.start // 1000 - around}&amp;to={each.end // 1000 + around}"
        start = f'<a href="#chart={charts.index(each.service)}&amp;{span}">{start}</a>'
    cells = [html.escape(each.service), start, _local(each.end, zone), f"{each.highest:.2f}", each.direction]
    cells += [f"{figure:,.6g}" for figure in figures]
    return "<tr>" + "".join(f"<td>{cell}" for cell in [*cells, html.escape(each.cause)])


def _local(milliseconds: int, zone: str) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")
