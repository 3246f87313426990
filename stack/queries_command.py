"""`sundial queries`: the declared stream queries, by the application that runs them."""

from typing import Annotated

import typer
from rich.table import Table

from stack import applications, batch_run
from stack.command import console, failures_said, progress
from stack.errors import StackError

app = typer.Typer(no_args_is_help=True, help="The declared stream queries, by the application that runs them.")
Application = Annotated[str, typer.Argument(metavar="APPLICATION", help="As `sundial queries list` shows it.")]


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every declared query, its application and how that is, what it reads and writes."""
    with failures_said():
        table = Table("query", "application", "state", "reads", "writes", box=None)
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


@app.command()
def repair(
    context: typer.Context, query: Annotated[str, typer.Argument(metavar="QUERY", help="One of metric summaries.")]
) -> None:
    """Count in the metric events that came too late for a query, as Airflow does each hour from then on."""
    with failures_said():
        dag = f"repair_summaries.{query}"
        if dag not in applications.repairs():
            known = ", ".join(each.split(".")[1] for each in applications.repairs())
            raise StackError(f"nothing repairs query {query!r}", remedy=f"one of: {known}")
        for line in batch_run.run(context.obj, dag, "repair_summaries", {}, progress()):
            console.print(line, soft_wrap=True, highlight=False)
