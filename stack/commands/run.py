"""`sundial run`: the whole main job."""

import sys

import typer

from stack.commands.console import console, failures_reported, progress
from stack.commands.lifecycle import Brokers, PortBase
from stack.errors import StackError


def run(context: typer.Context, port_base: PortBase = None, brokers: Brokers = None) -> None:
    """The whole main job: stack, history, nightly baseline through Airflow, scoring stream, live readings, first anomalies."""
    from stack import main_job

    with failures_reported():
        instance = context.obj.make(port_base, brokers)
        try:
            main_job.run(instance, progress())
        except StackError:
            console.print("What has started is left running, to be looked at: make status. Stop it: make stop.")
            raise
        console.print(main_job.farewell(instance, sys.stdout.isatty()), soft_wrap=True)
