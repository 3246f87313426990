"""The plain rule beside the detector: how far a reading is from the mean of the last four dates of its kind of day."""

from collections import deque

import numpy as np

from stack.backtest.rows import Rows

DATES = 4  # of a kind of day, at most; fewer than two make no average
FEWEST = 2
PERCENT = 5.0
DAY = 86_400
SUNDAY = 6


def last_four_average(rows: Rows, interval: int, holiday: np.ndarray) -> np.ndarray:
    """Of each row, the mean of its service's readings in its slot on the last four dates of its kind of day; NaN with only one.

    A public holiday is a Sunday. A date counts from the next date on, as a baseline is computed at night.
    """
    seconds = rows.wall // 1000
    dates, slots = seconds // DAY, seconds % DAY // interval
    kinds = np.where(holiday, SUNDAY, (dates + 3) % 7)
    found = np.full(len(seconds), np.nan)
    known: dict[tuple[int, int, int], deque[tuple[int, float, int]]] = {}  # of a service, kind and slot: date, sum, readings
    columns = (rows.services, kinds, slots, dates, rows.values)
    order = np.argsort(rows.instants, kind="stable").tolist()
    for row, service, kind, slot, date, value in zip(order, *(each[order].tolist() for each in columns), strict=True):
        past = known.setdefault((service, kind, slot), deque(maxlen=DATES + 1))
        earlier = [each for each in past if each[0] < date][-DATES:]
        if len(earlier) >= FEWEST:
            found[row] = sum(each[1] for each in earlier) / sum(each[2] for each in earlier)
        if value == value:
            if past and past[-1][0] == date:
                past[-1] = (date, past[-1][1] + value, past[-1][2] + 1)
            else:
                past.append((date, value, 1))
    return found


def plain_anomalies(values: np.ndarray, average: np.ndarray) -> np.ndarray:
    """Where abs(100 * value / average - 100) > 5; where the average is zero, any other value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.abs(100 * values / average - 100) > PERCENT
    return np.where(average == 0, values != 0, beyond) & np.isfinite(values) & np.isfinite(average)
