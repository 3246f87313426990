"""`sundial feeds`, which is also `sundial streams`: the declared feeds, each with the stream that scores it."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from stack.commands.console import console, failures_reported, progress
from stack.commands.status import AsJson
from stack.parts import streams
from stack.parts.streams import Stream

app = typer.Typer(help="The declared feeds and the streams that score them; alone, the list of them.")
Feed = Annotated[str, typer.Argument(metavar="FEED", help="As `sundial feeds` shows it.")]


@app.callback(invoke_without_command=True)
def feeds(context: typer.Context) -> None:
    """The declared feeds and the streams that score them; alone, the list of them."""
    if context.invoked_subcommand is None:
        list_(context)


@app.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """Every declared feed: its stream, its declaration, the dates in its history, the baseline in force, and what to do next.
    Needs no broker."""
    from stack.commands.feed_rows import feed_rows  # deltalake takes a while to load
    from stack.sample.pace import span

    with failures_reported():
        found = feed_rows(context.obj)
    if as_json:
        console.print_json(json.dumps([asdict(each) for each in found]))
        return
    table = Table("feed", "state", "every", "time zone", "contract", "history", "baseline", "next", box=None)
    for each in found:
        first = (each.feed, each.stream, span(each.interval_seconds), each.timezone, each.contract)
        tables = (_shown(each.history, "{dates:,} dates to {last}"), _shown(each.baseline, "{version} as of {as_of}"))
        table.add_row(*first, *tables, each.next_step)
    console.print(table, soft_wrap=True)
    for problem in (problem for each in found for problem in each.problems):
        console.print(problem, soft_wrap=True, markup=False)


def _shown(found: dict[str, Any] | None, text: str) -> str:
    if not found:
        return "none"
    return "can't be read" if "problem" in found else text.format(**found)


@app.command()
def start(context: typer.Context, feed: Feed) -> None:
    """Have Airflow score a feed, and wait until its stream runs. Other streams do not notice."""
    with failures_reported():
        streams.start(context.obj, Stream(feed, "score"), progress())
        console.print(f"{feed} is scored. See: sundial status, sundial logs {feed}.score", soft_wrap=True)


@app.command()
def skip_lost(context: typer.Context, feed: Feed) -> None:
    """Go on with what the topic holds, after records that neither the stopped stream nor the archive had read were deleted; says
    what is lost."""
    with failures_reported():
        typer.echo(streams.skip_lost(context.obj, Stream(feed, "score")), nl=False)
        console.print(f"start it with: sundial streams start {feed}; clear what failed of nightly_baseline.{feed} in Airflow")


@app.command()
def stop(context: typer.Context, feed: Feed) -> None:
    """Stop the scoring of a feed between two batches; once started again, it goes on where it was."""
    with failures_reported():
        streams.stop(context.obj, Stream(feed, "score"), progress())
        console.print(f"{feed} is not scored.")
