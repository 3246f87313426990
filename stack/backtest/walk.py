"""The detector's walk through the rows of a capture, and the incidents that it finds."""

import datetime as dt

import numpy as np

from jobs.transforms.detector.detector import Score, new_state
from jobs.transforms.detector.incidents import default_rules, followed
from jobs.transforms.detector.moments import DAY, Pace
from jobs.transforms.detector.walk import Readings, walked
from stack.backtest.rows import Rows


def judged(rows: Rows, interval: int, country: str | None, threshold: float) -> tuple[Score, np.ndarray]:
    """(the detector's score of each row, onset of the incident of each row in epoch milliseconds or NO_INCIDENT), both in the
    file's order."""
    pace = Pace(interval)
    readings = Readings(rows.services, rows.instants, rows.wall, on_holiday(rows, country), rows.values)
    _, score = walked(new_state(len(rows.names), pace), readings, pace, threshold)
    rules = default_rules(len(rows.names))
    rules.score[:] = threshold
    return score, followed({}, rows.names, readings, score, rules)[2]


def on_holiday(rows: Rows, country: str | None) -> np.ndarray:
    """Whether the local date of each row is a public holiday of that country."""
    seconds = rows.wall // 1000
    if country is None:
        return np.zeros(len(seconds), bool)
    import holidays  # only with --holidays, for it takes a while to load

    days, of_row = np.unique(seconds // DAY, return_inverse=True)
    dates = [dt.date(1970, 1, 1) + dt.timedelta(days=int(day)) for day in days]
    name, _, part = country.partition("-")
    calendar = holidays.country_holidays(name, subdiv=part or None, years=range(dates[0].year, dates[-1].year + 1))
    return np.array([date in calendar for date in dates])[of_row]
