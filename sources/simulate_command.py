"""`sundial simulate`: a fleet of services, into Parquet or live into its feed's topic."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from contracts.feeds import Feed, load_feed
from sources.console import bar, errors_reported, finish, print_report, stopped_by_signal
from sources.options import TIMESTAMP, ConfirmedBy, FeedName, Kafka, Registry
from sources.producer import Acks
from sources.replay import Report, play
from sources.services import service_names
from sources.simulated_incidents import Incident, draw_incidents, parse_incident
from sources.simulator import Simulation, write
from sources.timestamps import parse_timestamp

LIVE = "Live"
INCIDENTS = "Incidents"


def simulate(
    feed: FeedName,
    services: Annotated[
        str, typer.Option(metavar="N|NAMES", help="Size of the fleet, or its names, separated by commas.")
    ] = "10",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same fleet, history and live.")] = 0,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help=f"First reading: {TIMESTAMP}.")] = None,
    until: Annotated[str | None, typer.Option("--until", "--to", metavar="TIME", help="End. Default: now; live: never.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write Parquet and labels.json to a new folder.")] = None,
    live: Annotated[
        bool, typer.Option("--live", rich_help_panel=LIVE, help="Play into the topic: history since --from, then live.")
    ] = False,
    speed: Annotated[
        float, typer.Option(min=0.001, metavar="N", rich_help_panel=LIVE, help="From now on, N times real time.")
    ] = 1,
    incident: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND@SERVICE+OFFSET..DURATION",
            rich_help_panel=INCIDENTS,
            help="outage, surge, slow-leak or stuck; OFFSET counts from now if live, else from --from. May be repeated.",
        ),
    ] = None,
    incidents_per_week: Annotated[
        float,
        typer.Option(
            min=0, metavar="N", rich_help_panel=INCIDENTS, help="Random incidents per service and week, from --from on."
        ),
    ] = 0,
    acks: ConfirmedBy = Acks.ALL,
    kafka: Kafka = None,
    registry: Registry = None,
):
    """Simulate a fleet of services with daily and weekly shape, growth, holidays, noise and labelled incidents.

    Every reading follows from the seed, the service and the date alone: a history made today and live readings played tomorrow
    with the same seed belong together, and an incident changes nothing outside its span.

    [bold]Examples[/bold]

    Five weeks of ten services as Parquet, with about one incident per service and week:
    [cyan]sundial simulate --feed service-use --services 10 --seed 7 --from -35d --incidents-per-week 1 --out fleet[/cyan]

    The same fleet in the topic: five weeks of history, then live, with an outage in two minutes:
    [cyan]sundial simulate --feed service-use --services 10 --seed 7 --from -35d --live --incident outage@checkout+2m..5m[/cyan]
    """
    with errors_reported(), stopped_by_signal() as stop:
        declared, names = load_feed(feed), _names(services)
        now = round(time.time() * 1000)
        running = now - now % (declared.interval_seconds * 1000)  # start of the interval that is running now
        first, end = (parse_timestamp(text, declared, now) if text else None for text in (start, until))
        if live == (out is not None):
            raise typer.BadParameter("choose one: --out FOLDER writes Parquet, --live plays into the topic")
        if not live and first is None:
            raise typer.BadParameter("--out needs --from: where the history begins, e.g. --from -35d")
        incidents = _incidents(declared, names, seed, incident or [], incidents_per_week, first, end, now, live)
        simulation = Simulation(declared, names, seed, incidents)
        if out:
            _write(simulation, first, running if end is None else end, out)
            return
        typer.echo(json.dumps(simulation.labels(), indent=2))
        how = {"kafka": kafka, "registry": registry, "stop": stop, "acks": acks}
        report = _play(simulation, first, running, now, end, speed, how)
    finish(report)


def _names(services: str) -> list[str]:
    if services.isdigit():
        if int(services) < 1:
            raise typer.BadParameter("--services 0: a fleet has at least one service")
        return service_names(int(services))
    names = [name.strip() for name in services.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise typer.BadParameter(f"--services {services!r}: names must be distinct and not empty")
    return names


def _incidents(
    feed: Feed,
    names: list[str],
    seed: int,
    specs: list[str],
    per_week: float,
    first: int | None,
    end: int | None,
    now: int,
    live: bool,
) -> list[Incident]:
    origin = now if live or first is None else first
    given = [parse_incident(spec, origin, names, feed.interval_seconds) for spec in specs]
    last = end if end is not None else now + 7 * 86_400_000 if live else now
    drawn = draw_incidents(names, now if first is None else first, last, seed, per_week, feed.interval_seconds)
    return sorted(given + drawn, key=lambda incident: (incident.start, incident.service))


def _write(simulation: Simulation, first: int, end: int, out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        raise typer.BadParameter(f"--out {out}: the folder is not empty; name a new one")
    total = (end - first) // (simulation.feed.interval_seconds * 1000) * len(simulation.services)
    began = time.monotonic()
    with bar(f"simulating → {out}", total) as progress:
        written = write(simulation, first, end, out, progress)
    typer.echo(f"{written:,} readings and {len(simulation.incidents)} labels to {out} in {time.monotonic() - began:.1f} s")


def _play(simulation, first, running, now, end, speed, how: dict) -> Report:
    feed = simulation.feed
    if first is not None and first < running:
        total = (running - first) // (feed.interval_seconds * 1000) * len(simulation.services)
        with bar(f"history → {feed.topic}", total) as progress:
            history = simulation.readings(first, running if end is None else min(running, end))
            report = play(history, feed, progress=progress, **how)
        print_report(report, feed)
        if report.stopped or report.failed:
            return report
    with bar(f"live → {feed.topic}", None) as progress:
        readings = simulation.readings(max(running, first or running), end)
        report = play(readings, feed, speed=speed, origin_ms=now, progress=progress, **how)
    print_report(report, feed)
    return report
