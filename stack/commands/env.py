"""`sundial env`: the variables that point a shell to a stack."""

import shlex
from typing import Annotated

import typer

from stack.commands.console import failures_reported


def env(
    context: typer.Context, with_airflow: Annotated[bool, typer.Option("--airflow", help="Airflow's settings too.")] = False
) -> None:
    """Export lines that point a shell to this stack: eval "$(sundial env)"."""
    from stack.parts import airflow

    with failures_reported():
        instance = context.obj
        variables = {**instance.environment(), **(airflow.environment(instance) if with_airflow else {})}
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
