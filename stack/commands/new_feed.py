"""The declaration of a feed as a file of its past readings suggests it, and the commands that lead from there to its chart."""

import datetime as dt
import re
import shlex
from pathlib import Path
from urllib.parse import urlencode

from contracts import avro
from contracts.declarations import DeclarationError, Topic
from contracts.feeds import SECONDS_PER_DAY
from stack.commands import check
from stack.commands.new_query import write
from stack.errors import StackError
from stack.sample.inference import Found
from stack.sample.pace import span

# Its fields fit every feed: a time, and a whole number as the value.
RECORD = "service_use_record"
LONG_AGO = dt.timedelta(days=390)
FIRST_BASELINE = dt.timedelta(days=14)
DECLARATION = """\
# Written by `sundial new feed` from {file}, to be changed where you know better.
name: {name}
description: Readings of {name}, every {span}
record: {record}  # fields of what producers send: {fields}; the key is the service's name
interval_seconds: {interval}
timezone: {timezone}
{more}partitions: 1
retention_days: 45
spread_window_seconds: {window}
rule:
  percent: 25     # Value is more than 25 % away from what is expected, and
  spread: 6       # more than 6 robust standard deviations, and
  minimum: {minimum}  # Value or what is expected is at least a tenth of the file's median
"""


def refuse_name(name: str, declared: list[Topic]) -> None:
    """Raises StackError for a name that no new feed can have."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,62}", name):
        raise StackError(f"{name!r} can't be a feed's name", remedy="lower-case letters, digits and hyphens, a letter first")
    if name in {topic.name for topic in declared}:
        raise StackError(f"{name!r} is declared already", remedy="take another name")


def declaration(name: str, found: Found, holidays: str | None, now: dt.datetime) -> dict[str, str]:
    """Text by path below the repository. holidays: as US or US-MN."""
    country, _, part = (holidays or "").partition("-")
    more = f"holidays: {{country: {country}{f', subdivision: {part}' if part else ''}}}\n" if country else ""
    if now - _at(found.last) > LONG_AGO:
        more += "history_days: 20000  # the file's readings are old; they are kept, and taken when they are played\n"
    fields = " and ".join(field["name"] for field in avro.latest(RECORD)["fields"])
    text = DECLARATION.format(
        name=name,
        file=found.sample.path.name,
        span=span(found.interval),
        record=RECORD,
        fields=fields,
        interval=found.interval,
        timezone=found.timezone,
        more=more,
        window=spread_window(found.interval),
        minimum=max(1, round(found.median / 10)),
    )
    return {f"schemas/feeds/{name}.yaml": text}


def spread_window(interval: int) -> int:
    """Seconds: a quarter of an hour or at least three intervals, which a day is a multiple of."""
    least = min(max(900, 3 * interval), SECONDS_PER_DAY)
    return next(each for each in range(interval, SECONDS_PER_DAY + 1, interval) if SECONDS_PER_DAY % each == 0 and each >= least)


def write_checked(root: Path, files: dict[str, str]) -> None:
    """Raises StackError or DeclarationError, and leaves nothing behind, if a file is there or a declaration is wrong then."""
    write(root, files)
    if mistakes := check.mistakes():
        for path in files:
            (root / path).unlink()
        raise DeclarationError("\n".join(mistakes))


def mapping(name: str, found: Found) -> dict[str, str | None]:
    """How the file's columns map to readings, by the parameters of the DAG `bootstrap_feed`."""
    return {
        "service": None if found.service else name,
        "service_column": found.service,
        "time_column": found.times.column,
        "value_column": found.value,
        "time_unit": found.times.unit,
        "separator": found.sample.separator if found.sample.separator != "comma" else None,
    }


def next_commands(name: str, found: Found, sundial: str) -> list[tuple[str, str]]:
    """(command, what it does). sundial: how the command is called."""
    file, conf = shlex.quote(str(found.sample.path)), mapping(name, found)
    commands = [
        (f"{sundial} up", "creates its topics and registers their contracts; what runs is left alone"),
        (
            f"{sundial} bootstrap {name} --from {file} {_options(conf)}",
            "loads it as history, and builds a baseline from it",
        ),
        (f"{sundial} streams start {name}", "scores what comes from then on"),
    ]
    if found.sample.whole and found.sample.kind != "JSON lines":
        last_day = {"time_unit": None, "from": _at(found.last - 86_400_000).strftime("%Y-%m-%dT%H:%M:%SZ")}
        played = f"{sundial} replay {file} --feed {name} {_options(conf | last_day)}"
        commands.append((played, "sends the file's last day as it is, until you have a producer"))
    return commands


def page(api: str, name: str, found: Found) -> str:
    """The address of the chart, of the last week that the sample has."""
    last = _at(found.last)
    part = {"from": last - dt.timedelta(days=7), "to": last}
    return f"{api}/?{urlencode({'feed': name} | {word: each.strftime('%Y-%m-%dT%H:%M:%SZ') for word, each in part.items()})}"


def _options(given: dict[str, str | None]) -> str:
    """Parameters of a DAG as options of a command."""
    return " ".join(f"--{word.replace('_', '-')} {shlex.quote(value)}" for word, value in given.items() if value is not None)


def _at(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
