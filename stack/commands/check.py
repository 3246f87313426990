"""`sundial check`: every mistake in the declarations and contracts of this repository, without Kafka, registry or Airflow."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from contracts import avro
from contracts.alerts import load_routes
from contracts.calendar_entries import load_calendar
from contracts.declarations import SCHEMAS, DeclarationError
from contracts.declared_topics import declared_topics
from contracts.feeds import load_feeds
from contracts.queries import load_queries
from stack.commands.console import console, failures_reported
from stack.install import java
from stack.instance import Instance
from stack.parts import job


def check(
    queries: Annotated[
        bool, typer.Option("--queries", help="Also have Spark analyze each query's SQL and columns: half a minute; needs Java.")
    ] = False,
) -> None:
    """Check all declarations in schemas/: every mistake with its file and field; exit 1 where there is one."""
    with failures_reported():
        if found := mistakes() or (_of_queries() if queries else []):
            raise DeclarationError("\n".join(found))
        counts = f"{len(load_feeds())} feeds, {len(load_calendar())} of the calendar, {len(load_queries())} queries"
        console.print(f"{counts}, {len(load_routes())} routes of alerts, {len(_contracts())} contracts: no mistake.")


def mistakes() -> list[str]:
    """Each with its file and field, once."""
    found = dict.fromkeys(line for loads in (load_feeds, load_queries, load_routes, _contracts) for line in _mistakes(loads))
    if not found:  # who writes which topic can be said of sound declarations only
        found = dict.fromkeys(_mistakes(declared_topics))
    return list(found)


def _of_queries() -> list[str]:
    """Mistakes in SQL, conditions and columns. The job gets the addresses of a stack that does not run, as each job asks for
    some."""
    java.binary()
    with tempfile.TemporaryDirectory() as folder:
        return job.printed(Instance(Path(folder) / "none").make(base=0), "jobs.check_queries").splitlines()


def _mistakes(loads: Callable[[], object]) -> list[str]:
    try:
        loads()
    except DeclarationError as error:
        return str(error).splitlines()
    return []


def _contracts() -> list[str]:
    """The names of all records. Raises DeclarationError listing all mistakes in their contracts."""
    names = sorted(folder.name for folder in (SCHEMAS / "avro").iterdir() if folder.is_dir())
    if mistakes := [line for name in names for line in _mistakes(partial(avro.contract, name))]:
        raise DeclarationError("\n".join(mistakes))
    return names
