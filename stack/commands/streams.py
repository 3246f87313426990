"""`sundial streams`: the scoring streams, one for each declared feed."""

from typing import Annotated

import typer
from rich.table import Table

from contracts.feeds import load_feeds
from stack.commands.console import console, failures_reported, progress
from stack.parts import streams
from stack.parts.streams import Stream

app = typer.Typer(no_args_is_help=True, help="The scoring streams, one for each declared feed.")
Feed = Annotated[str, typer.Argument(metavar="FEED", help="As `sundial streams list` shows it.")]


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every declared feed, how its stream is, and what it measures."""
    with failures_reported():
        table = Table("feed", "state", "every", "description", box=None)
        for feed in load_feeds().values():
            table.add_row(
                feed.name, Stream(feed.name, "score").state(context.obj), f"{feed.interval_seconds} s", feed.description
            )
        console.print(table, soft_wrap=True)


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
