"""The calendar of a feed: what type of day each date is, which dates make a baseline, and when readings count nothing."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from contracts.calendar_entries import Entry, Kind, Window, windows
from contracts.public_holidays import Holidays

DATES_PER_DAY_TYPE = 4
SUNDAY = 7
OWN = 0  # day type of a day that is like itself alone: no baseline has it
AHEAD = dt.timedelta(weeks=2)  # of a build: a baseline that old is in force at most


@dataclass(frozen=True)
class Calendar:
    """holidays: None for none. entries: of this feed. found: by evidence, what public holidays and special days are taken for of
    which no entry says what they are like."""

    zone: dt.tzinfo
    holidays: Holidays | None = None
    entries: tuple[Entry, ...] = ()
    found: Mapping[dt.date, Kind] = field(default_factory=dict)

    def special_days(self, first: dt.date, last: dt.date) -> dict[dt.date, Entry]:
        """Those in [first, last], ascending, each with what declares it."""
        found = {day: entry for entry in self.entries if not entry.times for day in entry.days if first <= day <= last}
        return dict(sorted(found.items()))

    def public_holidays(self, first: dt.date, last: dt.date) -> dict[dt.date, str]:
        """Those in [first, last] that are no special days, ascending, with their names."""
        special = self.special_days(first, last)
        names = self.holidays.names(first, last) if self.holidays else {}
        return {day: name for day, name in names.items() if day not in special}

    def declared(self, first: dt.date, last: dt.date) -> dict[dt.date, Kind | None]:
        """What the public holidays and the special days in [first, last] are declared to be like, ascending; None: nothing is
        declared. What is declared of a special day counts, if it is a public holiday too."""
        found: dict[dt.date, Kind | None] = dict.fromkeys(self.holidays.names(first, last) if self.holidays else (), "sunday")
        found |= {day: entry.like for day, entry in self.special_days(first, last).items()}
        return dict(sorted(found.items()))

    def taken_for(self, first: dt.date, last: dt.date) -> dict[dt.date, Kind]:
        """What readings of the public holidays and the special days in [first, last] are compared with, ascending: what an entry
        says, else what was found; else a Sunday for a public holiday, and its weekday for a special day."""
        special = self.special_days(first, last)
        said = {day: entry.like for day, entry in special.items() if entry.like}
        return {day: said.get(day) or self.found.get(day, like or "weekday") for day, like in self.declared(first, last).items()}

    def other_day_types(self, first: dt.date, last: dt.date) -> dict[dt.date, int]:
        """The day types of the public holidays and the special days in [first, last], ascending."""
        day_types = {"sunday": SUNDAY, "itself": OWN}
        return {day: day_types.get(kind, day.isoweekday()) for day, kind in self.taken_for(first, last).items()}

    def day_types(self, first: dt.date, last: dt.date) -> dict[dt.date, int]:
        """The day type of each date of [first, last], ascending: ISO day of week, 1 Monday to 7 Sunday, or OWN.
        For Spark: jobs/transforms/local_time.py."""
        others = self.other_day_types(first, last)
        days = (first + dt.timedelta(days=number) for number in range((last - first).days + 1))
        return {day: others.get(day, day.isoweekday()) for day in days}

    def day_type(self, day: dt.date) -> int:
        """As `day_types`."""
        return self.day_types(day, day)[day]

    def baseline_dates(self, as_of: dt.date) -> dict[int, list[dt.date]]:
        """By day type, the dates that a baseline as of that date is made from: the last four before it, ascending, but for
        special days. A public holiday is a Sunday, whatever was found: evidence sorts the dates of the robust normal alone."""
        dates: dict[int, list[dt.date]] = {day_type: [] for day_type in range(1, 8)}
        special = self.special_days(dt.date.min, as_of)
        # Four weeks to spare for weekdays that were holidays, and one more for each special day.
        first = as_of - dt.timedelta(weeks=DATES_PER_DAY_TYPE + 4 + len(special))
        day_types = replace(self, found={}).day_types(first, as_of - dt.timedelta(days=1))
        for day, day_type in reversed(day_types.items()):
            if day not in special and len(dates[day_type]) < DATES_PER_DAY_TYPE:
                dates[day_type].insert(0, day)
        return dates

    def newest_counting(self, as_of: dt.date) -> dt.date:
        """The last date before that one that is no special day."""
        special = self.special_days(dt.date.min, as_of)
        return next(day for day in _back(as_of) if day not in special)

    def year_before(self, day: dt.date) -> dt.date | None:
        """The date of the year before of the same special day or public holiday; None if none is known."""
        if entry := self.special_days(day, day).get(day):
            return entry.year_before(day)
        return self.holidays.year_before(day) if self.holidays else None

    def windows(self) -> list[Window]:
        """The maintenance windows, by their start."""
        return windows(self.entries, self.zone)


def _back(as_of: dt.date) -> Iterator[dt.date]:
    while True:
        as_of -= dt.timedelta(days=1)
        yield as_of
