"""What kind of series a service has, found out from its own past: counts, other numbers from zero up, or numbers of both signs.

The detector works on square roots of what is never negative. Counts then have about the same noise at every level (Anscombe, "The
transformation of Poisson, binomial and negative-binomial data", 1948), and bytes, prices and milliseconds have shorter tails.
"""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.moments import Bools, Floats


class Kind(NamedTuple):
    """One entry per service. Nothing is taken back: a service that was negative once is never again seen as a root."""

    root: Bools  # no value below zero so far
    whole: Bools  # only whole numbers from zero up so far
    quantum: Floats  # smallest difference of successive values so far, in the detector's unit; infinite before the first
    last: Floats  # the last value in the detector's unit; NaN before the first


def new_kind(services: int) -> Kind:
    return Kind(np.ones(services, bool), np.ones(services, bool), np.full(services, np.inf), np.full(services, np.nan))


def looked_at(kind: Kind, values: Floats, present: Bools) -> tuple[Kind, Bools]:
    """(kind with these values seen, services that ceased to be roots by them)."""
    negative = present & (values < 0)
    whole = kind.whole & ~(negative | (present & (values != np.floor(values))))
    ceased = kind.root & negative
    last = np.where(ceased, np.square(kind.last), kind.last)
    return Kind(kind.root & ~negative, whole, np.where(ceased, np.inf, kind.quantum), last), ceased


def inward(kind: Kind, values: Floats) -> Floats:
    """Values in the detector's unit."""
    return np.where(kind.root, np.sqrt(np.abs(values)), values)


def outward(kind: Kind, inner: Floats) -> Floats:
    """Values in the unit of the readings."""
    return np.where(kind.root, np.square(np.maximum(inner, 0)), inner)


def remembered(kind: Kind, inner: Floats, present: Bools) -> Kind:
    """The kind after these readings (in the detector's unit)."""
    step = np.abs(inner - kind.last)
    smaller = present & (step > 1e-12) & (step < kind.quantum)
    return kind._replace(quantum=np.where(smaller, step, kind.quantum), last=np.where(present, inner, kind.last))
