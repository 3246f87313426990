"""`sundial users`: who may log in to the dashboard and call the API."""

import contextlib
import datetime as dt
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contracts.users import Role, UsersError
from stack.commands.console import console, failures_reported
from stack.errors import StackError
from stack.parts import users

app = typer.Typer(no_args_is_help=True, help="Who may log in to the dashboard and call the API.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of a person or a program, as the audit log shall show it.")]


@app.command()
def add(
    context: typer.Context,
    name: Name,
    role: Annotated[Role, typer.Option(help="A viewer reads. An operator may also change things.")] = "viewer",
    days: Annotated[int | None, typer.Option(min=1, help="For how many days the token counts. Default: for ever.")] = None,
) -> None:
    """Let somebody in. Prints the token, this once; serving knows it within a second."""
    with failures_reported(), _mistakes():
        now = dt.datetime.now(dt.UTC).replace(microsecond=0)
        until = now + dt.timedelta(days=days) if days else None
        more, token = users.read(context.obj).added(name, role, now, until)
        about = {"name": name, "given": role, "until": until.isoformat() if until else None}
        users.write(context.obj, more, "users add", about)
        ends = f", until {until:%Y-%m-%d %H:%M} UTC" if until else ""
        console.print(f"{name} is a user now ({role}{ends}). The token, which is shown this once:", markup=False)
        typer.echo(token)


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every user. The tokens are not kept, so they can't be shown."""
    with failures_reported():
        found, now = users.read(context.obj).by_name.values(), dt.datetime.now(dt.UTC)
        table = Table("user", "role", "since", "until", box=None)
        for each in found:
            until = f"{each.until:%Y-%m-%d %H:%M} UTC" if each.until else "for ever"
            over = "" if each.counts_at(now) else " (over)"
            table.add_row(escape(each.name), each.role, f"{each.made_at:%Y-%m-%d}", until + over)
        console.print(table if found else "Nobody may log in. sundial users add NAME", soft_wrap=True)


@app.command()
def remove(context: typer.Context, name: Name) -> None:
    """Let somebody in no longer. The token and the logins with it count no longer, within a second."""
    with failures_reported(), _mistakes():
        users.write(context.obj, users.read(context.obj).without(name), "users remove", {"name": name})
        console.print(f"{name} is no user any more.", markup=False)


@contextlib.contextmanager
def _mistakes() -> Iterator[None]:
    try:
        yield
    except UsersError as error:
        raise StackError(str(error), remedy="sundial users list shows who there is") from error
