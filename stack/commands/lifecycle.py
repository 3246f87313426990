"""`sundial up`, `sundial down`, `sundial clean`: a stack as a whole."""

from typing import Annotated

import typer

from stack.commands.console import console, failures_reported, progress
from stack.instance import MOST_BROKERS

PortBase = Annotated[int | None, typer.Option("--port-base", help="First of the stack's ports; 0 takes any free ones.")]
Brokers = Annotated[
    int | None, typer.Option(min=1, max=MOST_BROKERS, help="Kafka brokers of a new stack; with 3 each record is kept by all 3.")
]


def up(
    context: typer.Context,
    port_base: PortBase = None,
    brokers: Brokers = None,
    only_kafka: Annotated[bool, typer.Option("--only-kafka", help="Nothing but Kafka, without a declared topic.")] = False,
) -> None:
    """Start Kafka, the schema registry, Airflow, serving, and alerts if a route is declared. What runs already is left
    alone, what died is restarted."""
    from stack.parts import lifecycle

    with failures_reported():
        instance = context.obj.make(port_base, brokers)
        if only_kafka:
            lifecycle.up_kafka(instance, progress())
            return
        lifecycle.up(instance, progress())
        console.print(
            f"The stack is up: dashboard {instance.api}, Airflow {instance.airflow}. See: sundial status", soft_wrap=True
        )


def down(context: typer.Context) -> None:
    """Stop everything that this stack started, streams included. Its data stays."""
    from stack.parts import lifecycle

    with failures_reported():
        if not context.obj.exists():
            console.print(f"No stack in {context.obj.path}.")
            return
        lifecycle.down(context.obj, progress())
        console.print("Nothing of the stack runs any more.")


def clean(context: typer.Context) -> None:
    """Stop the stack and delete its data: topics, tables, Airflow's database, logs."""
    from stack.parts import lifecycle

    instance = context.obj
    with failures_reported():
        if not instance.exists():
            console.print(f"No stack in {instance.path}.")
            return
        lifecycle.down(instance, progress())
        instance.delete()
    if others := instance.others():
        console.print(f"Deleted the stack in {instance.path}. Kept what is not its own: {', '.join(others)}.", soft_wrap=True)
    else:
        console.print(f"Deleted {instance.path}.", soft_wrap=True)
