"""How often readings come, by the steps between the times of each service."""

from dataclasses import dataclass

import numpy as np

DAY = 86_400
FREQUENT, MULTIPLES = 0.5, 0.9  # least shares of all steps: of the most frequent step, and of its multiples, which are gaps
UNITS = {"d": DAY, "h": 3600, "m": 60, "s": 1}
SHOWN = 3


@dataclass(frozen=True)
class Pace:
    """steps: the most frequent ones in milliseconds with their shares, the most frequent first; none where no service has two
    times. even: whether the first is the interval of readings that may have gaps."""

    steps: list[tuple[int, float]]
    even: bool

    @property
    def interval_seconds(self) -> int | None:
        """Null where there is no interval that a feed can have: whole seconds that divide a day."""
        if not self.even or not self.steps or self.steps[0][0] % 1000 or DAY % (self.steps[0][0] // 1000):
            return None
        return self.steps[0][0] // 1000

    def shown(self) -> str:
        return ", ".join(f"{span(step / 1000)} ({share:.0%})" for step, share in self.steps[:SHOWN])


def pace(services: np.ndarray, instants: np.ndarray) -> Pace:
    """services: which one, int64. instants: epoch milliseconds, int64, in any order; equal ones of a service count once."""
    order = np.lexsort((instants, services))
    steps = np.diff(instants[order])[np.diff(services[order]) == 0]
    steps = steps[steps > 0]
    if not len(steps):
        return Pace([], False)
    found, counts = np.unique(steps, return_counts=True)
    frequent = np.lexsort((found, -counts))
    shares = [(int(found[each]), int(counts[each]) / len(steps)) for each in frequent[:SHOWN]]
    multiples = np.count_nonzero(steps % shares[0][0] == 0) / len(steps)
    return Pace(shares, bool(shares[0][1] >= FREQUENT and multiples >= MULTIPLES))


def span(seconds: float) -> str:
    """'10m': as the options take it, in the greatest unit that counts it whole; a fraction in seconds."""
    unit = next((unit for unit, length in UNITS.items() if seconds and seconds % length == 0), None)
    return f"{round(seconds / UNITS[unit])}{unit}" if unit else f"{seconds:g}s"
