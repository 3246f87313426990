"""`sundial alerts`: the routes by which people are notified of incidents, a try of one, and what could not be delivered."""

import json
import os
import secrets
import subprocess
import sys
from typing import Annotated, Any

import typer
from confluent_kafka import Producer
from rich.markup import escape
from rich.table import Table

from contracts.alerts import ALERTS, ASKED, DEAD, TRANSACTION, Route, load_routes
from contracts.declarations import Topic
from stack.commands.console import console, failures_reported, kafka_of, registry_of
from stack.commands.read import Reader, latest
from stack.errors import StackError
from stack.instance import ROOT, Instance

app = typer.Typer(no_args_is_help=True, help="Who is notified of incidents, and what could not be delivered.")
WAIT = 30.0  # seconds for Kafka


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every route, with the messages that wait and those that were given up (dead letters), and why."""
    with failures_reported():
        routes = load_routes()
        waiting = [json.loads(row["value"]) for row in _rows(context.obj, ALERTS) if row["key"].startswith("message/")]
        dead = [(row["key"], json.loads(row["value"]), row.get("headers", {})) for row in _rows(context.obj, DEAD)]
        table = Table("route", "feeds", "services", "severity", "target", "escalation", "waiting", "given up", box=None)
        for name, route in routes.items():
            counts = [sum(each["message"]["route"] == name for each in these) for these in (waiting, [row for _, row, _ in dead])]
            table.add_row(*_described(name, route), *map(str, counts))
        console.print(table if routes else "No route is declared in schemas/alerts.", soft_wrap=True)
        for each in waiting:
            if each["reason"]:
                line = f"{_named(each)}: {each['attempts']} attempts, the last: {each['reason']}"
                console.print(f"waits: {line}", markup=False, soft_wrap=True)
        for id_, letter, headers in dead:
            console.print(f"given up: {id_} {_named(letter)}: {headers.get('reason')}", markup=False, soft_wrap=True)


@app.command()
def test(
    context: typer.Context,
    route: Annotated[str, typer.Argument(metavar="ROUTE", help="As `sundial alerts list` shows it.")],
) -> None:
    """Send an opening and a closing about no real incident to each target of a route, and say what the receivers answered.
    Exits 1 if one has not taken them."""
    with failures_reported():
        embedded = context.obj.environment() if context.obj.exists() else {}
        command = [sys.executable, "-m", "serving.alerts.trial", route]
        done = subprocess.run(
            command, cwd=ROOT, env=embedded | os.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        typer.echo(done.stdout, nl=False)
        if done.returncode:
            what = done.stderr.partition("ERROR:root:")[2].strip() or done.stderr.strip() or f"route {route} did not get through"
            raise StackError(what)


@app.command()
def retry(
    context: typer.Context,
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Those to try again; all if none is named.")
    ] = None,
) -> None:
    """Have messages tried again that were given up. A receiver that knows a message's id may ignore what it has. Of an incident
    that is over, only what its closing follows is sent."""
    with failures_reported():
        dead = {row["key"]: json.loads(row["value"]) for row in _rows(context.obj, DEAD)}
        if unknown := [id_ for id_ in messages or () if id_ not in dead]:
            raise StackError(f"no such message was given up: {', '.join(unknown)}", remedy="sundial alerts list shows their ids")
        wanted = messages or list(dead)
        if wanted:
            closings_first = sorted(wanted, key=lambda id_: dead[id_]["message"]["event"] != "closed")
            _ask(context.obj, {id_: dead[id_] for id_ in closings_first})
        console.print(f"{len(wanted)} messages wait again." if wanted else "No message was given up.")


def _ask(instance: Instance, letters: dict[str, dict[str, Any]]) -> None:
    """Rows by which the process takes the messages up, in that order, and their dead letters deleted: all or none."""
    kafka, credentials = kafka_of(instance)
    own = {"transactional.id": f"{TRANSACTION}-retry-{secrets.token_hex(8)}", "log_level": 0}
    producer = Producer(credentials.client_options(kafka) | own)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    for id_, letter in letters.items():
        again = letter | {"attempts": 0, "first": None, "due": 0, "reason": ""}
        producer.produce(ALERTS.name, json.dumps(again).encode(), f"message/{id_}".encode(), headers=[(ASKED, b"retry")])
        producer.produce(DEAD.name, None, id_.encode())
    producer.commit_transaction(WAIT)


def _rows(instance: Instance, topic: Topic) -> list[dict[str, Any]]:
    reader = Reader(topic, *kafka_of(instance), registry_of(instance))
    try:
        return latest(reader.records(follow=False, only_new=False))
    finally:
        reader.close()


def _described(name: str, route: Route) -> list[str]:
    feeds, escalation = ", ".join(route.feeds) or "all", route.escalation
    also = f"{escalation.target.kind} after {escalation.after}" if escalation else ""
    return [name, feeds, escape(route.services), route.severity, route.target.kind, also]


def _named(waiting: dict[str, Any]) -> str:
    message = waiting["message"]
    return f"{message['event']} {message['incident']['Id']} of {message['feed']} to {message['route']}.{message['to']}"
