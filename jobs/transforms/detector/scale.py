"""How large an error is usual for a service: slow, clipped, and never below what its kind of numbers allows."""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.kind import Kind
from jobs.transforms.detector.moments import Bools, Floats, Pace, average

SCALE_DAYS = 7.0  # memory of the scale: an incident of hours barely widens it
CLIP = 4.0  # scales beyond which an error teaches no more than one of so many
YOUNG = 12  # readings of a new service, whose errors are not clipped
FROM_MEAN = 1.2533  # standard deviation by mean absolute error of a normal distribution: sqrt(pi / 2)
POISSON = 0.5  # standard deviation of the square root of a Poisson count (Anscombe, 1948)
UNDERDISPERSED = 0.3  # whole numbers whose square roots vary less are no counts: speeds, percentages
QUANTUM_SHARE, SPREAD_SHARE = 0.5, 0.05  # of the smallest step, and of the series' own standard deviation


class Scale(NamedTuple):
    """One entry per service, all in the detector's unit."""

    error: Floats  # the usual error of a reading, as a standard deviation
    spell: Floats  # the usual mean error of a spell, likewise
    change: Floats  # the usual change from spell to spell, likewise
    mean: Floats  # of the values
    square: Floats  # of the values, its mean


def new_scale(services: int) -> Scale:
    return Scale(*np.zeros((5, services)))


class Usual(NamedTuple):
    """One entry per service: the scales to measure by, as of Scale."""

    error: Floats
    spell: Floats
    change: Floats


def usual(scale: Scale, kind: Kind, seen: Floats, pace: Pace) -> Usual:
    """What is usual: no less than 1/20 of the values' spread; for a reading, no less than half the smallest step of the values
    and, of a service that counts, Poisson's; for a spell, no less than these over the square root of its readings."""
    spread = np.sqrt(np.maximum(scale.square - np.square(scale.mean), 0))
    quantum = np.where(np.isfinite(kind.quantum), kind.quantum, 0)
    floor = np.maximum(SPREAD_SHARE * spread, 1e-6 * np.abs(scale.mean) + 1e-9)
    noise = np.maximum(QUANTUM_SHARE * quantum, np.where(counts(scale, kind, seen), POISSON, 0.0))
    of_spell = np.maximum(floor, noise / np.sqrt(pace.spell))
    of_reading = np.maximum(floor, noise)
    return Usual(*map(np.maximum, scale[:3], (of_reading, of_spell, of_spell)))


def counts(scale: Scale, kind: Kind, seen: Floats) -> Bools:
    """Who counts: whole numbers that vary at least about as much as Poisson's do."""
    return kind.whole & ((scale.error > UNDERDISPERSED) | (seen < 2 * YOUNG))


def clipped(errors: Floats, scales: Floats, seen: Floats) -> Floats:
    """Errors of shape (services,) or (services, models), at most CLIP scales from zero; those of a young service as they are."""
    limit = np.where(seen < YOUNG, np.inf, CLIP * scales)
    return np.maximum(np.minimum(errors.T, limit), -limit).T


def widened(scale: Scale, values: Floats, lessons: Usual, seen: Floats, present: Bools, pace: Pace) -> Scale:
    """The scale after these values. lessons: the clipped errors of the readings and of the spells, and the clipped changes."""
    new = np.array([*(FROM_MEAN * np.abs(each) for each in lessons), values, np.square(values)])
    return Scale(*average(np.array(scale), new, seen, pace.rate(SCALE_DAYS), present))


def squared(scale: Scale, level: Floats, who: Bools) -> Scale:
    """The same scale in the unit of the readings, for services whose square roots no longer do: e becomes 2 * level * e."""
    factor = np.where(who, 2 * np.abs(level), 1.0)
    spread = np.maximum(scale.square - np.square(scale.mean), 0) * np.square(factor)
    mean = np.where(who, scale.square, scale.mean)
    error, spell, change = (factor * each for each in scale[:3])
    return Scale(error, spell, change, mean, np.where(who, np.square(mean) + spread, scale.square))
