"""The command `sundial`: everything that a person does with the platform on one machine."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contracts.kafka_access import VARIABLES
from sources.replay_command import replay
from sources.send_command import send
from sources.simulate_command import simulate
from stack.command import console, failures_said, progress
from stack.connect_command import connect
from stack.dead_letters_command import app as dead_letters_app
from stack.errors import StackError, first_line
from stack.home import MOST_BROKERS, Home, default_path
from stack.kafka_command import PASSED_ON, kafka
from stack.new_command import app as new_app
from stack.queries_command import app as queries_app
from stack.read_command import read
from stack.schemas_command import app as schemas_app
from stack.topics_command import access, topics

STALLED = 10.0  # seconds in which nothing was done of what waits; a restart is not one
PROMOTION = {"as of": "as_of", "since": "at", "by": "by", "because": "reason"}  # what `status` says of a baseline
app = typer.Typer(no_args_is_help=True, pretty_exceptions_show_locals=False, help=__doc__)
app.command("replay")(replay)
app.command("simulate")(simulate)
app.command("send")(send)
app.command("read")(read)
app.command("connect")(connect)
app.command("kafka", context_settings=PASSED_ON)(kafka)
app.command("topics")(topics)
app.command("access")(access)
app.add_typer(schemas_app, name="schemas")
app.add_typer(new_app, name="new")
app.add_typer(queries_app, name="queries")
app.add_typer(dead_letters_app, name="dead-letters")

PortBase = Annotated[int | None, typer.Option("--port-base", help="First of the stack's ports; 0 takes any free ones.")]
Brokers = Annotated[
    int | None, typer.Option(min=1, max=MOST_BROKERS, help="Kafka brokers of a new stack; with 3 each record is kept by all 3.")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]


@app.callback()
def options(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option(envvar="SUNDIAL_HOME", help="The stack's folder; .stack beside the code unless given.")
    ] = None,
) -> None:
    context.obj = Home((home or default_path()).resolve())
    if context.get_parameter_source("home").name == "COMMANDLINE":  # then addresses of another stack do not count
        for variable in ("SUNDIAL_KAFKA", "SUNDIAL_REGISTRY", *VARIABLES):
            os.environ.pop(variable, None)
    if context.obj.exists():  # what sends plays into this stack, unless told otherwise
        addresses = {"kafka": context.obj.kafka, "registry": context.obj.registry}
        context.default_map = dict.fromkeys(("replay", "simulate", "send"), addresses)


@app.command()
def up(
    context: typer.Context,
    port_base: PortBase = None,
    brokers: Brokers = None,
    only_kafka: Annotated[bool, typer.Option("--only-kafka", help="Nothing but Kafka, without a declared topic.")] = False,
) -> None:
    """Start Kafka, the schema registry, Airflow and serving; what runs already is left alone, what died is restarted."""
    from stack import lifecycle

    with failures_said():
        home = context.obj.make(port_base, brokers)
        if only_kafka:
            lifecycle.up_kafka(home, progress())
            return
        lifecycle.up(home, progress())
        console.print(f"The stack is up: dashboard {home.api}, Airflow {home.airflow}. See: sundial status", soft_wrap=True)


@app.command()
def run(context: typer.Context, port_base: PortBase = None, brokers: Brokers = None) -> None:
    """The whole main job: stack, history, nightly baseline through Airflow, scoring stream, live readings, first anomalies."""
    from stack import main_job

    with failures_said():
        home = context.obj.make(port_base, brokers)
        try:
            main_job.run(home, progress())
        except StackError:
            console.print("What has started is left running, to be looked at: make status. Stop it: make stop.")
            raise
        console.print(main_job.farewell(home), soft_wrap=True)


@app.command()
def down(context: typer.Context) -> None:
    """Stop everything that this stack started, streams included. Its data stays."""
    from stack import lifecycle

    with failures_said():
        if not context.obj.exists():
            console.print(f"No stack in {context.obj.path}.")
            return
        lifecycle.down(context.obj, progress())
        console.print("Nothing of the stack runs any more.")


@app.command()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Every process and stream with its health and log, and the baseline in force. Exits 1 if something is not healthy."""
    from stack import status as status_

    with failures_said():
        report = status_.report(context.obj)
    if as_json:
        console.print_json(json.dumps(report))
    else:
        print_status(report)
    ill = [row for row in report["processes"] if row["state"] != "healthy"]
    ill += [row for row in report["streams"] if row["state"] in ("dead", "stale") or row["stalled_seconds"] > STALLED]
    raise typer.Exit(1 if ill else 0)


def short(path: str, report: dict) -> str:
    """A path as seen from the stack's folder."""
    return str(Path(path).relative_to(report["home"]))


def print_status(report: dict) -> None:
    console.print(f"{report['home']}: dashboard {report['dashboard']}, Airflow {report['airflow']}", soft_wrap=True)
    colours = {"healthy": "green", "running": "green", "stopped": "dim"}
    table = Table("process", "state", "pid", "port", "uptime", "log", box=None)
    for row in report["processes"]:
        uptime = "" if row["uptime_seconds"] is None else f"{row['uptime_seconds']} s"
        state = f"[{colours.get(row['state'], 'red')}]{row['state']}[/]"
        table.add_row(row["name"], state, str(row["pid"] or ""), str(row["port"] or ""), uptime, short(row["log"], report))
    console.print(table, soft_wrap=True)
    if report["streams"]:
        table = Table("stream", "state", "pid", "baseline", "heartbeat", "lag", "last error", "log", box=None)
        for row in report["streams"]:
            colour = colours.get(row["state"], "red")
            age = "" if row["heartbeat_age_seconds"] is None else f"{row['heartbeat_age_seconds']} s ago"
            lag = None if row["lag_records"] is None else f"{row['lag_records']:,}"
            if row["stalled_seconds"] > STALLED:
                lag = f"{lag}, none done for {row['stalled_seconds']:.0f} s"
            version = "none" if row["baseline_version"] == -1 else row["baseline_version"]
            error = escape(first_line(row["last_error"] or ""))
            values = [row["pid"] or "", version, age, lag, error, short(row["log"], report)]
            table.add_row(row["name"], f"[{colour}]{row['state']}[/]", *("" if value is None else str(value) for value in values))
        console.print(table, soft_wrap=True)
    for name, baseline in report["baselines"].items():
        words = " ".join(f"{word} {baseline['promotion'].get(key)}" for word, key in PROMOTION.items())
        console.print(f"baseline {name}: version {baseline['version']} {words}", soft_wrap=True)


@app.command()
def logs(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A process or stream of `sundial status`.")],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing what is added.")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", help="Start this many lines before the end.")] = 50,
) -> None:
    """The log of a process or a stream."""
    home = context.obj
    known = {file.stem: file for file in sorted(home.logs.glob("*.log"))}
    known |= {folder.name: folder / "driver.log" for folder in sorted(home.streams.glob("*.*"))}
    with failures_said():
        if name not in known:
            raise StackError(f"no log of {name!r} in {home.logs}", remedy=f"one of: {', '.join(known) or 'none yet'}")
    with contextlib.suppress(KeyboardInterrupt):
        subprocess.run(["tail", "-n", str(lines), *(["-F"] if follow else []), str(known[name])])


@app.command()
def pid(context: typer.Context, name: Annotated[str, typer.Argument(help="A process of `sundial status`.")]) -> None:
    """The pid of a process, for scripts."""
    from stack import process

    with failures_said():
        if not (found := process.find(context.obj, name)):
            raise StackError(f"no process {name!r} runs in {context.obj.path}", remedy="sundial status shows those that do")
        print(found.pid)


@app.command()
def clean(context: typer.Context) -> None:
    """Stop the stack and delete its data: topics, tables, Airflow's database, logs."""
    from stack import lifecycle

    home = context.obj
    with failures_said():
        if not home.exists():
            console.print(f"No stack in {home.path}.")
            return
        lifecycle.down(home, progress())
        shutil.rmtree(home.path)
    console.print(f"Deleted {home.path}.")


@app.command()
def env(
    context: typer.Context, with_airflow: Annotated[bool, typer.Option("--airflow", help="Airflow's settings too.")] = False
) -> None:
    """Export lines that point a shell to this stack: eval "$(sundial env)"."""
    from stack import airflow

    with failures_said():
        home = context.obj
        variables = {**home.environment(), **(airflow.environment(home) if with_airflow else {})}
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
