"""Lasting changes: when most readings of half a day lie off to one side, that side is the new normal."""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.moments import Bools, Floats, Pace

SIDE_DAYS = 0.25  # memory of the side
FAR = 1.5  # scales from which a reading is off
MOST = 0.8  # mean side from which the level has shifted: reached when all readings of 0.4 days were off to one side


class Side(NamedTuple):
    """One entry per service. side: mean of -1, 0 and 1. off: mean error, in the detector's unit. Both begin at 0."""

    side: Floats
    off: Floats


def new_side(services: int) -> Side:
    return Side(np.zeros(services), np.zeros(services))


def leaned(side: Side, errors: Floats, sizes: Floats, known: Bools, present: Bools, pace: Pace) -> tuple[Side, Floats]:
    """(the side after these errors, by how much the level has shifted: 0 where it has not). sizes: errors in scales."""
    rate = np.where(present & known, pace.rate(SIDE_DAYS), 0.0)
    towards = np.where(np.abs(sizes) > FAR, np.sign(sizes), 0.0)
    now = Side(side.side + rate * (towards - side.side), side.off + rate * (errors - side.off))
    shifted = np.abs(now.side) > MOST
    return Side(np.where(shifted, 0, now.side), np.where(shifted, 0, now.off)), np.where(shifted, now.off / MOST, 0.0)
