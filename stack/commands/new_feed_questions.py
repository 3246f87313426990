"""What a person says of a feed for which there is no file: by options, or on a terminal when asked."""

import sys

import typer

from stack.commands import backtest_options as options
from stack.commands.new_feed import Said
from stack.errors import StackError
from stack.sample.pace import span

LEAST = 1  # a minimum that every reading but 0 reaches


def said(
    name: str, interval: int | None, timezone: str | None, holidays: str | None, minimum: int | None, description: str | None
) -> Said:
    """Asks on a terminal if the interval or the zone is not given, then for the rest, too. Raises StackError where nobody can be
    asked, or for an answer that is wrong."""
    if interval is not None and timezone is not None:
        return Said(name, interval, timezone, holidays, LEAST if minimum is None else minimum, description)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        lacking = [option for option, value in (("--interval", interval), ("--timezone", timezone)) if value is None]
        remedy = "add --interval 1m --timezone America/Chicago, for example; or name past readings with --from FILE"
        raise StackError(f"{' and '.join(lacking)}: not given, and there is no file", remedy=remedy)
    if interval is None:
        interval = options.interval(typer.prompt("Time that one reading covers (10s, 5m, 1h)"))
    if timezone is None:
        timezone = typer.prompt("Time zone of the feed's days (America/Chicago)")
        options.known_zone(timezone)
    if holidays is None:
        asked = "Public holidays of a country or a part of it (US, US-MN), or nothing"
        holidays = typer.prompt(asked, default="", show_default=False) or None
        options.known_country(holidays)
    if minimum is None:
        minimum = typer.prompt("Smallest reading that can be an anomaly", default=str(LEAST), value_proc=_whole)
    if description is None:
        description = typer.prompt("What the readings are", default=f"Readings of {name}, every {span(interval)}")
    return Said(name, interval, timezone, holidays, minimum, description)


def _whole(answer: str) -> int:
    """Typer asks again after a BadParameter."""
    if not answer.isdecimal():
        raise typer.BadParameter(f"{answer!r} is not a whole number of at least 0")
    return int(answer)
