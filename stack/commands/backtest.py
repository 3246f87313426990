"""`sundial backtest`: what the detector would have reported of a capture, or of a feed's own history."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from contracts.feeds import load_feed
from contracts.incident_queries import of_incidents, settings_of
from contracts.incidents import Incidents
from jobs.transforms.incident_walk import Settings
from sources.options import TimesFormat
from stack.backtest.labels import Judgement, Label, judged, read_labels
from stack.backtest.report import write_report
from stack.backtest.result import Backtest, backtest, of_capture, write
from stack.backtest.rows import read_rows
from stack.backtest.suggestion import suggestion
from stack.commands import backtest_options as options
from stack.commands.console import failures_reported
from stack.errors import StackError
from stack.instance import Instance

CSV, FEED, RESULTS, RULE = "A CSV file", "A feed's history", "What is written", "The rule"
WARMUP = "28d"


def backtest_command(
    context: typer.Context,
    output: Annotated[
        Path, typer.Option(metavar="OUT.csv", rich_help_panel=RESULTS, help="One row per reading; of a file, in its order.")
    ],
    file: Annotated[
        Path | None, typer.Argument(metavar="INPUT.csv", help="Readings: a CSV file with a header, plain or .gz.")
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", rich_help_panel=CSV, help="Times: epoch seconds, ISO 8601 with an offset, or local time."),
    ] = None,
    time_format: TimesFormat = None,
    value: Annotated[
        str | None, typer.Option(metavar="COLUMN", rich_help_panel=CSV, help="Values; empty or NaN: no reading.")
    ] = None,
    service: Annotated[
        str | None, typer.Option(metavar="COLUMN", rich_help_panel=CSV, help="Services. Without: all rows are of one.")
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(metavar="SPAN", rich_help_panel=CSV, help="What one reading covers: 10s, 5m, 1h. It must divide a day."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", rich_help_panel=CSV, help="Of local days, and of times without an offset.")
    ] = None,
    holidays: Annotated[
        str | None, typer.Option(metavar="COUNTRY", rich_help_panel=CSV, help="Public holidays: US, DE, or US-MN for a part.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=CSV, help="Known incidents: a CSV file with service, start and end."),
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", rich_help_panel=CSV, help="A page with charts.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", rich_help_panel=CSV, help="Add the columns service and reason to the output.")
    ] = False,
    feed: Annotated[
        str | None, typer.Option(metavar="FEED", rich_help_panel=FEED, help="Reads history/FEED in the lake, instead of a file.")
    ] = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="DATE", rich_help_panel=FEED, help="First local date. Without: the oldest.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="DATE", rich_help_panel=FEED, help="Last local date. Without: the newest.")
    ] = None,
    rule: Annotated[
        Path | None,
        typer.Option(
            metavar="RULE.yaml", rich_help_panel=RULE, help="The part `incidents` of a feed. Without: the feed's, or the default."
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, rich_help_panel=RULE, help="The score of the rule, instead of its own.")
    ] = None,
    warmup: Annotated[
        str,
        typer.Option(metavar="SPAN", rich_help_panel=RULE, help="What the detector learns from first, without counting."),
    ] = WARMUP,
    suggest: Annotated[
        str | None,
        typer.Option(metavar="N/week", rich_help_panel=RULE, help="Print the rule for so many incidents, e.g. 2/week."),
    ] = None,
) -> None:
    """What the detector would have reported, each reading judged by those before it only.

    OUT.csv has timestamp, value, expected, predicted_pct, anomaly_score, is_anomaly and incident_id; of a history also service.
    The score stands high at an onset and falls back within the incident.

    Of a CSV file, gaps, repeated times and uneven steps are normal. Of a feed, the interval, time zone, holidays and rule are
    those that it declares; the lake is that of SUNDIAL_LAKE, or else of the stack.

    [bold]Examples[/bold]

    [cyan]sundial backtest samples/metro_interstate_traffic_volume.csv.gz --timestamp date_time --value traffic_volume
    --interval 1h --timezone America/Chicago --holidays US-MN --output scores.csv --report report.html[/cyan]

    [cyan]sundial backtest --feed service-use --from 2026-10-01 --to 2026-10-31 --output scores.csv --suggest 2/week[/cyan]
    """
    with failures_reported():
        warm, wanted = options.span(warmup, "--warmup"), options.per_week(suggest) if suggest else None
        must = {"--timestamp": timestamp, "--value": value, "--interval": interval, "--timezone": timezone}
        may: dict[str, Any] = {"--time-format": time_format, "--service": service, "--holidays": holidays}
        may |= {"--labels": labels, "--report": report, "--explain": explain}
        if feed:
            options.refused({"INPUT.csv": file, **must, **may}, "goes with a CSV file, not with --feed", "leave it out")
            of_feed(context.obj, feed, (first, last), rule, threshold, warm, wanted, output)
            return
        if not file:
            raise StackError("nothing to read", remedy="name a CSV file, or a feed with --feed")
        options.refused({"--from": first, "--to": last}, "goes with --feed, not with a CSV file", "leave it out")
        options.required(must)
        step = options.interval(str(interval))
        options.known_zone(str(timezone))
        options.known_country(holidays)
        incidents = options.rule(Incidents(), rule, threshold)
        rows = read_rows(file, str(timestamp), str(value), service, str(timezone), time_format, step)
        known = read_labels(labels, str(timezone), rows.names) if labels else []
        result = backtest(rows, of_capture(step, holidays, incidents), warm)
        options.written(output, lambda: write(result, output, explain))
        verdicts = {"detector": _judged(result, result.opened, known), "plain rule": _judged(result, result.plain, known)}
        if report:
            shown = verdicts if labels else {}
            options.written(report, lambda: write_report(result, known, shown, file.name, str(timezone), report))
        typer.echo(_summary(result, output))
        if labels:
            typer.echo("\n".join(_line(name, verdict) for name, verdict in verdicts.items()))
        if wanted is not None:
            suggested, lines = suggestion(result.load(incidents, wanted), incidents, rows.names, result.reported)
            typer.echo("\n".join([suggested.declared(), *lines]))
            if labels:
                typer.echo(f"# {_line('labels', _judged(result, result.opened_by(suggested), known))}")


def of_feed(
    instance: Instance,
    name: str,
    dates: tuple[str | None, str | None],
    rule: Path | None,
    threshold: float | None,
    warmup: int,
    wanted: float | None,
    output: Path,
) -> None:
    """A backtest of a feed's own history. warmup: seconds. wanted: incidents a week, if a rule is to be suggested."""
    from stack.backtest.feed import FeedWalk, span_of  # deltalake takes a while to load
    from stack.backtest.history import History

    first, last = options.date(dates[0], "--from"), options.date(dates[1], "--to")
    feed = load_feed(name)
    incidents = options.rule(feed.incidents, rule, threshold)
    history = History(os.environ.get("SUNDIAL_LAKE") or str(instance.lake), feed)
    span = span_of(history, first, last, -(-warmup // options.DAY))
    walk = FeedWalk(history, span, incidents, Settings.of(settings_of(feed) | of_incidents(incidents)), wanted)
    options.written(output, lambda: walk.write(output, options.progress()))
    many = len(walk.reported)
    typer.echo(
        f"{walk.rows:,} rows of {len(walk.names):,} services to {output}; from {span.counted} to {span.last}, after a warm-up of "
        f"{span.warmup:,} dates, {many:,} incidents, {many / span.weeks:.1f} a week"
    )
    if walk.load:
        suggested, lines = suggestion(walk.load, incidents, walk.names, walk.reported)
        typer.echo("\n".join([suggested.declared(), *lines]))


def _judged(result: Backtest, alarm, labels: list[Label]) -> Judgement:
    return judged(result.rows, alarm, labels, result.counted_from)


def _summary(result: Backtest, output: Path) -> str:
    return (
        f"{len(result.rows.values):,} rows of {len(result.rows.names):,} services to {output}; after the warm-up "
        f"{len(result.reported):,} incidents, {result.per_week(result.opened):.1f} a week; the plain rule flags "
        f"{result.per_week(result.plain):,.1f} readings a week"
    )


def _line(name: str, verdict: Judgement) -> str:
    delay = f"{verdict.delay_seconds / 60:.0f} min" if verdict.found else "none"
    return (
        f"{name}: precision {verdict.precision:.2f}, recall {verdict.recall:.2f} ({verdict.found} of {verdict.labels} labels), "
        f"median delay {delay}, {verdict.false_per_week:.1f} false alarms a week"
    )
