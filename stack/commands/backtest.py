"""`sundial backtest`: what the detector would have reported of a capture."""

import re
from pathlib import Path
from typing import Annotated
from zoneinfo import available_timezones

import typer
import yaml
from pydantic import ValidationError

from contracts.feeds import Holidays
from jobs.transforms.detector.alarms import THRESHOLD
from sources.incidents import seconds
from stack.backtest.labels import Judgement, judged, read_labels
from stack.backtest.report import write_report
from stack.backtest.result import Backtest, backtest, write
from stack.backtest.rows import read_rows
from stack.commands.console import failures_reported
from stack.errors import StackError

DAY = 86_400
COLUMNS, RESULTS, RULE = "What the file has", "What is written", "The rule"


def backtest_command(
    file: Annotated[Path, typer.Argument(metavar="INPUT.csv", help="Readings: a CSV file with a header, plain or .gz.")],
    timestamp: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", rich_help_panel=COLUMNS, help="Times: epoch seconds, ISO 8601 with an offset, or local time."
        ),
    ],
    value: Annotated[str, typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="Values; empty or NaN: no reading.")],
    interval: Annotated[
        str,
        typer.Option(metavar="SPAN", rich_help_panel=COLUMNS, help="What one reading covers: 10s, 5m, 1h. It must divide a day."),
    ],
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", rich_help_panel=COLUMNS, help="Of local days, and of times without an offset.")
    ],
    output: Annotated[
        Path, typer.Option(metavar="OUT.csv", rich_help_panel=RESULTS, help="One row per input row, in its order.")
    ],
    service: Annotated[
        str | None, typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="Services. Without: all rows are of one.")
    ] = None,
    holidays: Annotated[
        str | None, typer.Option(metavar="COUNTRY", rich_help_panel=COLUMNS, help="Public holidays: US, DE, or US-MN for a part.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=COLUMNS, help="Known incidents: a CSV file with service, start and end."),
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", rich_help_panel=RESULTS, help="A page with charts.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", rich_help_panel=RESULTS, help="Add the columns service and reason to the output.")
    ] = False,
    warmup: Annotated[
        str, typer.Option(metavar="SPAN", rich_help_panel=RULE, help="The first part: scored, but not counted.")
    ] = "28d",
    threshold: Annotated[
        float, typer.Option(min=0.01, rich_help_panel=RULE, help="Score from which a reading raises an alarm.")
    ] = THRESHOLD,
    suggest: Annotated[
        str | None,
        typer.Option(metavar="N/week", rich_help_panel=RULE, help="Print the threshold for so many alarms, e.g. 2/week."),
    ] = None,
) -> None:
    """What the detector would have reported of a capture, each reading judged by those before it only.

    Gaps, repeated times and uneven steps are normal. OUT.csv has timestamp, value, expected, predicted_pct, anomaly_score,
    is_anomaly and incident_id. The score stands high at an onset and falls back within the incident.

    [bold]Example[/bold]

    [cyan]sundial backtest samples/metro_interstate_traffic_volume.csv.gz --timestamp date_time --value traffic_volume
    --interval 1h --timezone America/Chicago --holidays US-MN --output scores.csv --report report.html[/cyan]
    """
    with failures_reported():
        step, warm, wanted = _interval(interval), _span(warmup, "--warmup"), _load(suggest) if suggest else None
        _known_zone(timezone)
        _known_country(holidays)
        rows = read_rows(file, timestamp, value, service, timezone)
        known = read_labels(labels, timezone, rows.names) if labels else []
        result = backtest(rows, step, holidays, warm, threshold)
        _writable(output, lambda: write(result, output, explain))
        verdicts = {
            "detector": judged(rows, result.score.alarm, known, result.counted_from),
            "plain rule": judged(rows, result.plain, known, result.counted_from),
        }
        if report:
            _writable(report, lambda: write_report(result, known, verdicts if labels else {}, file.name, timezone, report))
        typer.echo(_summary(result, output))
        if labels:
            typer.echo("\n".join(_line(name, verdict) for name, verdict in verdicts.items()))
        if wanted is not None:
            typer.echo(_suggestion(result, wanted, known))


def _summary(result: Backtest, output: Path) -> str:
    counted = sum(each.start >= result.counted_from for each in result.incidents)
    return (
        f"{len(result.rows.values):,} rows of {len(result.rows.names):,} services to {output}; after the warm-up "
        f"{counted:,} incidents, {result.per_week(result.score.alarm):.1f} alarms a week; the plain rule flags "
        f"{result.per_week(result.plain):,.1f} readings a week"
    )


def _line(name: str, verdict: Judgement) -> str:
    delay = f"{verdict.delay_seconds / 60:.0f} min" if verdict.found else "none"
    return (
        f"{name}: precision {verdict.precision:.2f}, recall {verdict.recall:.2f} ({verdict.found} of {verdict.labels} labels), "
        f"median delay {delay}, {verdict.false_per_week:.1f} false alarms a week"
    )


def _suggestion(result: Backtest, wanted: float, labels: list) -> str:
    """A rule to paste, and what it would have left unsaid."""
    threshold = result.suggested(wanted)
    alarm = result.alarms_at(threshold)
    counted = [each for each in result.incidents if each.start >= result.counted_from]
    missed = [each for each in counted if not result.reported(each, alarm)]
    load = f"{result.per_week(alarm):.1f} alarms a week, {wanted:g} wanted"
    lines = [yaml.safe_dump({"rule": {"score": threshold}}).strip()]
    lines.append(f"# {load}; {len(missed)} of {len(counted)} incidents of this run missed")
    lines += [f"# missed: {each.id}, {each.direction}, score {each.highest:.2f}" for each in missed[:20]]
    if len(missed) > 20:
        lines.append(f"# missed: … and {len(missed) - 20} more")
    if labels:
        verdict = judged(result.rows, alarm, labels, result.counted_from)
        lines.append(f"# {_line('labels', verdict)}")
    return "\n".join(lines)


def _span(text: str, option: str) -> int:
    try:
        return seconds(text)
    except ValueError as error:
        raise StackError(f"{option}: {error}", remedy=f"write {option} 30m, for example") from error


def _interval(text: str) -> int:
    step = _span(text, "--interval")
    if not step or DAY % step:
        raise StackError(
            f"--interval {text} does not divide a day", remedy="give the span that one reading covers: 10s, 5m, 30m, 1h"
        )
    return step


def _load(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)/(day|week)", text)
    if not found:
        raise StackError(f"--suggest {text} is no load", remedy="write alarms per day or week, for example --suggest 2/week")
    return float(found[1]) * (7 if found[2] == "day" else 1)


def _known_zone(zone: str) -> None:
    if zone not in available_timezones():
        raise StackError(f"--timezone {zone}: no such time zone", remedy="name one of the IANA database: America/Chicago, UTC")


def _known_country(country: str | None) -> None:
    if country is None:
        return
    name, _, part = country.partition("-")
    try:
        Holidays(country=name, subdivision=part or None)
    except ValidationError as error:
        what = "; ".join(str(each["msg"]).removeprefix("Value error, ") for each in error.errors())
        raise StackError(f"--holidays {country}: {what}", remedy="name a country and perhaps a part: US or US-MN") from error


def _writable(path: Path, write_it) -> None:
    try:
        write_it()
    except OSError as error:
        raise StackError(f"{path} can't be written: {error.strerror}", remedy="name a file in a folder that exists") from error
