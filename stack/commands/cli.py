"""The command `sundial`: its subcommands, and the options that come before them."""

import os
from pathlib import Path
from typing import Annotated

import typer

from contracts.kafka_credentials import VARIABLES
from sources.replay_command import replay
from sources.send_command import send
from sources.simulate_command import simulate
from stack.commands import alerts, dead_letters, incidents, new, queries, schemas, streams, users, version
from stack.commands.backtest import backtest_command
from stack.commands.bootstrap import bootstrap
from stack.commands.check import check
from stack.commands.connect import connect
from stack.commands.env import env
from stack.commands.kafka import PASSED_ON, kafka
from stack.commands.lifecycle import clean, down, up
from stack.commands.processes import logs, pid
from stack.commands.read import read
from stack.commands.run import run
from stack.commands.status import status
from stack.commands.topics import access, topics
from stack.instance import Instance, default_path

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    help="The command `sundial`: everything that a person does with the platform on one machine.",
)
for command in (
    run,
    up,
    check,
    status,
    logs,
    pid,
    env,
    down,
    clean,
    bootstrap,
    replay,
    simulate,
    send,
    read,
    connect,
    topics,
    access,
):
    app.command()(command)
app.command("backtest")(backtest_command)
app.command(context_settings=PASSED_ON)(kafka)
for name in ("feeds", "streams"):  # as people look for it, and as what is switched is called
    app.add_typer(streams.app, name=name)
app.add_typer(queries.app, name="queries")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(incidents.app, name="incidents")
app.add_typer(alerts.app, name="alerts")
app.add_typer(schemas.app, name="schemas")
app.add_typer(users.app, name="users")
app.add_typer(new.app, name="new")


@app.callback()
def options(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option(envvar="SUNDIAL_HOME", help="The stack's folder; .stack beside the code unless given.")
    ] = None,
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=version.show, help="Versions of Sundial and of the parts it runs."),
    ] = False,
) -> None:
    context.obj = Instance((home or default_path()).resolve())
    if context.get_parameter_source("home").name == "COMMANDLINE":  # then addresses of another stack do not count
        for variable in ("SUNDIAL_KAFKA", "SUNDIAL_REGISTRY", "SUNDIAL_LAKE", *VARIABLES):
            os.environ.pop(variable, None)
    if context.obj.exists():  # what sends plays into this stack, unless an option says otherwise
        addresses = {"kafka": context.obj.kafka, "registry": context.obj.registry}
        context.default_map = dict.fromkeys(("replay", "simulate", "send"), addresses)
