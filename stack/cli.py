"""The command `sundial`: everything that a person does with the platform on one machine."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from contracts.declarations import DeclarationError
from contracts.feeds import load_feeds
from contracts.kafka_access import PLAIN, VARIABLES, AccessError, KafkaAccess
from contracts.queries import load_queries
from sources.replay_command import replay
from sources.simulate_command import simulate
from stack import kafka_command
from stack.errors import StackError
from stack.home import MOST_BROKERS, ROOT, Home, default_path

STALLED = 10.0  # seconds in which nothing was done of what waits; a restart is not one
PROMOTION = {"as of": "as_of", "since": "at", "by": "by", "because": "reason"}  # what `status` says of a baseline
app = typer.Typer(no_args_is_help=True, pretty_exceptions_show_locals=False, help=__doc__)
app.command("replay")(replay)
app.command("simulate")(simulate)
schemas_app = typer.Typer(no_args_is_help=True, help="The contracts in the schema registry.")
app.add_typer(schemas_app, name="schemas")
new_app = typer.Typer(no_args_is_help=True, help="Skeletons of what can be declared.")
app.add_typer(new_app, name="new")
console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
errors = Console(stderr=True, highlight=False)

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
    if context.obj.exists():  # replay and simulate play into this stack, unless told otherwise
        addresses = {"kafka": context.obj.kafka, "registry": context.obj.registry}
        context.default_map = {"replay": addresses, "simulate": addresses}


@contextlib.contextmanager
def failures_said() -> Iterator[None]:
    """Report what failed, where its log is and what to do; exit 1."""
    try:
        yield
    except (StackError, DeclarationError, AccessError, KafkaException) as failure:
        errors.print(f"[red]error:[/red] {failure}", soft_wrap=True)
        raise typer.Exit(1) from failure


def progress() -> Callable[[str], None]:
    """Prints each step with the seconds since the command began."""
    started = time.monotonic()
    return lambda text: console.print(f"[dim]{time.monotonic() - started:6.1f} s[/dim]  {text}", soft_wrap=True)


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
            values = [row["pid"] or "", version, age, lag, row["last_error"] or "", short(row["log"], report)]
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


@app.command(context_settings=kafka_command.PASSED_ON)
def kafka(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help=f"One of {', '.join(kafka_command.TOOLS)}.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="As the tool takes them; --help shows them.")] = None,
) -> None:
    """One of Kafka's own tools, on the brokers of this stack: sundial kafka topics --describe --topic service-use"""
    with failures_said():
        command = kafka_command.command(context.obj, tool, arguments or [])
        sys.stdout.flush()
        os.execv(command[0], command)  # noqa: S606 (there is nothing for a shell to do)


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


def kafka_of(home: Home) -> tuple[str, KafkaAccess]:
    """The brokers to work on: those of SUNDIAL_KAFKA, with what they ask of a client, or else the embedded one."""
    if address := os.environ.get("SUNDIAL_KAFKA"):
        return address, KafkaAccess.from_environment()
    return home.kafka, PLAIN


def registry_of(home: Home) -> str:
    return os.environ.get("SUNDIAL_REGISTRY") or home.registry


@app.command()
def topics(
    context: typer.Context,
    deploy: Annotated[bool, typer.Option("--deploy", help="Create and change them.")] = False,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Brokers that keep each record of a new topic; 3 unless there are fewer.")
    ] = None,
    with_registry: Annotated[bool, typer.Option("--with-registry", help="Apicurio Registry's topics too.")] = False,
) -> None:
    """The topics that are declared; with --deploy, make Kafka (SUNDIAL_KAFKA, or else the embedded one) have them."""
    from stack import kafka as kafka_
    from stack import topics as topics_

    with failures_said():
        declared = topics_.declared()
        for name, topic in topics_.wanted(declared, replication).items():
            console.print(f"{name}  {topic.num_partitions} partitions  {topic.config}")
        if deploy:
            address, as_whom = kafka_of(context.obj)
            copies = replication or kafka_.replication(address, as_whom)
            more = kafka_.of_registry(copies) if with_registry else []
            for change in topics_.deploy(address, declared, copies, as_whom, more) or ["nothing to change"]:
                console.print(change)


@app.command()
def access(
    context: typer.Context,
    deploy: Annotated[bool, typer.Option("--deploy", help="Set passwords and rules.")] = False,
) -> None:
    """Who may do what in a Kafka that asks for passwords; with --deploy, make it so.

    The passwords to set are in KAFKA_<USER>_PASSWORD; SUNDIAL_KAFKA_* name the brokers and the superuser who sets them.
    """
    from stack import access as access_

    with failures_said():
        feeds, queries = load_feeds().values(), load_queries().values()
        for rule in access_.wanted(feeds, queries):
            console.print(access_.said(rule))
        if deploy:
            for change in access_.deploy(*kafka_of(context.obj), feeds, queries, os.environ):
                console.print(change)


@schemas_app.command()
def register(context: typer.Context) -> None:
    """Register every contract; refused where it is incompatible with the version in force."""
    from stack import schemas
    from stack import topics as topics_

    with failures_said():
        for subject, number in schemas.register(registry_of(context.obj), topics_.declared()).items():
            console.print(f"{subject}  id {number}")


@schemas_app.command()
def check(context: typer.Context) -> None:
    """Say whether the registry would take every contract; changes nothing."""
    from stack import schemas
    from stack import topics as topics_

    with failures_said():
        refused = schemas.incompatible(registry_of(context.obj), topics_.declared())
        if refused:
            what = "\n".join(f"{subject}: {reason}" for subject, reason in refused.items())
            raise StackError(what, remedy=schemas.REMEDY)
        console.print("The registry takes every contract.")


@new_app.callback()
def new() -> None:
    """Skeletons of what can be declared."""


@new_app.command("query")
def new_query(
    name: Annotated[str, typer.Argument(help="Of the query, its file and the topic it writes.")],
    reads: Annotated[str, typer.Option(metavar="TOPIC", help="A declared topic with a contract: see `sundial topics`.")],
    sql: Annotated[bool, typer.Option("--sql", help="SQL text instead of a Python function.")] = False,
) -> None:
    """A stream query that works, and its test, to be changed into what is wanted. Overwrites nothing."""
    from stack import new_query as new_query_
    from stack import topics as topics_

    with failures_said():
        files = new_query_.skeleton(name, reads, topics_.declared(), sql)
        new_query_.write(ROOT, files)
        for path in files:
            console.print(path)
        console.print("Next: change them, see docs/queries.md; run the test; then `sundial up` makes the topics and registers.")


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
