"""What each simulated service normally does: its level, its day, its week, its growth. Everything follows from (seed, name)."""

import datetime as dt
import zlib
from dataclasses import dataclass

import numpy as np

NAMES = """
    checkout search catalog login payments cart profile orders recommendations inventory
    shipping reviews pricing notifications images sessions gateway invoices support returns
""".split()  # noqa: SIM905 (two lines, not twenty)
NIGHT = 3.0  # hours after midnight that still have something of the day before, and hours before it of the day after
GROWTH_DATE = dt.date(2026, 1, 1)  # the day on which growth is 1


def service_names(count: int) -> list[str]:
    """Names of a fleet; a larger fleet contains the smaller ones."""
    return [NAMES[number] if number < len(NAMES) else f"service-{number + 1:03d}" for number in range(count)]


def generator(seed: int, service: str, *more: int) -> np.random.Generator:
    """Randomness that belongs to a service (and a day), whatever else is simulated beside it."""
    return np.random.default_rng([seed, zlib.crc32(service.encode()), *more])


@dataclass(frozen=True)
class Service:
    """A service's normal traffic."""

    name: str
    per_second: float  # at the top of a weekday
    floor: float  # share of the top that is left at night
    peak: float  # hour of the main peak
    width: float  # how broad the day is; larger is narrower
    evening: float  # height of the second peak, in shares of the first
    saturday: float  # level of a Saturday and of a Sunday or holiday, in shares of a weekday's
    sunday: float
    growth: float  # per week
    unrest: float  # standard deviation of the level from one reading to the next, beside the Poisson noise

    @classmethod
    def drawn(cls, seed: int, name: str) -> "Service":
        random = generator(seed, name)
        return cls(
            name=name,
            per_second=float(np.exp(random.uniform(np.log(8), np.log(250)))),
            floor=random.uniform(0.15, 0.35),
            peak=random.uniform(10, 16),
            width=random.uniform(1.2, 2.2),
            evening=random.uniform(0.2, 0.8),
            saturday=random.uniform(0.7, 1.1),
            sunday=random.uniform(0.5, 0.95),
            growth=random.uniform(-0.002, 0.006),
            unrest=random.uniform(0.005, 0.02),
        )

    def mean(self, local_seconds: np.ndarray, day: dt.date, day_types: tuple[int, int, int], interval_seconds: int) -> np.ndarray:
        """Expected readings at local seconds of one day. day_types: of the day before, of the day, of the day after."""
        hours = local_seconds / 3600
        before, today, after = (self._shape(hours, each) for each in day_types)
        shape = today + _share(hours) * (before - today) + _share(24 - hours) * (after - today)
        grown = (1 + self.growth) ** (((day - GROWTH_DATE).days + hours / 24) / 7)
        return self.per_second * interval_seconds * grown * shape

    def _shape(self, hours: np.ndarray, day_type: int) -> np.ndarray:
        """A day's traffic, in shares of the top of a Wednesday."""
        later = 1.5 if day_type >= 6 else 0.0  # free days start late
        bump = _bump(hours, self.peak + later, self.width) + self.evening * _bump(hours, 20.5, 4 * self.width)
        week = {6: self.saturday, 7: self.sunday}.get(day_type, 1.0 + 0.02 * (3 - day_type))
        return week * (self.floor + (1 - self.floor) * bump)

    def readings(self, mean: np.ndarray, seed: int, day: dt.date) -> np.ndarray:
        """Overdispersed counts around a day's means: Poisson around a level that is itself gamma-distributed."""
        random = generator(seed, self.name, day.toordinal())
        shape = 1 / self.unrest**2
        return random.poisson(mean * random.gamma(shape, 1 / shape, len(mean)))


def _share(hours: np.ndarray) -> np.ndarray:
    """What the other day still has so many hours from midnight: half at midnight, nothing from NIGHT on. Traffic does not jump
    because a date begins."""
    return (1 + np.cos(np.pi * np.minimum(hours / NIGHT, 1))) / 4


def _bump(hours: np.ndarray, centre: float, width: float) -> np.ndarray:
    """A smooth hump of height 1 around an hour of the day, periodic over midnight."""
    return np.exp(width * (np.cos(2 * np.pi * (hours - centre) / 24) - 1))
