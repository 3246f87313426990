"""`sundial replay`: a capture into its feed's topic."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from contracts.feeds import load_feed
from sources.capture import Capture
from sources.console import bar, errors_reported, finish, print_bad_rows, print_report, stopped_by_signal
from sources.options import (
    COLUMNS,
    TIMESTAMP,
    ConfirmedBy,
    FeedName,
    Kafka,
    LocalZone,
    OneService,
    Registry,
    Separator,
    ServiceNames,
    Times,
    TimesFormat,
    Values,
    ValueScale,
)
from sources.producer import Acks
from sources.replay import play
from sources.replay_plan import ReplayPlan, Window
from sources.thinning import Thinning
from sources.timestamps import format_timestamp, parse_timestamp

TIME = "Which part, and when"


def replay(
    path: Annotated[Path, typer.Argument(metavar="CAPTURE", help="CSV, CSV.gz or Parquet file, or a folder of Parquet files.")],
    feed: FeedName,
    speed: Annotated[float, typer.Option(min=0, metavar="N", help="N times real time; 0: as fast as Kafka takes it.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after N readings.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="List bad rows, but don't let them make the exit code 1.")] = False,
    service_column: ServiceNames = None,
    service: OneService = None,
    time_column: Times = None,
    value_column: Values = None,
    value_scale: ValueScale = None,
    timezone: LocalZone = None,
    time_format: TimesFormat = None,
    separator: Separator = "comma",
    thin: Annotated[
        int | None, typer.Option(min=1, metavar="N", rich_help_panel=COLUMNS, help="Deal counts per minute out to N services.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=COLUMNS, help="Seed of --thin.")] = 0,
    shift_to_now: Annotated[
        bool, typer.Option("--shift-to-now", rich_help_panel=TIME, help="Move by whole weeks of local time, to reach past now.")
    ] = False,
    shift_weeks: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=TIME, help="Move by N weeks of local time (may be negative).")
    ] = None,
    repeat: Annotated[
        bool, typer.Option("--repeat", rich_help_panel=TIME, help="Play it again when it ends, whole weeks further.")
    ] = False,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", rich_help_panel=TIME, help=f"Begin here, after any shift: {TIMESTAMP}."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", "--to", metavar="TIME", rich_help_panel=TIME, help="End before this time.")
    ] = None,
    acks: ConfirmedBy = Acks.ALL,
    kafka: Kafka = None,
    registry: Registry = None,
):
    """Play a capture into its feed's topic.

    Columns are found by the feed's own names (ServiceName, Timestamp, Value) unless options map them. Rows that can't be read are
    listed with their lines; the others are played.

    With --shift-to-now, --speed 0 loads the history up to now, and any other speed plays on live from now; what --from adds of
    the past goes out at once. Weekday and time of day stay what they were. With --shift-weeks too, N is the number of weeks: the
    same times then have the same readings, whenever the command is typed.

    Exit code: 0 all played · 1 bad rows or failed deliveries · 2 nothing could be played · 130 stopped by Ctrl-C.

    [bold]Examples[/bold]

    A capture that bears the feed's names:
    [cyan]sundial replay readings.parquet --feed service-use[/cyan]

    The World Cup as history up to now, and (with --speed 1) on from now:
    [cyan]sundial replay samples/worldcup98_requests_per_minute.csv.gz --feed world-cup --service www --time-column period
    --value-column count --timezone UTC --shift-to-now[/cyan]

    The same requests as ten services that report every ten seconds: … [cyan]--feed service-use --thin 10[/cyan]
    """
    with errors_reported(), stopped_by_signal() as stop:
        declared = load_feed(feed)
        columns = service_column, service, time_column, value_column
        capture = Capture(path, declared, *columns, timezone, separator, time_format, value_scale)
        thinning = Thinning(declared, thin, seed) if thin else None
        now = round(time.time() * 1000)
        window = Window(*(parse_timestamp(text, declared, now) if text else None for text in (start, until)))
        plan = _plan(capture, now, speed > 0, window, shift_to_now, shift_weeks, thinning, limit)
        plan = replace(plan, repeat=repeat)
        _check_end(plan, speed)
        with bar(f"{path.name} → {declared.topic}", plan.total()) as progress:
            report = play(
                plan.readings(),
                declared,
                speed=speed,
                kafka=kafka,
                registry=registry,
                origin_ms=now if shift_to_now else None,
                progress=progress,
                stop=stop,
                acks=acks,
            )
    _print_plan(plan, report)
    finish(report, failed=bool(plan.survey.bad.count) and not skip_bad)


def _plan(capture, now, live, window, shift_to_now, shift_weeks, thinning, limit) -> ReplayPlan:
    if not shift_to_now:
        return ReplayPlan(capture, capture.survey(), shift_weeks or 0, window, thinning, limit)
    plan = ReplayPlan.to_now(capture, now, live, thinning, shift_weeks)
    start = plan.window.start if window.start is None else window.start
    end = plan.window.end if window.end is None else window.end
    return replace(plan, window=Window(start, end), limit=limit)


def _check_end(plan: ReplayPlan, speed: float) -> None:
    if plan.repeat and not speed and plan.window.end is None and plan.limit is None:
        raise typer.BadParameter("--repeat has no end at full speed: add --speed N, --until TIME or --limit N")


def _print_plan(plan: ReplayPlan, report) -> None:
    feed, survey = plan.capture.feed, plan.survey
    if plan.weeks:
        captured = f"{format_timestamp(survey.first, feed)} to {format_timestamp(survey.last, feed)}"
        typer.echo(f"moved by {plan.weeks:+} weeks; the capture itself is of {captured}")
    if plan.left_out:
        no_place = "an hour that the clock skips, or the second pass of an hour that occurs only once"
        typer.echo(f"{plan.left_out:,} readings have no local time on their new date ({no_place}), and were not played", err=True)
    if survey.bad.gaps:
        typer.echo(f"{survey.bad.gaps:,} rows have no value")
    if survey.bad.count:
        print_bad_rows(survey.bad)
    print_report(report, feed)
