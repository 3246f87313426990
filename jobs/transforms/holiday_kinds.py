"""What kind of day a public holiday was, by evidence: was it like a Sunday, like its weekday, or like itself a year before?

A holiday's readings are compared with the past of each kind. Its unlikeness to a kind is how many times further it is from that
kind's dates than these are from each other: about 1 for one of them. Distances are between square roots, whose noise is about the
same at every level of a count, so that quiet and busy hours and services count alike. What is decided is of the whole feed: the
median of its services.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from jobs.transforms.normal import DATES, LEAST_DATES, date_weights, window_means

Floats = npt.NDArray[np.float64]
Kind = Literal["sunday", "weekday", "itself"]
KINDS: tuple[Kind, ...] = ("sunday", "weekday", "itself")

SUNDAY = 7
UNLIKE = 3.0  # unlikeness from which on a date is not of a kind
NEAR = 0.1  # unlikeness: what is below it is no nearer
CLEARLY = 1.5  # times: what is declared stands unless another kind fits better by so much
POISSON_ROOT = 0.4  # mean difference of the root of a Poisson count from its mean: sqrt(2 / pi) / 2
LEAST_SHARE = 0.5  # of the windows of a day: with fewer in common, two dates are not compared


def unlikeness(day: Floats, dates: Floats, windows: int) -> float:
    """Of one service: to a kind of day. NaN: not known, as there are fewer than two dates or too few readings.

    day: values by slot. dates: values of earlier dates of the kind, by date, oldest first, and slot. NaN: no reading.
    """
    expected, noise = _expected(dates, windows), _noise(dates, windows)
    count = max((~np.isnan(dates).all(axis=1)).sum(), 1)
    return _distance(window_means(day[None], windows)[0], expected) / (noise * float(np.sqrt(1 + 1 / count)))


def unlikeness_to_itself(day: Floats, year_before: Floats, weekdays: Floats, weekdays_before: Floats, windows: int) -> float:
    """Of one service: to the same holiday of the year before, which has since grown as its weekday has. NaN: not known.

    day, year_before: values by slot. weekdays, weekdays_before: values of the weekday's dates before each, by date and slot.
    """
    now, then = _expected(weekdays, windows), _expected(weekdays_before, windows)
    both = ~np.isnan(now) & ~np.isnan(then)
    if not then[both].sum() > 0:
        return float("nan")
    expected = window_means(year_before[None], windows)[0] * (now[both].sum() / then[both].sum())
    return _distance(window_means(day[None], windows)[0], expected) / (_noise(weekdays, windows) * 2**0.5)


def of_feed(services: Sequence[Mapping[Kind, float]]) -> dict[Kind, float]:
    """The unlikeness of a holiday to each kind: the median of the services. Kinds that no service knows are left out."""
    known: dict[Kind, list[float]] = {}
    for service in services:
        for kind, found in service.items():
            if not np.isnan(found):
                known.setdefault(kind, []).append(found)
    return {kind: float(np.median(found)) for kind, found in known.items()}


def was_like(unlike: Mapping[Kind, float], declared: Kind = "sunday") -> Kind | None:
    """The kind whose average a past holiday belongs to; None if it was unlike every kind: then it belongs to none.

    unlike: as of `of_feed`. As declared, unless another kind fits clearly better; also if nothing is known.
    """
    best = _best(unlike, declared)
    return best if unlike.get(best, 0.0) < UNLIKE else None


def next_like(past: Sequence[Mapping[Kind, float]], declared: Kind = "sunday") -> Kind:
    """What the next one is to be taken for. past: the unlikeness of its last occurrences, oldest first, as of `of_feed`.

    Each occurrence counts half as much as the next one. What fits them best, else as declared. A holiday that was unlike all that
    it could be compared with is like itself.
    """
    means: dict[Kind, float] = {}
    for kind in KINDS:
        found = [(0.5**age, np.log(max(unlike[kind], NEAR))) for age, unlike in enumerate(reversed(past)) if kind in unlike]
        if found:
            weights, logs = zip(*found, strict=True)
            means[kind] = float(np.exp(np.average(logs, weights=weights)))
    best = _best(means, declared)
    return "itself" if "itself" not in means and means.get(best, 0.0) >= UNLIKE else best


def dates_of_kinds(as_of: dt.date, holidays: Mapping[dt.date, Kind | None], count: int = DATES) -> dict[int, list[dt.date]]:
    """By day type (1 Monday to 7 Sunday), its last dates before that date, ascending, as many as that.

    holidays: what each was like; of the kinds only `sunday` and `weekday` have an average, so all others are left out.
    """
    found: dict[int, list[dt.date]] = {day_type: [] for day_type in range(1, 8)}
    for back in range(1, 7 * (count + 4) + 1):  # four weeks to spare for weekdays that were holidays
        day = as_of - dt.timedelta(days=back)
        kind = holidays.get(day, "weekday")
        day_type = SUNDAY if kind == "sunday" else day.isoweekday()
        if kind in ("sunday", "weekday") and len(found[day_type]) < count:
            found[day_type].insert(0, day)
    return found


def _best(unlike: Mapping[Kind, float], declared: Kind) -> Kind:
    if not unlike:
        return declared
    best = min(unlike, key=lambda kind: unlike[kind])
    stands = declared in unlike and unlike[declared] <= CLEARLY * unlike[best]
    return declared if stands else best


def _expected(dates: Floats, windows: int) -> Floats:
    """By window, the mean of the dates, as far as they count in the robust normal; NaN with fewer than two."""
    weights, means = date_weights(dates, windows), window_means(dates, windows)
    total = np.where((weights > 0).sum(0) < LEAST_DATES, np.nan, weights.sum(0))
    expected: Floats = (weights * np.nan_to_num(means)).sum(0) / total
    return expected


def _noise(dates: Floats, windows: int) -> float:
    """How far a date is from the kind that it is of, were that known without error: the median of the dates."""
    expected, means = _expected(dates, windows), window_means(dates, windows)
    distances = np.array([_distance(each, expected) for each in means])
    distances = distances[~np.isnan(distances)]
    if len(distances) < LEAST_DATES:
        return float("nan")
    found = np.median(distances) * np.sqrt(len(distances) / (len(distances) - 1))
    return float(max(found, POISSON_ROOT / np.sqrt(dates.shape[1] / windows)))


def _distance(means: Floats, expected: Floats) -> float:
    """The mean difference of the roots, over the windows that both have; NaN if these are too few."""
    off = np.abs(np.sqrt(means) - np.sqrt(expected))
    return float(np.nanmean(off)) if (~np.isnan(off)).mean() >= LEAST_SHARE else float("nan")
