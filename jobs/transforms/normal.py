"""The robust normal of a kind of day: by slot the level of its readings, and the scale of what a next one may differ from it.

It is made from up to twelve dates, of which the newer ones count more. A date that is unlike the others for some hours, for
example in an outage, counts nothing in those hours. Neighbouring slots are pooled, so few dates suffice; a slot that differs from
its neighbours on every date keeps its own level.

Everything is computed from one array of values by date and slot. That array is the same for any order and any cut of the rows,
because its sums are of whole numbers. So is the result, bit for bit.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.transforms import baseline
from jobs.transforms.baseline import MAD_TO_SIGMA
from jobs.transforms.weighted_median import weighted_median

Floats = npt.NDArray[np.float64]
Days = npt.NDArray[np.int32]

DATES = 12  # of a kind of day at most
LEAST_DATES = 2
HALVED_AFTER = 3.0  # dates: a lasting change is the normal after four, an odd pair of dates is not
FEW = 4  # dates: below it one could weigh more than half, so for medians they all count the same
FAR = 4.685  # dispersions: from there on a date counts nothing; 95 % efficient where all is normal (Tukey's biweight)
MEDIAN_ERROR = 1.2533  # standard error of a median, in that of a mean, of normal values: sqrt(pi / 2)
OWN = 3.0  # standard errors: a slot's difference from its neighbours that is no larger may be chance


class Normal(NamedTuple):
    """By slot, in the unit of the values; NaN where fewer than two dates count.

    level: what the next date's reading should be. scale: standard deviation of that reading's difference from the level. At least
    the square root of the level, as of a Poisson process, and at least 1.
    """

    level: Floats
    scale: Floats


def by_date(runs: pa.Table, slots: int) -> tuple[Days, Floats]:
    """From the runs (baseline.RUNS) of one service: its dates (days since 1970) ascending, and its values by date and slot.

    NaN where there is no reading. Two readings of a slot on one date, when clocks go back, are their mean.
    """
    slot, value, dates_of_runs, lengths = baseline.unpacked(runs)
    dates, of_run = np.unique(dates_of_runs, return_inverse=True)
    cell = np.repeat(of_run, lengths) * slots + slot
    count = np.bincount(cell, minlength=len(dates) * slots)
    total = np.bincount(cell, weights=value, minlength=len(dates) * slots)
    values = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return dates, values.reshape(len(dates), slots)


def normal(values: Floats, windows: int) -> Normal:
    """values: by date, oldest first, and slot; NaN where there is no reading or it does not count. windows: in a day; slots of
    one window are neighbours. Raises ValueError for more than DATES dates, or if the windows do not divide the slots."""
    dates, slots = values.shape
    if dates > DATES:
        raise ValueError(f"{dates} dates: the normal is made from the last {DATES} at most")
    if slots % windows:
        raise ValueError(f"{windows} windows do not divide {slots} slots")
    if dates < LEAST_DATES:
        return Normal(np.full(slots, np.nan), np.full(slots, np.nan))
    of_window = date_weights(values, windows)
    weights = np.where(np.isnan(values), 0.0, np.repeat(of_window, slots // windows, axis=1))
    kept = np.where(weights > 0, values, np.nan)
    level = _level(kept, weights, windows)
    unit = np.sqrt(np.maximum(level, 1.0))
    strays = _strays((kept - level) / unit, weights, of_window)
    scale = np.repeat(np.maximum(strays, 1.0), slots // windows) * unit
    return Normal(np.where(np.isnan(scale), np.nan, level), scale)


def window_means(values: Floats, windows: int) -> Floats:
    """By date and window, the mean of the values that are there; NaN where none is. values: by date and slot."""
    cut = values.reshape(len(values), windows, values.shape[1] // windows)
    here = ~np.isnan(cut)
    count = here.sum(-1)
    means: Floats = np.divide(np.where(here, cut, 0.0).sum(-1), count, out=np.full(count.shape, np.nan), where=count > 0)
    return means


def date_weights(values: Floats, windows: int) -> Floats:
    """How much each date counts, by date and window of the day: less for each newer date there is, and the less the further its
    mean in that window is from the others'; zero from FAR dispersions on, or without a reading.

    The dispersion is that of the dates' means: at least that of a Poisson process, and at least what is typical of the day.
    """
    means = window_means(values, windows)
    here = ~np.isnan(means)
    newer = np.cumsum(here[::-1], axis=0)[::-1] - here
    weights = np.where(here, 0.5 ** (newer / HALVED_AFTER), 0.0)
    fair = _fair(weights).T
    middle = weighted_median(means.T, fair)
    off = np.abs(means - middle)
    count = np.maximum(here.sum(0), LEAST_DATES)
    unit = np.sqrt(np.maximum(middle, 1.0))
    dispersion = MAD_TO_SIGMA * weighted_median(off.T, fair) * np.sqrt(count / (count - 1)) / unit
    typical = weighted_median(dispersion, (~np.isnan(dispersion)).astype(float))
    least = np.sqrt(windows / values.shape[1])  # of the mean of a window's slots
    far = FAR * unit * np.fmax(np.fmax(dispersion, typical), least)
    nearness = np.clip(1 - (off / far) ** 2, 0.0, 1.0) ** 2
    return np.where(here, weights * nearness, 0.0)


def _level(kept: Floats, weights: Floats, windows: int) -> Floats:
    """The weighted mean of all that counts among a slot's neighbours, and what the slot has of its own."""
    width = kept.shape[1] // windows
    here = ~np.isnan(kept)
    values = np.where(here, kept, 0.0)
    count = _around(here.astype(float), width)
    smooth = np.divide(_around(values, width), count, out=np.full(kept.shape, np.nan), where=count > 0)
    # A date whose neighbourhood is cut by an hour that does not count weighs as much as is left of it.
    share = _around(weights, width)
    total = share.sum(0)
    level: Floats = np.divide(
        np.where(share > 0, share * np.nan_to_num(smooth), 0.0).sum(0), total, out=np.full(len(total), np.nan), where=total > 0
    )
    level[(share > 0).sum(0) < LEAST_DATES] = np.nan
    if width > 1:
        level = np.maximum(level + _own(kept - smooth, weights, windows), 0.0)
    return level


def _strays(off: Floats, weights: Floats, of_window: Floats) -> Floats:
    """By window, the standard deviation of what the next date's readings are off, in units of the square root of the level.

    off, weights: by date and slot; of_window: the weights by date and window. The greater of two: the robust one of the readings,
    and that of the dates as a whole, whose few values a median judges badly. From readings that the level was made from to those
    that it was not, both grow: of n dates, from sqrt(1 - 1/n) to sqrt(1 + 1/n).
    """
    windows = of_window.shape[1]
    readings = MAD_TO_SIGMA * _of_windows(np.abs(off), weights, windows)
    total = of_window.sum(0)
    dates = np.where(of_window > 0, window_means(off, windows), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = (of_window * dates).sum(0) / total
        of_dates = np.sqrt((of_window * (dates - middle) ** 2).sum(0) / total)
        count = total**2 / (of_window**2).sum(0)  # of equal dates that would be worth as much (Kish)
        growth = np.sqrt((count + 1) / (count - 1))
    return np.where((of_window > 0).sum(0) >= LEAST_DATES, np.maximum(readings, of_dates) * growth, np.nan)


def _own(rest: Floats, weights: Floats, windows: int) -> Floats:
    """By slot, its difference from its neighbours as far as the dates agree on it. rest: by date and slot, the value's difference
    from the mean of its neighbourhood on that date.

    The median of the dates, shrunk: nothing is left of what is within OWN standard errors, and nearly all of what is far beyond.
    """
    fair = _fair(weights)
    found = weighted_median(rest.T, fair.T)
    dates = (fair > 0).sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        count = fair.sum(0) ** 2 / (fair**2).sum(0)
        strays = np.abs(rest - found) * np.sqrt(dates / (dates - 1))
        stray = np.repeat(MAD_TO_SIGMA * _of_windows(strays, weights, windows), rest.shape[1] // windows)
        chance = (OWN * MEDIAN_ERROR * stray) ** 2 / count / found**2
    left = np.where(chance < 1, found * (1 - np.minimum(chance, 1.0)), 0.0)
    return np.where(dates < LEAST_DATES, 0.0, left)


def _fair(weights: Floats) -> Floats:
    """Weights for a median by date (first axis): all the same where there are few, so that one alone never decides."""
    here = weights > 0
    return np.where(here.sum(0) < FEW, here.astype(float), weights)


def _around(numbers: Floats, width: int) -> Floats:
    """By row, the sum of each cell's neighbourhood: so many cells (one more, if that is even), fewer at the ends of the day."""
    reach, cells = width // 2, numbers.shape[1]
    ends = np.concatenate([np.zeros((len(numbers), 1)), np.cumsum(numbers, axis=1)], axis=1)
    at = np.arange(cells)
    sums: Floats = ends[:, np.minimum(at + reach + 1, cells)] - ends[:, np.maximum(at - reach, 0)]
    return sums


def _of_windows(numbers: Floats, weights: Floats, windows: int) -> Floats:
    """By window, the weighted median of all its cells of all dates. Both by date and slot; a NaN counts nothing."""
    pooled = [
        each.reshape(len(each), windows, -1).transpose(1, 0, 2).reshape(windows, -1)
        for each in (numbers, np.where(np.isnan(numbers), 0.0, weights))
    ]
    return weighted_median(*pooled)
