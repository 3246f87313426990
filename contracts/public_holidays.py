"""The public holidays of a feed, by a calendar of the `holidays` library."""

import datetime as dt
from collections.abc import Mapping
from functools import lru_cache
from typing import Self

import holidays as holiday_calendars
from pydantic import model_validator

from contracts.declarations import Declared


class Holidays(Declared):
    """A calendar of the library, e.g. country US, subdivision MN."""

    country: str
    subdivision: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = holiday_calendars.list_supported_countries(include_aliases=True)
        if self.country not in known:
            raise ValueError(f"no holiday calendar for country {self.country!r}")
        if self.subdivision and self.subdivision not in known[self.country]:
            raise ValueError(f"no subdivision {self.subdivision!r} in {self.country}: one of {', '.join(known[self.country])}")
        return self

    def names(self, first: dt.date, last: dt.date) -> dict[dt.date, str]:
        """Those in [first, last], ascending, with their names."""
        known = _of_years(self.country, self.subdivision, first.year, last.year)
        return {day: name for day, name in known.items() if first <= day <= last}

    def year_before(self, day: dt.date) -> dt.date | None:
        """The date of the year before that had the name of this holiday; None if there was none, or if the day is no holiday."""
        name = self.names(day, day).get(day)
        first, last = day - dt.timedelta(days=400), day - dt.timedelta(days=330)  # movable feasts come up to five weeks apart
        return next((date for date, other in self.names(first, last).items() if other == name), None)


@lru_cache(maxsize=256)
def _of_years(country: str, subdivision: str | None, first: int, last: int) -> Mapping[dt.date, str]:
    """Ascending, with their names. Kept: the library takes half a millisecond, and each answer of serving needs them."""
    calendar = holiday_calendars.country_holidays(country, subdiv=subdivision, years=range(first, last + 1))
    return {day: calendar[day] for day in sorted(calendar)}
