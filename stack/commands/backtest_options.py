"""What the options of `sundial backtest` say; StackError names the option that is wrong and what to do."""

import datetime as dt
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from zoneinfo import available_timezones

import typer
from pydantic import ValidationError

from contracts.incidents import Incidents, load_rule
from contracts.public_holidays import Holidays
from sources.simulated_incidents import seconds
from stack.errors import StackError

DAY = 86_400
EVERY = 5.0  # seconds between two lines of progress


def refused(given: Mapping[str, object], why: str, remedy: str) -> None:
    """Raises StackError if one of these options was given."""
    if names := [name for name, value in given.items() if value]:
        raise StackError(f"{', '.join(names)}: {why}", remedy=remedy)


def required(given: Mapping[str, object]) -> None:
    if missing := [name for name, value in given.items() if not value]:
        raise StackError(f"a CSV file needs {', '.join(missing)}", remedy="see: sundial backtest --help")


def rule(declared: Incidents, file: Path | None, score: float | None) -> Incidents:
    """The rule of the file, or else the declared one; with that score, if there is one."""
    found = load_rule(file) if file else declared
    return found if score is None else found.with_score(score)


def span(text: str, option: str) -> int:
    """Seconds."""
    try:
        return seconds(text)
    except ValueError as error:
        raise StackError(f"{option}: {error}", remedy=f"write {option} 30m, for example") from error


def interval(text: str) -> int:
    """Seconds."""
    step = span(text, "--interval")
    if not step or DAY % step:
        raise StackError(
            f"--interval {text} does not divide a day", remedy="give the span that one reading covers: 10s, 5m, 30m, 1h"
        )
    return step


def date(text: str | None, option: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if text else None
    except ValueError as error:
        raise StackError(f"{option} {text} is no date", remedy=f"write {option} 2026-11-21, for example") from error


def per_week(text: str) -> float:
    """Incidents."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)/(day|week)", text)
    if not found:
        raise StackError(
            f"--suggest {text} is not a number of incidents",
            remedy="write incidents per day or week, for example --suggest 2/week",
        )
    return float(found[1]) * (7 if found[2] == "day" else 1)


def known_zone(zone: str) -> None:
    if zone not in available_timezones():
        raise StackError(f"--timezone {zone}: no such time zone", remedy="name one of the IANA database: America/Chicago, UTC")


def known_country(country: str | None) -> None:
    if country is None:
        return
    name, _, part = country.partition("-")
    try:
        Holidays(country=name, subdivision=part or None)
    except ValidationError as error:
        what = "; ".join(str(each["msg"]).removeprefix("Value error, ") for each in error.errors())
        raise StackError(f"--holidays {country}: {what}", remedy="name a country and perhaps a part: US or US-MN") from error


def written(path: Path, write_it: Callable[[], None]) -> None:
    try:
        write_it()
    except OSError as error:
        raise StackError(f"{path} can't be written: {error.strerror}", remedy="name a file in a folder that exists") from error


def progress() -> Callable[[int, int, int], None]:
    """Tells on stderr how far a walk has come, every few seconds."""
    started = printed = time.monotonic()

    def tell(dates: int, of: int, readings: int) -> None:
        nonlocal printed
        now = time.monotonic()
        if now - printed >= EVERY:
            printed = now
            typer.echo(f"{dates:,} of {of:,} dates, {readings:,} readings, {readings / (now - started):,.0f} a second", err=True)

    return tell
