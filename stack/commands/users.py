"""`sundial users`: who may log in to the dashboard and call the API."""

import contextlib
import datetime as dt
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contracts.users import Role, Users, UsersError
from stack import private
from stack.commands.console import console, failures_reported
from stack.errors import StackError
from stack.instance import Instance

app = typer.Typer(no_args_is_help=True, help="Who may log in to the dashboard and call the API.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of a person or a program, as the audit log shall show it.")]
FILE = "SUNDIAL_USERS"


@app.command()
def add(
    context: typer.Context,
    name: Name,
    role: Annotated[Role, typer.Option(help="A viewer reads. An operator may also change things.")] = "viewer",
    days: Annotated[
        int | None, typer.Option(min=1, help="After so many days the token counts no longer. Default: for ever.")
    ] = None,
) -> None:
    """Let somebody in. Prints the token, this once; serving knows it within a second."""
    with failures_reported(), _mistakes():
        file, now = _file(context.obj), dt.datetime.now(dt.UTC).replace(microsecond=0)
        users, token = Users.read(file).added(name, role, now, now + dt.timedelta(days=days) if days else None)
        private.replace(file, users.text())
        until = f", until {now + dt.timedelta(days=days):%Y-%m-%d %H:%M} UTC" if days else ""
        console.print(f"{name} is a user now ({role}{until}). The token, which is shown this once:", markup=False)
        typer.echo(token)


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every user. The tokens are not kept, so they can't be shown."""
    with failures_reported(), _mistakes():
        users, now = Users.read(_file(context.obj)).by_name.values(), dt.datetime.now(dt.UTC)
        table = Table("user", "role", "since", "until", box=None)
        for each in users:
            until = f"{each.until:%Y-%m-%d %H:%M} UTC" if each.until else "for ever"
            table.add_row(
                escape(each.name), each.role, f"{each.made_at:%Y-%m-%d}", until + ("" if each.counts_at(now) else " (over)")
            )
        console.print(table if users else "Nobody may log in. sundial users add NAME", soft_wrap=True)


@app.command()
def remove(context: typer.Context, name: Name) -> None:
    """Let somebody in no longer. The token and the logins with it count no longer, within a second."""
    with failures_reported(), _mistakes():
        file = _file(context.obj)
        private.replace(file, Users.read(file).without(name).text())
        console.print(f"{name} is no user any more.", markup=False)


def _file(instance: Instance) -> Path:
    """That of SUNDIAL_USERS, or else of the embedded stack."""
    if named := os.environ.get(FILE):
        return Path(named)
    if not instance.exists():
        raise StackError(f"no stack in {instance.path}", remedy=f"start one: sundial up, or name the file by {FILE}")
    return instance.users


@contextlib.contextmanager
def _mistakes():
    try:
        yield
    except UsersError as error:
        raise StackError(str(error), remedy="sundial users list shows who there is") from error
