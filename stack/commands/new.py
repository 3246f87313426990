"""`sundial new`: skeletons of what can be declared."""

import datetime as dt
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contracts import incident_queries
from contracts.declared_topics import declared_topics
from contracts.feeds import load_feed
from sources.capture import Capture
from sources.options import TimesFormat, ValueScale
from stack.commands import backtest_options as options
from stack.commands import bootstrap, new_feed, new_feed_questions
from stack.commands import new_query as new_query_
from stack.commands.console import console, failures_reported, progress
from stack.errors import StackError
from stack.instance import DEFAULT_BASE, HOST, ROOT, Instance
from stack.sample.files import read_sample
from stack.sample.inference import Found, Given, found_in, shown

app = typer.Typer(no_args_is_help=True, help="Skeletons of what can be declared.")


@app.callback()
def new() -> None:
    """Skeletons of what can be declared."""


@app.command("query")
def new_query(
    name: Annotated[str, typer.Argument(help="Of the query, its file and the topic it writes.")],
    reads: Annotated[str, typer.Option(metavar="TOPIC", help="A declared topic with a contract: see `sundial topics`.")],
    sql: Annotated[bool, typer.Option("--sql", help="SQL text instead of a Python function.")] = False,
) -> None:
    """A stream query that works, and its test, to be changed into what is wanted. Overwrites nothing."""
    with failures_reported():
        files = new_query_.skeleton(name, reads, declared_topics(), sql)
        new_query_.write(ROOT, files)
        for path in files:
            console.print(path)
        test = next(path for path in files if path.startswith("tests/"))
        console.print("Next: change them, see docs/queries.md. Then")
        console.print(f"  python -m pytest {test}   # what it makes of rows")
        console.print("  sundial up                # its topics, its contracts")
        console.print("  sundial queries list      # its application, for: sundial queries start APPLICATION")


@app.command("feed")
def feed_(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Of the feed, its file and its topic.")],
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Past readings: CSV (.csv, .csv.gz), .jsonl or .parquet.")
    ] = None,
    time_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="The times.")] = None,
    time_format: TimesFormat = None,
    value_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="The readings, numbers of 0 or more.")] = None,
    value_scale: ValueScale = None,
    service_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="The services' names.")] = None,
    interval: Annotated[str | None, typer.Option(metavar="SPAN", help="That one reading covers: 10s, 5m, 1h.")] = None,
    timezone: Annotated[str | None, typer.Option(metavar="ZONE", help="Of local times, and of the feed's days.")] = None,
    holidays: Annotated[str | None, typer.Option(metavar="COUNTRY", help="Public holidays: US or US-MN.")] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="Without a file: what the readings are.")] = None,
    minimum: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Without a file: smaller readings are no anomaly. Default: 1.")
    ] = None,
    start: Annotated[
        bool, typer.Option("--start", help="Load the file, score the feed and find incidents at once, on the running stack.")
    ] = False,
) -> None:
    """A feed's declaration, from a file of past readings or from what you say.

    What no option says is found out from the first million rows of the file. On a terminal the command asks for columns and a
    time zone that neither says; without a file, it asks for the interval, the time zone and the rest. It overwrites nothing. If
    it fails, it leaves nothing behind. If a step of --start fails, the declaration stays, and the same command goes on from it.

    [bold]Example[/bold]

    [cyan]sundial new feed cars --from samples/metro_interstate_traffic_volume.csv.gz --value-column traffic_volume
    --timezone America/Chicago --holidays US-MN[/cyan]

    [cyan]sundial new feed logins --interval 1m --timezone Europe/Berlin --holidays DE[/cyan]
    """
    instance: Instance = context.obj
    with failures_reported():
        new_feed.refuse_name(ROOT, name, declared_topics())
        if timezone:
            options.known_zone(timezone)
        options.known_country(holidays)
        if start and not instance.exists():
            raise StackError(f"no stack in {instance.path}", remedy="start one: sundial up; or leave out --start")
        seconds = options.interval(interval) if interval else None
        of_file: dict[str, object] = {"--time-column": time_column, "--time-format": time_format}
        of_file |= {"--value-column": value_column, "--value-scale": value_scale, "--service-column": service_column}
        of_person = {"--description": description, "--minimum": minimum}
        _refuse_without(file is not None, of_file, of_person)
        found = None
        if file:
            given = Given(time_column, value_column, service_column, seconds, timezone, time_format, value_scale)
            found = found_in(read_sample(file), given, _asked_of(file))
            _print_found(found)
            files = new_feed.declaration(name, found, holidays, dt.datetime.now(dt.UTC))
        else:
            files = new_feed.declaration_of(new_feed_questions.said(name, seconds, timezone, holidays, minimum, description))
        there = new_feed.declared_so(ROOT, name, files)
        if not there:
            new_feed.write_checked(ROOT, files)
        for path in files:
            console.print(f"{'there already, the same' if there else 'written'}: {path}", soft_wrap=True)
        if start:
            _start(instance, name, found, _sundial(context))
        else:
            _print_next(context, name, found)


def _refuse_without(has_file: bool, of_file: Mapping[str, object], of_person: Mapping[str, object]) -> None:
    """Raises StackError for an option that says something of a file that is not there, or that the file itself says."""
    if not has_file and (given := [option for option, value in of_file.items() if value is not None]):
        raise StackError(f"{', '.join(given)}: there is no file", remedy="name one with --from, or leave this out")
    if has_file and (given := [option for option, value in of_person.items() if value is not None]):
        raise StackError(f"{', '.join(given)}: only without --from", remedy="leave this out, and change it in the declaration")


def _asked_of(file: Path):
    """Asks on a terminal; elsewhere raises StackError naming the option."""

    def ask(option: str, what: str, choices: list[str]) -> str:
        listed = f": {', '.join(choices)}" if choices else ""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            example = shlex.quote(choices[0] if choices else "America/Chicago")
            raise StackError(f"{file} does not tell {what}{listed}", remedy=f"name it, for example {option} {example}")
        answer = typer.prompt(f"{option}: {what}{listed}")
        if choices and answer not in choices:
            raise StackError(f"{option} {answer} is not among{listed}", remedy="name one of them")
        if option == "--timezone":
            options.known_zone(answer)
        return answer

    return ask


def _print_found(found: Found) -> None:
    table = Table("part", "found", "from", box=None)
    for row in shown(found):
        table.add_row(*map(escape, row))
    console.print(table, soft_wrap=True)


def _sundial(context: typer.Context) -> str:
    """How the command is called, for the commands that are printed."""
    by_option = context.find_root().get_parameter_source("home").name == "COMMANDLINE"
    return f"sundial --home {shlex.quote(str(context.obj.path))}" if by_option else "sundial"


def _print_next(context: typer.Context, name: str, found: Found | None) -> None:
    sundial = _sundial(context)
    console.print("Next:")
    for command, what in new_feed.next_commands(name, found, sundial):
        console.print(f"  # {what}", soft_wrap=True, markup=False)
        console.print(f"  {command}", soft_wrap=True, markup=False)
    _print_page(context.obj, name, found, sundial)


def _print_page(instance: Instance, name: str, found: Found | None, sundial: str) -> None:
    api = instance.api if instance.exists() else f"http://{HOST}:{DEFAULT_BASE}"
    console.print(f"Chart: {new_feed.page(api, name, found)}", soft_wrap=True, markup=False)
    if found is None:
        console.print("Send readings to its topic: docs/new-feed.md says how. A first baseline needs two dates of each day type.")
    elif found.last - found.first < new_feed.FIRST_BASELINE.total_seconds() * 1000:
        console.print("A first baseline needs two dates of each day type; these readings are of less than two weeks.")
    if found and (said := new_feed.before_readings_of_now(name, found, sundial, dt.datetime.now(dt.UTC))):
        what, command = said
        console.print(what, soft_wrap=True, markup=False)
        console.print(f"  {command}", soft_wrap=True, markup=False)
    console.print(f"When readings come each day, unpause nightly_baseline.{name} in Airflow: it keeps the baseline new.")


def _score_last_day(instance: Instance, name: str, found: Found, say: Callable[[str], None]) -> None:
    """A new stream begins at the end of its topic, so it must run before. The file has made the first baseline."""
    from stack import main_job
    from stack.parts import last_day

    feed = load_feed(name)
    main_job.await_stream(instance, feed)
    capture = Capture(
        found.sample.path,
        feed,
        service_column=found.service,
        service=None if found.service else name,
        time_column=found.times.column,
        value_column=found.value,
        separator=found.sample.separator,
        time_format=found.times.form,
        value_scale=found.scale,
    )
    sent = last_day.send(instance, capture, new_feed.last_day_of(found))
    main_job.await_scored(instance, feed)
    say(f"{sent:,} readings of the file's last day were sent, and are scored")


def _start(instance: Instance, name: str, found: Found | None, sundial: str) -> None:
    """The commands of `new_feed.next_commands`; but the stream's driver starts while the file is loaded."""
    from stack.parts import lifecycle, streams
    from stack.parts.streams import Stream

    say, score = progress(), Stream(name, "score")
    lifecycle.up(instance, say)
    streams.switch_on(instance, score, say)
    if found:
        bootstrap.load(instance, name, str(found.sample.path), new_feed.mapping(name, found), say)
    streams.await_running(instance, score, say)
    streams.start(instance, Stream(incident_queries.NAME, "queries"), say)
    if found and new_feed.can_be_played(found):
        _score_last_day(instance, name, found, say)
        console.print("Send readings of your own, in a file with the same columns:")
        console.print(f"  {new_feed.further_readings(name, found, sundial)}", soft_wrap=True, markup=False)
    console.print("Notify people of its incidents: docs/alerts.md")
    _print_page(instance, name, found, sundial)
