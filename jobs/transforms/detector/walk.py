"""The walk: readings of many services in the order of time, each judged by those before it only.

A backtest walks through a file, the nightly job through a day of history, the stream through what has come.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jobs.transforms.detector import alarms, detector
from jobs.transforms.detector.moments import DAY, Bools, Floats, Ints, Moment, Pace

FLAGS = ("alarm", "shifted", "stuck")  # of a score's columns, those that are true or false


class Readings(NamedTuple):
    """One entry per reading, in any order.

    service: a number from 0 on. at: its start in epoch milliseconds. wall: the milliseconds that the local clock shows, counted
    as if it were UTC. holiday: whether the local date is a public holiday. value: NaN if there is none.
    """

    service: Ints
    at: Ints
    wall: Ints
    holiday: Bools
    value: Floats

    def only(self, rows: Ints | Bools) -> "Readings":
        return Readings(self.service[rows], self.at[rows], self.wall[rows], self.holiday[rows], self.value[rows])


class Steps(NamedTuple):
    """The readings by interval: `order[starts[i]:starts[i + 1]]` are of one interval, at most one of each service.

    A second reading of a service in one interval makes a step of its own, after the first.
    """

    order: Ints
    starts: Ints

    def each(self) -> Iterator[Ints]:
        for first, end in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield self.order[first:end]


def steps_of(readings: Readings, pace: Pace) -> Steps:
    """Groups the readings by interval, in the order of time."""
    order = np.argsort(readings.at, kind="stable")
    number = readings.at[order] // (pace.interval * 1000)
    services = readings.service[order]
    new = np.diff(number) > 0
    if (new | (np.diff(services) > 0)).all():  # as a table has them: by interval and service, each once
        return Steps(order, np.concatenate([[0], np.flatnonzero(new) + 1, [len(order)]]))
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


def walked(
    state: detector.State, readings: Readings, pace: Pace, threshold: float | Floats = alarms.THRESHOLD
) -> tuple[detector.State, detector.Score]:
    """(state afterwards, score of each reading in the order given). The state that was given is used up.

    threshold: of all services, or one entry each.
    """
    services, many = len(state.kind.last), len(readings.value)
    found = [np.zeros(many, bool if name in FLAGS else float) for name in detector.Score._fields]
    if not many:
        return state, detector.Score(*found)
    steps = steps_of(readings, pace)
    service, value = readings.service[steps.order], readings.value[steps.order]
    firsts = steps.order[steps.starts[:-1]]
    seconds = readings.wall[firsts] // 1000 // pace.interval * pace.interval
    times = (readings.at[firsts] // 1000 // pace.interval * pace.interval).astype(float)
    clock = (times, seconds % DAY, (seconds // DAY + 3) % 7, readings.holiday[firsts])
    spans = zip(steps.starts[:-1].tolist(), steps.starts[1:].tolist(), strict=True)
    for (first, end), moment in zip(spans, map(Moment, *(each.tolist() for each in clock)), strict=True):
        who = service[first:end]
        values = np.full(services, np.nan)
        values[who] = value[first:end]
        state, score = detector.advance(state, values, moment, pace, threshold)
        for column, of_services in zip(found, score, strict=True):
            column[first:end] = of_services[who]
    return state, detector.Score(*(_placed(column, steps.order) for column in found))


def _placed(column: Any, order: Ints) -> Any:
    """What is in the order of the steps, in the order of the readings."""
    placed = np.empty_like(column)
    placed[order] = column
    return placed
