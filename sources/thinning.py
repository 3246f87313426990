"""Counts per minute to a fleet with a shorter interval: each minute's requests are dealt out, none is lost or invented.

Given its total, a minute of a Poisson stream that is split at random is multinomial. So the fleet has the noise of real services
of its size, and adding it up gives the capture back exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from contracts.feeds import Feed
from sources.readings import Readings, batch, milliseconds

MINUTE_MS = 60_000


class ThinningError(ValueError):
    """The capture or the feed doesn't suit thinning; the message says why."""


@dataclass(frozen=True)
class Thinning:
    """Deals each reading, a count per minute, out to `services` services. The same capture and seed give the same fleet."""

    feed: Feed
    services: int
    seed: int = 0

    def __post_init__(self):
        if self.services < 1:
            raise ThinningError(f"--thin {self.services}: a fleet has at least one service")
        if 60 % self.feed.interval_seconds:
            raise ThinningError(
                f"feed {self.feed.name} reports every {self.feed.interval_seconds} s, which does not divide a minute"
            )

    @property
    def per_minute(self) -> int:
        """Intervals in a minute."""
        return 60 // self.feed.interval_seconds

    @property
    def factor(self) -> int:
        """Readings that come of one."""
        return self.services * self.per_minute

    def readings(self, minutes: Readings) -> Iterator[pa.RecordBatch]:
        """Readings named <service>-01, -02, … in order of time, a service of the fleet without requests included as 0."""
        random = np.random.default_rng(self.seed)
        shares = np.sort(random.dirichlet(np.full(self.services, 3.0)))[::-1]
        chances = np.tile(shares / self.per_minute, self.per_minute)  # interval by interval, service by service
        steps = np.repeat(np.arange(self.per_minute) * self.feed.interval_seconds * 1000, self.services)
        for each in minutes:
            for start in range(0, each.num_rows, 1440):  # a day's rows at a time: a batch grows by the factor
                yield self._dealt(each.slice(start, 1440), random, chances, steps)

    def _dealt(self, minutes: pa.RecordBatch, random: np.random.Generator, chances: np.ndarray, steps: np.ndarray):
        times = milliseconds(minutes)
        if (times % MINUTE_MS).any():
            raise ThinningError("thinning needs counts per minute: the capture has a time that is not a whole minute")
        counts = random.multinomial(minutes.column("Value").to_numpy(), chances)
        names = [
            f"{service}-{number:02d}"
            for service in minutes.column("ServiceName").to_pylist()
            for _ in range(self.per_minute)
            for number in range(1, self.services + 1)
        ]
        return batch(names, (times[:, None] + steps).ravel(), counts.ravel())
