"""Special days and maintenance windows: one YAML file under `schemas/calendar/` each, for one feed or more."""

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from contracts.declarations import SCHEMAS, Declaration, DeclarationError, Declared, Name, load
from contracts.incidents import Pattern

CALENDAR = SCHEMAS / "calendar"
Kind = Literal[
    "sunday", "weekday", "itself"
]  # of day that a holiday or a special day is like; see jobs/transforms/holiday_kinds.py
EVERY_SERVICE = ".*"
MIDNIGHT = "24:00"  # at the end of a date
EARLIEST, LATEST = dt.date(1970, 1, 1), dt.date(2199, 12, 31)
MOST_DAYS = 366  # in one range
YEAR = 364  # days: the same weekday of the year before
ABOUT_A_YEAR = (330, 400)  # days


def _time(value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise ValueError("must be a time in quotes, such as '02:00': without them, YAML makes a number of 12:00")


def _date(value: dt.date) -> dt.date:
    if not EARLIEST <= value <= LATEST:
        raise ValueError(f"{value} is not from {EARLIEST} to {LATEST}")
    return value


Date = Annotated[dt.date, Field(strict=True), AfterValidator(_date)]
Time = Annotated[str, Field(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"), BeforeValidator(_time)]


class Dates(Declared):
    """Local dates of the feed. A date alone, such as 2026-11-27, is short for a range of one date."""

    first: Date
    last: Date  # included

    @model_validator(mode="before")
    @classmethod
    def _one(cls, value: Any) -> Any:
        if type(value) is dt.date:
            return {"first": value, "last": value}
        if not isinstance(value, dict | cls):
            raise ValueError("must be a date such as 2026-11-27, or a range: {first: 2026-12-21, last: 2026-12-24}")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not dt.timedelta(0) <= self.last - self.first < dt.timedelta(days=MOST_DAYS):
            raise ValueError(f"{self.first} to {self.last} is no range: last comes at most {MOST_DAYS - 1} days after first")
        return self

    @property
    def days(self) -> list[dt.date]:
        return [self.first + dt.timedelta(days=day) for day in range((self.last - self.first).days + 1)]


class Times(Declared):
    """Part of a local date of the feed, in hours and minutes of the clock there."""

    begin: Time
    end: Time  # excluded; '24:00' is the end of the date

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end <= self.begin:
            raise ValueError(f"end {self.end} is not after begin {self.begin}; past midnight, declare the next date's part too")
        return self


class Entry(Declaration):
    """Special days of feeds, or, with `times`, maintenance windows."""

    description: str
    feeds: Annotated[tuple[Name, ...], Field(min_length=1)]  # names of feeds
    dates: Annotated[tuple[Dates, ...], Field(min_length=1)]  # dates or ranges of dates
    times: Times | None = None  # a maintenance window on each of the dates; null: the dates are special days
    services: Pattern | None = None  # of a maintenance window; null: all services
    # What a special day is expected to be like: `sunday`, `weekday` (its own), or `itself`: no other day, so nothing is expected.
    # Null: what its past dates were like.
    like: Kind | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.times and self.like:
            raise ValueError("like is for special days, and times make maintenance windows: leave out one of them")
        if self.services and not self.times:
            raise ValueError("services is for maintenance windows: a special day is of all services; add times, or leave it out")
        return self

    @property
    def days(self) -> list[dt.date]:
        """Its dates, ascending, each once."""
        return sorted({day for dates in self.dates for day in dates.days})

    def year_before(self, day: dt.date) -> dt.date | None:
        """Of its dates, the one that is nearest to the same weekday a year before; None if it has none of about that time."""
        least, most = ABOUT_A_YEAR
        back = {(day - each).days: each for each in self.days if least <= (day - each).days <= most}
        return back[min(back, key=lambda days: abs(days - YEAR))] if back else None


class Window(NamedTuple):
    """A maintenance window. services: a regular expression that their whole names match. start, end: UTC; the end is excluded."""

    services: str
    start: dt.datetime
    end: dt.datetime


def windows(entries: Sequence[Entry], zone: dt.tzinfo) -> list[Window]:
    """The maintenance windows of these entries, each from the first time at which the clocks of the zone show its begin to the
    last time at which they show its end, by their start. So where clocks go back, both hours are in it. A time that clocks skip
    is the instant at which they do, so a window within the skipped hour is none."""
    found = []
    for entry, times in ((each, each.times) for each in entries if each.times):
        for day in entry.days:
            start = _instant(day, times.begin, zone, fold=0)
            if times.end == MIDNIGHT:
                end = _instant(day + dt.timedelta(days=1), "00:00", zone, fold=0)
            else:
                end = _instant(day, times.end, zone, fold=1)
            if start < end:
                found.append(Window(entry.services or EVERY_SERVICE, start, end))
    return sorted(found, key=lambda each: (each.start, each.end, each.services))


def load_calendar(folder: Path = CALENDAR, feeds: Mapping[str, object] | None = None) -> dict[str, Entry]:
    """Every entry by name; none without a folder. Raises DeclarationError listing all mistakes of all files.

    feeds: by name, those that there are; None: not known.
    """
    if not any(folder.glob("*.yaml")):
        return {}
    entries = load(folder, Entry)
    mistakes, taken = [], dict[tuple[str, dt.date], str]()
    for entry in entries.values():
        for name in dict.fromkeys(entry.feeds):
            if feeds is not None and name not in feeds:
                mistakes.append(f"{entry.name}.yaml: feeds: no feed {name!r}: one of {', '.join(feeds)}")
            for day in entry.days if not entry.times else []:
                other = taken.setdefault((name, day), entry.name)
                if other != entry.name:
                    mistakes.append(f"{entry.name}.yaml: dates: {day} is a special day of {name} by {other}.yaml already")
    if mistakes:
        raise DeclarationError("\n".join(mistakes))
    return entries


def _instant(day: dt.date, time: str, zone: dt.tzinfo, fold: int) -> dt.datetime:
    """When the clocks of the zone show that time of the day; of two, the one that `fold` says (0 or 1)."""
    wall = dt.datetime.combine(day, dt.time.fromisoformat(time), zone)
    first, second = (round(wall.replace(fold=each).timestamp()) for each in (0, 1))
    if first > second:  # The clocks skip it: they jump between these two, which are what is meant before and after.
        while first - second > 1:
            middle = (first + second) // 2
            same = _offset(middle, zone) == _offset(second, zone)
            first, second = (first, middle) if same else (middle, second)
        return dt.datetime.fromtimestamp(first, dt.UTC)
    return dt.datetime.fromtimestamp((first, second)[fold], dt.UTC)


def _offset(second: int, zone: dt.tzinfo) -> dt.timedelta | None:
    return dt.datetime.fromtimestamp(second, zone).utcoffset()
