"""`sundial new`: skeletons of what can be declared."""

from typing import Annotated

import typer

from contracts.topics import declared_topics
from stack.commands import new_query as new_query_
from stack.commands.console import console, failures_reported
from stack.instance import ROOT

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
