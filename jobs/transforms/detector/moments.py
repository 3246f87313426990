"""When an interval is, and how fast the detector forgets at that interval."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

DAY = 86_400
WIDEST_SLOT = 48  # slots of a day at most: half an hour each, or the interval if it is longer
SPELL = 300  # seconds whose readings are judged together


@dataclass(frozen=True)
class Pace:
    """The interval of the readings, in seconds."""

    interval: int

    @cached_property
    def per_day(self) -> float:
        """Readings of one service in a day."""
        return DAY / self.interval

    @cached_property
    def slots(self) -> int:
        """Slots of a day in a season."""
        return max(1, min(WIDEST_SLOT, round(self.per_day)))

    @cached_property
    def spell(self) -> int:
        """Readings that are judged together: those of five minutes, or one if the interval is longer."""
        return max(1, round(SPELL / self.interval))

    def rate(self, days: float) -> float:
        """The weight of a new reading in an average with a memory of so many days."""
        return min(1.0, 1 / (days * self.per_day))


@dataclass(frozen=True)
class Moment:
    """The interval's start on the local clock, for all services at once or with one entry each.

    time: epoch seconds. second: of the local day. weekday: 0 Monday to 6 Sunday. holiday: whether a public holiday.
    """

    time: Any
    second: Any
    weekday: Any
    holiday: Any


def average(old: Floats, new: Floats, seen: Floats, rate: float, present: Bools) -> Floats:
    """The plain mean at first, then the exponential one: old + max(1 / (seen + 1), rate) * (new - old), where present."""
    return np.where(present, old + np.maximum(1 / (seen + 1), rate) * (new - old), old)
