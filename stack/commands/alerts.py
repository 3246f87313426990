"""`sundial alerts`: the routes by which people are notified of incidents, a try of one, silences, and what is not delivered."""

import datetime as dt
import getpass
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from confluent_kafka import Producer
from pydantic import TypeAdapter, ValidationError
from rich.markup import escape
from rich.table import Table

from contracts.alerts import ALERTS, ASKED, DEAD, SILENCE, TRANSACTION, Route, SaidSilence, load_routes
from contracts.declarations import Duration, Topic, seconds_of
from contracts.feeds import load_feeds
from stack.commands.console import console, failures_reported, kafka_of, registry_of
from stack.commands.read import Reader, latest
from stack.errors import StackError
from stack.instance import ROOT, Instance
from stack.parts import audit_log

app = typer.Typer(no_args_is_help=True, help="Who is notified of incidents, and what could not be delivered.")
WAIT = 30.0  # seconds for Kafka
_DURATION = TypeAdapter(Duration)


@app.command("list")
def list_(context: typer.Context) -> None:
    """Every route, with the messages that wait and those that were given up (dead letters), and why; and the silences in force
    that people asked for."""
    with failures_reported():
        routes = load_routes()
        kept = _rows(context.obj, ALERTS)
        waiting = [json.loads(row["value"]) for row in kept if row["key"].startswith("message/")]
        dead = [(row["key"], json.loads(row["value"]), row.get("headers", {})) for row in _rows(context.obj, DEAD)]
        table = Table("route", "feeds", "services", "severity", "target", "escalation", "waiting", "given up", box=None)
        for name, route in routes.items():
            counts = [sum(each["message"]["route"] == name for each in these) for these in (waiting, [row for _, row, _ in dead])]
            table.add_row(*_described(name, route), *map(str, counts))
        console.print(table if routes else "No route is declared in schemas/alerts: see docs/alerts.md.", soft_wrap=True)
        for each in waiting:
            if each["reason"]:
                line = f"{_named(each)}: {each['attempts']} attempts, the last: {each['reason']}"
                console.print(f"waits: {line}", markup=False, soft_wrap=True)
        for id_, letter, headers in dead:
            console.print(f"given up: {id_} {_named(letter)}: {headers.get('reason')}", markup=False, soft_wrap=True)
        for row in [row for row in kept if row["key"].startswith(SILENCE)]:
            said = SaidSilence.model_validate_json(row["value"])
            if said.until > dt.datetime.now(dt.UTC):
                console.print(f"silence {row['key'].removeprefix(SILENCE)}: {_silenced(said)}", markup=False, soft_wrap=True)


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
            audit_log.note(context.obj, "alerts retry", {"messages": wanted})
            afresh = {"attempts": 0, "first": None, "due": 0, "reason": ""}
            closings_first = sorted(wanted, key=lambda id_: dead[id_]["message"]["event"] != "closed")
            again = {(ALERTS.name, f"message/{id_}"): dead[id_] | afresh for id_ in closings_first}
            _write(context.obj, again | {(DEAD.name, id_): None for id_ in wanted})
        console.print(f"{len(wanted)} messages wait again." if wanted else "No message was given up.")


@app.command()
def silence(
    context: typer.Context,
    reason: Annotated[str, typer.Option(metavar="WHY", help="Kept with who says so and when.")],
    lasting: Annotated[str, typer.Option("--for", metavar="DURATION", help="From now on, e.g. '2 hours'.")],
    feed: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Of this feed; may be repeated. Default: all.")] = None,
    services: Annotated[str, typer.Option(metavar="PATTERN", help="Services that match. Default: all.")] = ".*",
) -> None:
    """Let no route send messages about these services for a while. The process knows it at once."""
    with failures_reported():
        now, by = dt.datetime.now(dt.UTC).replace(microsecond=0), getpass.getuser()
        if unknown := [each for each in feed or () if each not in load_feeds()]:
            raise StackError(f"no such feed: {', '.join(unknown)}", remedy="sundial streams list shows the feeds")
        try:
            until = now + dt.timedelta(seconds=seconds_of(_DURATION.validate_python(lasting)))
            said = SaidSilence(services=services, until=until, reason=reason, feeds=tuple(feed or ()), by=by, at=now)
        except (ValidationError, OverflowError) as error:
            raise StackError(f"no silence: {error}", remedy="see sundial alerts silence --help") from error
        id_ = secrets.token_hex(4)
        audit_log.note(context.obj, "alerts silence", {"silence": id_, **said.model_dump(mode="json", exclude={"by", "at"})})
        _write(context.obj, {(ALERTS.name, f"{SILENCE}{id_}"): said.model_dump(mode="json", by_alias=True)})
        console.print(f"silence {id_}: {_silenced(said)}", markup=False, soft_wrap=True)


@app.command()
def unsilence(
    context: typer.Context, silence: Annotated[str, typer.Argument(metavar="ID", help="As `sundial alerts list` shows it.")]
) -> None:
    """End a silence that `sundial alerts silence` began."""
    with failures_reported():
        if f"{SILENCE}{silence}" not in {row["key"] for row in _rows(context.obj, ALERTS)}:
            raise StackError(f"no such silence: {silence}", remedy="sundial alerts list shows those in force")
        audit_log.note(context.obj, "alerts unsilence", {"silence": silence})
        _write(context.obj, {(ALERTS.name, f"{SILENCE}{silence}"): None})
        console.print(f"silence {silence} has ended.", markup=False)


def _write(instance: Instance, rows: Mapping[tuple[str, str], Any]) -> None:
    """Rows by (topic, key), in that order, all or none; None deletes one. The process takes up those of `sundial.alerts`."""
    kafka, credentials = kafka_of(instance)
    own = {"transactional.id": f"{TRANSACTION}-asked-{secrets.token_hex(8)}", "log_level": 0}
    producer = Producer(credentials.client_options(kafka) | own)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    for (topic, key), value in rows.items():
        headers: dict[str, str | bytes | None] = {ASKED: b"by hand"} if topic == ALERTS.name else {}
        producer.produce(topic, None if value is None else json.dumps(value).encode(), key.encode(), headers=headers)
    producer.commit_transaction(WAIT)


def _rows(instance: Instance, topic: Topic) -> list[dict[str, Any]]:
    """None where the topic is not there: it is made with the first route."""
    reader = Reader(topic, *kafka_of(instance), registry_of(instance))
    try:
        if not reader.has_topic():
            return []
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


def _silenced(said: SaidSilence) -> str:
    of = f"services {said.services} of {', '.join(said.feeds) or 'all feeds'}"
    return f"{of} until {said.until:%Y-%m-%d %H:%M} UTC, by {said.by}: {said.reason}"
