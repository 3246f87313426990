"""`sundial connect`: Kafka Connect on the brokers of this stack."""

from pathlib import Path
from typing import Annotated

import typer

from stack.commands.console import console, failures_reported
from stack.parts import connect as connect_

Connectors = Annotated[list[Path], typer.Argument(metavar="FILE...", help="A connector's settings each: .properties or .json.")]


def connect(context: typer.Context, connectors: Connectors) -> None:
    """Start a Kafka Connect worker with these connectors, and wait until they run; one that runs already is replaced.

    Values are text unless a connector says otherwise. The worker ends with the stack, and goes on later where it was.

    [bold]Example[/bold]: [cyan]sundial connect access-log.properties[/cyan]
    """
    with failures_reported():
        instance = context.obj
        with instance.locked():
            connect_.start(instance, connectors)
        console.print(f"connect runs {', '.join(each.stem for each in connectors)}. See: sundial logs connect", soft_wrap=True)
