"""`sundial schemas`: the contracts in the schema registry, what changes between their versions, and who still reads a topic."""

import json
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka.schema_registry import SchemaRegistryClient
from rich.markup import escape

from contracts import avro
from contracts.avro import Level
from contracts.compatibility import Version, allowed, changes, obstacles, refusals
from contracts.declarations import SCHEMAS
from contracts.declared_topics import declared_topics
from stack.commands.console import console, failures_reported, kafka_of, registry_of
from stack.deploy import consumer_groups, schemas
from stack.errors import StackError
from stack.instance import Instance

app = typer.Typer(no_args_is_help=True, help="The contracts in the schema registry.")


@app.command()
def register(context: typer.Context) -> None:
    """Register every contract; refused where it is incompatible with the version in force."""
    with failures_reported():
        for subject, number in schemas.register(registry_of(context.obj), declared_topics()).items():
            console.print(f"{subject}  id {number}")


@app.command()
def check(context: typer.Context) -> None:
    """Say whether the registry would take every contract; changes nothing."""
    with failures_reported():
        refused = schemas.incompatible(registry_of(context.obj), declared_topics())
        if refused:
            what = "\n".join(f"{subject}: {reason}" for subject, reason in refused.items())
            raise StackError(what, remedy=schemas.REMEDY)
        console.print("The registry takes every contract.")


@app.command()
def diff(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="RECORD|SUBJECT", help="A record of schemas/avro or a subject.")],
    old: Annotated[int | None, typer.Option("--from", help="This version; the one before unless given.")] = None,
    new: Annotated[str | None, typer.Option("--to", metavar="N|FILE", help="This version, or a draft; else the newest.")] = None,
) -> None:
    """What changes between two versions, field by field, and which compatibility levels allow it.

    Of a record: its versions in schemas/avro. Of a subject: the registry's versions, then those declared but not yet deployed.
    Without --from and --to, the newest two. Exits 1 if the contract's own level does not allow the newer version.
    """
    with failures_reported():
        versions, level = _versions(context.obj, what)
        before, after = _chosen(versions, what, old, new)
        refused = _print_diff(before, after, level)
    raise typer.Exit(1 if refused else 0)


def _versions(instance: Instance, what: str) -> tuple[list[Version], Level]:
    """All versions, oldest first; those declared for a subject come after those that the registry has."""
    if (SCHEMAS / "avro" / what).is_dir():
        files = avro.versions(what)
        return [Version(file.stem, json.loads(file.read_text())) for file in files], avro.contract(what).compatibility
    there = list(schemas.registered(SchemaRegistryClient({"url": registry_of(instance)}), what).values())
    declared = schemas.wanted(declared_topics()).get(what)
    if not there and not declared:
        raise StackError(f"no record in schemas/avro and no subject in the registry is named {what!r}")
    if not declared:
        return there, Level.FULL
    new = [version for version in declared.declared() if version.schema not in [each.schema for each in there]]
    return there + new, declared.level


def _chosen(versions: list[Version], what: str, old: int | None, new: str | None) -> tuple[list[Version], Version]:
    """The versions up to the older of the two, and the newer one."""
    if new and not new.isdigit():
        after, before = _draft(Path(new)), versions
    else:
        at = _index(versions, what, int(new)) if new else len(versions) - 1
        after, before = versions[at], versions[:at]
    if old is not None:
        before = before[: _index(versions, what, old) + 1]
    if not before:
        raise StackError(f"{what} has nothing before {after.name}", remedy="name a draft to hold against it: --to FILE")
    return before, after


def _index(versions: list[Version], what: str, number: int) -> int:
    names = [version.name for version in versions]
    found = [at for at, name in enumerate(names) if name in (f"v{number}", f"version {number}")]
    if not found:
        raise StackError(f"{what} has no version {number}", remedy=f"one of: {', '.join(names)}")
    return found[0]


def _draft(file: Path) -> Version:
    try:
        return Version(file.name, json.loads(file.read_text()))
    except (OSError, ValueError) as error:
        raise StackError(f"{file} can't be read as an Avro schema: {error}") from error


def _print_diff(before: list[Version], after: Version, level: Level) -> bool:
    """Whether the level refuses the newer version."""
    old = before[-1]
    console.print(f"{old.name} → {after.name}")
    for field, what in changes(old, after) or [("nothing", "that a reader or a writer could notice")]:
        console.print(f"  {field or 'record'}: {what}", soft_wrap=True, markup=False)
    for reader, writer in ((after, old), (old, after)):
        reasons = obstacles(reader, writer)
        console.print(f"readers of {reader.name} {'do not read' if reasons else 'read'} records of {writer.name}")
        for reason in reasons:
            console.print(f"  {reason}", soft_wrap=True, markup=False)
    console.print(f"levels that allow it: {', '.join(allowed(after, before)) or 'none'}", soft_wrap=True)
    refused = refusals(level, after, before)
    console.print(f"the contract's level: {level}, {'[red]refused[/red]' if refused else 'allowed'}")
    return bool(refused)


@app.command()
def readers(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="Of the topic that is to go, such as one with an old version.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Who reads a topic: consumer groups with their members, what waits for them, and when each last committed."""
    with failures_reported():
        report = consumer_groups.report(*kafka_of(context.obj), topic)
    if as_json:
        console.print_json(json.dumps(report))
        return
    for line in consumer_groups.lines(report):
        console.print(escape(line), soft_wrap=True)
