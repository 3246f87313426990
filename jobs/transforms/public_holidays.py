"""Public holidays by country and special days, outside Spark."""

import datetime as dt
from collections.abc import Container, Mapping

import holidays
import numpy as np
import numpy.typing as npt

DAY_MS = 86_400_000
EPOCH = dt.date(1970, 1, 1)


def on_holiday(wall: npt.NDArray[np.int64], calendar: str | None, special: Mapping[dt.date, bool]) -> npt.NDArray[np.bool_]:
    """Whether the local date of each time counts as a public holiday.

    wall: milliseconds that the local clock shows, counted as if it were UTC. calendar: of the `holidays` library, a country
    (US) or a subdivision of it (US-MN); None for no holidays. special: of special days, whether they count as
    one, whatever the calendar says.
    """
    if not len(wall) or (calendar is None and not special):
        return np.zeros(len(wall), bool)
    days, of_time = np.unique(wall // DAY_MS, return_inverse=True)
    dates = [EPOCH + dt.timedelta(days=int(day)) for day in days]
    known: Container[dt.date] = ()
    if calendar:
        country, _, subdivision = calendar.partition("-")
        known = holidays.country_holidays(country, subdiv=subdivision or None, years=range(dates[0].year, dates[-1].year + 1))
    return np.array([special.get(date, date in known) for date in dates])[of_time]
