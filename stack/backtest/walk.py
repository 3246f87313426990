"""A walk of the detector through the rows of a capture, in the order of time, each row judged by those before it only."""

import datetime as dt
from dataclasses import dataclass

import numpy as np

from jobs.transforms.detector import detector
from jobs.transforms.detector.moments import DAY, Moment, Pace
from stack.backtest.rows import Rows

FLAGS = ("alarm", "shifted", "stuck")


@dataclass(frozen=True)
class Steps:
    """The rows by interval: `rows[starts[i]:starts[i + 1]]` are of one interval, at most one of each service.

    A second reading of a service in one interval makes a step of its own, after the first.
    """

    rows: np.ndarray
    starts: np.ndarray

    def __iter__(self):
        for first, end in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield self.rows[first:end]


def steps_of(rows: Rows, interval: int) -> Steps:
    """Groups the rows by the intervals (of so many seconds) of their instants."""
    order = np.argsort(rows.instants, kind="stable")
    number = rows.instants[order] // (interval * 1000)
    services = rows.services[order]
    together = np.lexsort((np.arange(len(order)), services, number))
    same = np.zeros(len(order), bool)
    same[1:] = (np.diff(number[together]) == 0) & (np.diff(services[together]) == 0)
    begins = np.where(same, 0, np.arange(len(order)))
    repeat = np.empty(len(order), np.int64)
    repeat[together] = np.arange(len(order)) - np.maximum.accumulate(begins)
    by_step = np.lexsort((np.arange(len(order)), repeat, number))
    number, repeat = number[by_step], repeat[by_step]
    changes = np.flatnonzero((np.diff(number) != 0) | (np.diff(repeat) != 0)) + 1
    return Steps(order[by_step], np.concatenate([[0], changes, [len(order)]]))


def walked(rows: Rows, steps: Steps, interval: int, country: str | None, threshold: float) -> detector.Score:
    """The detector's score of each row, in the file's order: arrays of as many entries as there are rows."""
    pace, services = Pace(interval), len(rows.names)
    found = {name: np.zeros(len(rows.values), bool if name in FLAGS else float) for name in detector.Score._fields}
    seconds = rows.wall // 1000 // interval * interval
    weekday = (seconds // DAY + 3) % 7
    holiday = on_holiday(rows, country)
    state = detector.new_state(services, pace)
    for of_step in steps:
        first, who = of_step[0], rows.services[of_step]
        values = np.full(services, np.nan)
        values[who] = rows.values[of_step]
        time = float(rows.instants[first] // 1000 // interval * interval)
        moment = Moment(time, int(seconds[first] % DAY), int(weekday[first]), bool(holiday[first]))
        state, score = detector.advance(state, values, moment, pace, threshold)
        for name, column in found.items():
            column[of_step] = getattr(score, name)[who]
    return detector.Score(**found)


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
