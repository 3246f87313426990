"""`sundial queries`: the declared stream queries, by the application that runs them."""

from typing import Annotated

import typer
from rich.table import Table

from contracts.queries import Query, load_queries
from stack.commands.console import console, failures_reported, progress
from stack.errors import StackError
from stack.parts import batch_run, job, streams
from stack.parts.streams import Stream

app = typer.Typer(no_args_is_help=True, help="The declared stream queries, by the application that runs them.")
Application = Annotated[str, typer.Argument(metavar="APPLICATION", help="As `sundial queries list` shows it.")]


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every declared query, its application and how that is, what it reads, writes and promises."""
    with failures_reported():
        table = Table("query", "application", "state", "reads", "writes", "delivery", box=None)
        for name, query in load_queries().items():
            state = Stream(query.application, "queries").state(context.obj)
            table.add_row(name, query.application, state, _reads(query), _writes(query), query.delivery)
        console.print(table, soft_wrap=True)


@app.command()
def start(context: typer.Context, application: Application) -> None:
    """Have Airflow run an application of queries, and wait until it runs."""
    with failures_reported():
        streams.start(context.obj, Stream(application, "queries"), progress())
        console.print(f"{application} runs. See: sundial status, sundial logs {application}.queries", soft_wrap=True)


@app.command()
def stop(context: typer.Context, application: Application) -> None:
    """Stop an application of queries between two batches; once started again, it goes on where it was."""
    with failures_reported():
        streams.stop(context.obj, Stream(application, "queries"), progress())
        console.print(f"{application} does not run.")


@app.command()
def skip_lost(context: typer.Context, application: Application) -> None:
    """Go on with what the topics hold, after records that a stopped application had not read were deleted; says what is lost."""
    with failures_reported():
        typer.echo(streams.skip_lost(context.obj, Stream(application, "queries")), nl=False)
        console.print(f"start it with: sundial queries start {application}")


@app.command()
def repair(
    context: typer.Context, query: Annotated[str, typer.Argument(metavar="QUERY", help="One of metric summaries.")]
) -> None:
    """Count in the metric events that came too late for a query, as Airflow does each hour from then on."""
    with failures_reported():
        repaired = [name for name, each in load_queries().items() if each.transform == "metric_summaries"]
        if query not in repaired:
            raise StackError(f"nothing repairs query {query!r}", remedy=f"one of: {', '.join(repaired)}")
        for line in batch_run.run(context.obj, f"repair_summaries.{query}", "repair_summaries", {}, progress()):
            console.print(line, soft_wrap=True, markup=False)


@app.command()
def table(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="As `sundial queries list` shows it.")],
    until: Annotated[
        str | None, typer.Option(metavar="PARTITION:OFFSET,…", help="Before these offsets of the topic that it reads.")
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Before that moment, in ISO 8601, UTC unless it says.")] = None,
) -> None:
    """What the tables hold that a query writes, or held at a past offset: the query, run as a batch over its topics up to there.

    A line of JSON for each key that is there: topic, key, value. The query need not run.
    """
    given = {"--until": until, "--at": at}
    with failures_reported():
        options = [word for option, value in given.items() if value is not None for word in (option, value)]
        typer.echo(job.printed(context.obj, "jobs.query_table", "--query", query, *options), nl=False)


def _reads(query: Query) -> str:
    return ", ".join(sorted({each.topic for each in query.inputs.values()}))


def _writes(query: Query) -> str:
    return ", ".join(each.topic for each in query.outputs)
