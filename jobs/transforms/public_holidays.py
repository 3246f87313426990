"""Public holidays by country, outside Spark."""

import datetime as dt

import holidays
import numpy as np
import numpy.typing as npt

DAY_MS = 86_400_000
EPOCH = dt.date(1970, 1, 1)


def on_holiday(wall: npt.NDArray[np.int64], calendar: str | None) -> npt.NDArray[np.bool_]:
    """Whether the local date of each time is a public holiday.

    wall: milliseconds that the local clock shows, counted as if it were UTC. calendar: of the `holidays` library, a country
    (US) or a subdivision of it (US-MN); None for no holidays.
    """
    if calendar is None or not len(wall):
        return np.zeros(len(wall), bool)
    days, of_time = np.unique(wall // DAY_MS, return_inverse=True)
    dates = [EPOCH + dt.timedelta(days=int(day)) for day in days]
    country, _, subdivision = calendar.partition("-")
    known = holidays.country_holidays(country, subdiv=subdivision or None, years=range(dates[0].year, dates[-1].year + 1))
    return np.array([date in known for date in dates])[of_time]
