"""`sundial incidents`: what the nightly walk found, and what a person says of it."""

import datetime as dt
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contracts.exclusions import Statement
from contracts.feeds import load_feed
from stack.commands.console import console, failures_reported, progress
from stack.errors import StackError
from stack.parts import batch_run, incident_tables
from stack.parts.incident_tables import Found

app = typer.Typer(no_args_is_help=True, help="Incidents of the past nights, and what people say of them.")
Feed = Annotated[str, typer.Argument(metavar="FEED", help="As `sundial feeds` shows it.")]
Reason = Annotated[str, typer.Option(metavar="WHY", help="Kept with who says so and when; one line.")]
LONGEST = 500  # characters of a reason or a note
VERDICTS = {"acknowledge": "acknowledged", "false": "false alarm", "exclude": "excluded", "note": "note"}


@app.command("list")
def list_(
    context: typer.Context,
    feed: Feed,
    only_open: Annotated[bool, typer.Option("--open", help="Only those that are not closed.")] = False,
    service: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this service.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, those that began last first.")] = 50,
) -> None:
    """Incidents as the nightly walk found them, and the statements that are in force. Those of today: the page, and
    `sundial read FEED.incidents --latest`."""
    with failures_reported():
        declared = load_feed(feed)
        found = [
            each
            for each in incident_tables.found(context.obj, declared)
            if not (only_open and each.end) and service in (None, each.service)
        ]
        console.print(_incidents(found[:limit]) if found else "The nightly walk found none.", soft_wrap=True)
        if len(found) > limit:
            console.print(f"{len(found) - limit} more; show them with --limit {len(found)}.")
        console.print(f"Those since that walk: the page, and sundial read {declared.incidents_topic} --latest", soft_wrap=True)
        if said := incident_tables.said(context.obj, declared):
            console.print(_statements(said), soft_wrap=True)


@app.command()
def acknowledge(
    context: typer.Context,
    feed: Feed,
    incident: Annotated[str, typer.Argument(metavar="ID", help="As `sundial incidents list` or the page shows it.")],
    reason: Reason,
) -> None:
    """Say that you look after an incident. No route reminds people of it, or escalates it, any more."""
    with failures_reported():
        _judge(context, feed, {"verdict": "acknowledge", "incident": incident}, reason)


@app.command("false")
def no_incident(
    context: typer.Context,
    feed: Feed,
    incident: Annotated[str, typer.Argument(metavar="ID", help="As `sundial incidents list` shows it.")],
    reason: Reason,
) -> None:
    """Say that an incident is a false alarm. It stays, and is shown as one; its readings are normal."""
    with failures_reported():
        _judge(context, feed, {"verdict": "false", "incident": incident}, reason)


@app.command()
def exclude(
    context: typer.Context,
    feed: Feed,
    reason: Reason,
    incident: Annotated[str | None, typer.Argument(metavar="[ID]", help="An incident that has ended.")] = None,
    service: Annotated[str | None, typer.Option(metavar="NAME", help="Whose readings; left out: those of all services.")] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Without ID: the first moment, in ISO 8601, UTC unless it says.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Without ID: the end; a reading then stays.")] = None,
) -> None:
    """Say that readings are not normal: those of an incident, or of a span of time. The next walk through history leaves them
    out, as if there were none."""
    with failures_reported():
        if incident is not None and (service, start, end) != (None, None, None):
            raise StackError("ID does not go with --service, --from and --to", remedy="leave out the one or the other")
        if incident is None and (start is None or end is None):
            remedy = "name an incident, or both --from and --to (and --service, if not all services are meant)"
            raise StackError("it is not clear what to exclude", remedy=remedy)
        span = {"from": _instant("--from", start), "to": _instant("--to", end)}
        _judge(context, feed, {"verdict": "exclude", "incident": incident, "service": service, **span}, reason)


@app.command()
def note(
    context: typer.Context,
    feed: Feed,
    incident: Annotated[str, typer.Argument(metavar="ID", help="As `sundial incidents list` or the page shows it.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One line, kept with who writes it and when.")],
) -> None:
    """Add a note to an incident. Everybody sees it with the incident; nothing else follows from it."""
    with failures_reported():
        _judge(context, feed, {"verdict": "note", "incident": incident}, text, "TEXT")


@app.command()
def take_back(
    context: typer.Context,
    feed: Feed,
    statement: Annotated[int, typer.Argument(metavar="STATEMENT", min=1, help="Its number, as `sundial incidents list` shows.")],
    reason: Reason,
) -> None:
    """Take back what somebody said, also a note. Excluded readings then count again, as if they had never been excluded."""
    with failures_reported():
        _judge(context, feed, {"verdict": "take_back", "statement": statement}, reason)


def _judge(context: typer.Context, feed: str, conf: dict, reason: str, option: str = "--reason") -> None:
    """Has Airflow's DAG write the statement, and waits for it. option: the one that gave the reason."""
    load_feed(feed)
    if not reason.strip() or len(reason) > LONGEST or not reason.isprintable():
        raise StackError(f"{option} cannot be kept", remedy=f"give one line of at most {LONGEST} printable characters")
    given = {name: value for name, value in conf.items() if value is not None} | {"reason": reason}
    for line in batch_run.run(context.obj, f"judge_incident.{feed}", "judge_incident", given, progress()):
        console.print(line, soft_wrap=True, markup=False)
    if conf["verdict"] in ("exclude", "take_back"):
        console.print(f"find_incidents.{feed} walks again from there, if it is unpaused in Airflow.")


def _instant(option: str, text: str | None) -> str | None:
    """ISO 8601 with an offset."""
    try:
        found = text and dt.datetime.fromisoformat(text)
    except ValueError:
        raise StackError(f"{option} {text!r} is no time", remedy="give one like 2026-11-21T12:00:00Z") from None
    return (found if found.tzinfo else found.replace(tzinfo=dt.UTC)).isoformat() if found else None


def _incidents(found: list[Found]) -> Table:
    table = Table("incident", "kind", "until", "cause", "statement", box=None)
    for each in found:
        said = f"{VERDICTS[each.said.kind]} ({each.said.id})" if each.said else ""
        table.add_row(escape(each.id), each.kind, _utc(each.end) if each.end else "open", escape(each.cause), said)
    return table


def _statements(said: list[Statement]) -> Table:
    table = Table("statement", "says", "by", "at", "reason", box=None, title="In force", title_justify="left")
    for each in said:
        span = f"{each.service or 'all services'}, {_utc(each.start)} to {_utc(each.end)}" if each.kind == "exclude" else ""
        says = f"{VERDICTS[each.kind]}: {each.incident or span}"
        table.add_row(str(each.id), escape(says), escape(each.by), _utc(each.at), escape(each.reason))
    return table


def _utc(instant: dt.datetime | None) -> str:
    return "" if instant is None else f"{instant:%Y-%m-%dT%H:%M:%SZ}"
