"""The declaration of a feed, as a file of past readings suggests it or a person says, and the commands that lead to its chart."""

import datetime as dt
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from contracts import avro, incident_queries
from contracts.declarations import DeclarationError, Topic
from contracts.feeds import SECONDS_PER_DAY
from contracts.incidents import Incidents
from stack.commands import check
from stack.commands.new_query import write
from stack.errors import StackError
from stack.sample.inference import Found
from stack.sample.pace import span

# Its fields fit every feed: a time, and a whole number as the value.
RECORD = "service_use_record"
LONG_AGO = dt.timedelta(days=390)
FIRST_BASELINE = dt.timedelta(days=14)
FORGOTTEN = dt.timedelta(days=Incidents().forget_days)
PLAYED = FORGOTTEN + dt.timedelta(days=4)  # enough for the detector to know the services' weeks again
DECLARATION = """\
# Written by `sundial new feed`{origin}, to be changed where you know better.
name: {name}
description: {description}
record: {record}  # fields of what producers send: {fields}; the key is the service's name
interval_seconds: {interval}
timezone: {timezone}
{more}partitions: 1
retention_days: 45
spread_window_seconds: {window}
rule:
  percent: 25     # Value is more than 25 % away from what is expected, and
  spread: 6       # more than 6 robust standard deviations, and
  minimum: {minimum:<6} # Value or what is expected is at least {meaning}
"""
SHORT = 60  # seconds; a single reading below that is unusual by chance now and then
SHORT_INTERVALS = """\
incidents:
  persistence: 3 of 6  # of the first six readings, three are unusual
"""


def refuse_name(root: Path, name: str, declared: list[Topic]) -> None:
    """Raises StackError for a name that no feed of a file below the root can have."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,62}", name):
        raise StackError(f"{name!r} can't be a feed's name", remedy="lower-case letters, digits and hyphens, a letter first")
    if name in {topic.name for topic in declared} and not (root / _path(name)).exists():
        what = f"{name!r} is declared already: a topic has this name"
        raise StackError(what, remedy="take another name; sundial topics lists those that are taken")


def _path(name: str) -> str:
    return f"schemas/feeds/{name}.yaml"


def declaration(name: str, found: Found, holidays: str | None, now: dt.datetime) -> dict[str, str]:
    """Text by path below the repository. holidays: as US or US-MN."""
    more = ""
    if now - _at(found.last) > LONG_AGO:
        more = "history_days: 20000  # some 55 years: the file's old readings are kept, and taken when they are played\n"
    minimum = max(1, round(found.median / 10))
    description = f"Readings of {name} times {found.scale}, every {span(found.interval)}" if found.scale else None
    said = Said(name, found.interval, found.timezone, holidays, minimum, description)
    return _written(said, f" from {found.sample.path.name}", "a tenth of the file's median", more)


@dataclass(frozen=True)
class Said:
    """What a person says of a feed. interval: seconds. minimum: of the rule."""

    name: str
    interval: int
    timezone: str
    holidays: str | None
    minimum: int
    description: str | None = None


def declaration_of(said: Said) -> dict[str, str]:
    """Text by path below the repository, of a feed that no file tells of."""
    return _written(said, "", "this")


def _written(said: Said, origin: str, meaning: str, more: str = "") -> dict[str, str]:
    country, _, part = (said.holidays or "").partition("-")
    days = f"holidays: {{country: {country}{f', subdivision: {part}' if part else ''}}}\n" if country else ""
    fields = " and ".join(field["name"] for field in avro.latest(RECORD)["fields"])
    text = DECLARATION.format(
        name=said.name,
        description=_quoted(said.description) if said.description else f"Readings of {said.name}, every {span(said.interval)}",
        origin=origin,
        record=RECORD,
        fields=fields,
        interval=said.interval,
        timezone=said.timezone,
        more=days + more,
        window=spread_window(said.interval),
        minimum=said.minimum,
        meaning=meaning,
    )
    return {_path(said.name): text + (SHORT_INTERVALS if said.interval < SHORT else "")}


def _quoted(text: str) -> str:
    """As a double-quoted scalar of YAML: a person may write anything."""
    return json.dumps(text, ensure_ascii=False)


def spread_window(interval: int) -> int:
    """Seconds: a quarter of an hour or at least three intervals, which a day is a multiple of."""
    least = min(max(900, 3 * interval), SECONDS_PER_DAY)
    return next(each for each in range(interval, SECONDS_PER_DAY + 1, interval) if SECONDS_PER_DAY % each == 0 and each >= least)


def declared_so(root: Path, name: str, files: dict[str, str]) -> bool:
    """Whether an earlier run has written the same. Raises StackError if something else is there."""
    there = {path: (root / path).read_text() for path in files if (root / path).exists()}
    if there and there != files:
        what = f"{name!r} is declared already: {', '.join(there)} says something else than this command would write"
        remedy = "keep it: sundial feeds says what it needs next; or delete it, if it has no history yet, and run this again"
        raise StackError(what, remedy=f"{remedy}; or take another name")
    return bool(there)


def write_checked(root: Path, files: dict[str, str]) -> None:
    """Raises StackError or DeclarationError, and leaves nothing behind, if a file is there or a declaration is wrong then."""
    write(root, files)
    if mistakes := check.mistakes():
        for path in files:
            (root / path).unlink()
        raise DeclarationError("\n".join(mistakes))


def mapping(name: str, found: Found) -> dict[str, str | int | None]:
    """How the file's columns map to readings, by the parameters of the DAG `bootstrap_feed`."""
    return {
        "service": None if found.service else name,
        "service_column": found.service,
        "time_column": found.times.column,
        "value_column": found.value,
        "value_scale": found.scale,
        "time_unit": found.times.unit,
        "time_format": found.times.form.text if found.times.form else None,
        "separator": found.sample.separator if found.sample.separator != "comma" else None,
    }


def next_commands(name: str, found: Found | None, sundial: str) -> list[tuple[str, str]]:
    """(command, what it does). found: in a file, if there is one. sundial: how the command is called."""
    up = (f"{sundial} up", "creates its topics and registers their contracts; what runs is left alone")
    start = [
        (f"{sundial} streams start {name}", "scores what comes from then on"),
        (f"{sundial} queries start {incident_queries.NAME}", "finds incidents, of all feeds; who is notified: docs/alerts.md"),
    ]
    if found is None:
        return [up, *start]
    file, conf = shlex.quote(str(found.sample.path)), mapping(name, found)
    load = f"{sundial} bootstrap {name} --from {file} {_options(conf)}"
    loading = (load, "loads it as history, builds a baseline from it, and finds its incidents")
    commands = [up, loading, *start]
    if can_be_played(found):
        since = {"from": _at(last_day_of(found)).strftime("%Y-%m-%dT%H:%M:%SZ")}
        played = _replay(sundial, file, name, {**conf, **since})
        commands.append((played, "sends the file's last day as it is, until you have a producer"))
    return commands


def further_readings(name: str, found: Found, sundial: str) -> str:
    """The command that sends a file with the columns of the one that was found in."""
    return _replay(sundial, f"next{found.sample.path.suffix}", name, mapping(name, found))


def before_readings_of_now(name: str, found: Found, sundial: str, now: dt.datetime) -> tuple[str, str] | None:
    """(what to do, its command) if the file ended so long ago that the detector would have forgotten its services."""
    if not can_be_played(found) or now - _at(found.last) <= FORGOTTEN:
        return None
    ended = f"{_at(found.last).astimezone(ZoneInfo(found.timezone)):%Y-%m-%d}"
    played = _replay(sundial, shlex.quote(str(found.sample.path)), name, mapping(name, found))
    what = f"The file ends on {ended}. Before you send readings of now, play its end as readings of the last weeks:"
    return what, f"{played} --shift-to-now --from -{PLAYED.days}d"


def _replay(sundial: str, file: str, name: str, conf: Mapping[str, str | int | None]) -> str:
    return f"{sundial} replay {file} --feed {name} {_options({**conf, 'time_unit': None})}"


def can_be_played(found: Found) -> bool:
    """Whether a replay can read the file, and its end is known."""
    return found.sample.whole and found.sample.kind != "JSON lines"


def last_day_of(found: Found) -> int:
    """When the file's last day begins, in epoch milliseconds."""
    return found.last - 1000 * (SECONDS_PER_DAY - found.interval)


def page(api: str, name: str, found: Found | None) -> str:
    """The address of the chart; of the last week that the sample has, if there is one. A window ends before its `to`."""
    if found is None:
        return f"{api}/?{urlencode({'feed': name})}"
    end = _at(found.last + found.interval * 1000)
    part = {"from": end - dt.timedelta(days=7), "to": end}
    return f"{api}/?{urlencode({'feed': name} | {word: each.strftime('%Y-%m-%dT%H:%M:%SZ') for word, each in part.items()})}"


def _options(given: Mapping[str, str | int | None]) -> str:
    """Parameters of a DAG as options of a command."""
    return " ".join(f"--{word.replace('_', '-')} {shlex.quote(str(value))}" for word, value in given.items() if value is not None)


def _at(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
