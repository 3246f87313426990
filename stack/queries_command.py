"""`sundial queries`: the declared stream queries, by the application that runs them."""

from typing import Annotated

import typer
from rich.table import Table

from stack import applications
from stack.command import console, failures_said, progress

app = typer.Typer(no_args_is_help=True, help="The declared stream queries, by the application that runs them.")
Application = Annotated[str, typer.Argument(metavar="APPLICATION", help="As `sundial queries list` shows it.")]


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every declared query, its application and how that is, what it reads, writes and promises."""
    with failures_said():
        table = Table("query", "application", "state", "reads", "writes", "delivery", box=None)
        for row in applications.listed(context.obj):
            table.add_row(*row)
        console.print(table, soft_wrap=True)


@app.command()
def start(context: typer.Context, application: Application) -> None:
    """Have Airflow run an application of queries, and wait until it runs."""
    with failures_said():
        applications.start(context.obj, application, progress())
        console.print(f"{application} runs. See: sundial status, sundial logs {application}.queries", soft_wrap=True)


@app.command()
def stop(context: typer.Context, application: Application) -> None:
    """Stop an application of queries between two batches; once started again, it goes on where it was."""
    with failures_said():
        applications.stop(context.obj, application, progress())
        console.print(f"{application} does not run.")
