"""`sundial status`: what runs, how it is, and where its log is."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from stack.commands.console import console, failures_reported
from stack.errors import first_line

PROMOTION = {"as of": "as_of", "since": "at", "by": "by", "because": "reason"}  # what `status` says of a baseline
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Every process and stream with its health and log, and the baseline in force. Exits 1 if something is not healthy."""
    from stack.parts import status as parts

    with failures_reported():
        report = parts.report(context.obj)
    if as_json:
        console.print_json(json.dumps(report))
    else:
        print_status(report, parts.STALLED)
    ill = parts.ill(report)
    if ill and not as_json:
        console.print(f"[red]not healthy: {escape('; '.join(ill))}[/]; the log may say why", soft_wrap=True)
    raise typer.Exit(1 if ill else 0)


def short(path: str, report: dict) -> str:
    """A path as seen from the stack's folder."""
    return str(Path(path).relative_to(report["home"]))


def coming(row: dict) -> str:
    """When the watcher starts a dead process again, if it does."""
    if row["restart_in_seconds"] is None:
        return ""
    return (
        f", waits for {', '.join(row['waits_for'])}" if row["waits_for"] else f", restarting in {row['restart_in_seconds']:.0f} s"
    )


def restarts(row: dict) -> str:
    """How often the watcher has started a process again."""
    return f"{row['restarts']}, last at {row['last_restart'][11:19]} UTC" if row["restarts"] else ""


def print_status(report: dict, stalled: float) -> None:
    """stalled: seconds without progress, from which on they are shown."""
    console.print(f"{report['home']}: dashboard {report['dashboard']}, Airflow {report['airflow']}", soft_wrap=True)
    colours = {"healthy": "green", "running": "green", "stopped": "dim"}
    table = Table("process", "state", "pid", "port", "uptime", "restarts", "log", box=None)
    for row in report["processes"]:
        uptime = "" if row["uptime_seconds"] is None else f"{row['uptime_seconds']} s"
        state = f"[{colours.get(row['state'], 'red')}]{row['state']}[/]{coming(row)}"
        values = [str(row["pid"] or ""), str(row["port"] or ""), uptime, restarts(row), short(row["log"], report)]
        table.add_row(row["name"], state, *values)
    console.print(table, soft_wrap=True)
    if report["streams"]:
        table = Table("stream", "state", "pid", "baseline", "heartbeat", "lag", "last error", "log", box=None)
        for row in report["streams"]:
            colour = colours.get(row["state"], "red")
            age = "" if row["heartbeat_age_seconds"] is None else f"{row['heartbeat_age_seconds']} s ago"
            lag = None if row["lag_records"] is None else f"{row['lag_records']:,}"
            if row["stalled_seconds"] > stalled:
                lag = f"{lag}, none done for {row['stalled_seconds']:.0f} s"
            version = "none" if row["baseline_version"] == -1 else row["baseline_version"]
            error = escape(first_line(row["last_error"] or ""))
            values = [row["pid"] or "", version, age, lag, error, short(row["log"], report)]
            table.add_row(row["name"], f"[{colour}]{row['state']}[/]", *("" if value is None else str(value) for value in values))
        console.print(table, soft_wrap=True)
    for name, baseline in report["baselines"].items():
        words = " ".join(f"{word} {baseline['promotion'].get(key)}" for word, key in PROMOTION.items())
        console.print(f"baseline {name}: version {baseline['version']} {words}", soft_wrap=True)
    if messages := report["messages"]:
        waiting = f"{messages['waiting']:.0f} messages wait, the oldest for {messages['oldest_seconds']:.0f} s"
        given_up = f"{messages['given_up']:.0f} were given up since the process was started"
        remedy = ": sundial alerts list" if messages["waiting"] or messages["given_up"] else ""
        colour = "red" if messages["given_up"] else "default"
        console.print(f"[{colour}]alerts: {waiting}; {given_up}{remedy}[/]", soft_wrap=True)
        for what in messages["held"]:
            console.print(f"[red]alerts: {escape(what)}[/]", soft_wrap=True)
