"""How often somebody may do something. A guess at a token is hopeless, and shall not cost anything either."""

import time
from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 10_000  # at most
FAILED_LOGINS = 10, 60.0  # of one address, within so many seconds
ACTS = 60, 60.0  # of one user


class RateLimit:
    """At most so many times within so many seconds, for each address or user."""

    def __init__(self, most: int, within: float, clock: Callable[[], float] = time.monotonic):
        self._most, self._within, self._clock = most, within, clock
        self._times: OrderedDict[str, list[float]] = OrderedDict()  # the latest of each

    def wait(self, who: str) -> float:
        """Seconds until they may do it again; 0 if they may now."""
        times = self._times.get(who, [])
        return max(0.0, times[-self._most] + self._within - self._clock()) if len(times) >= self._most else 0.0

    def count(self, who: str) -> None:
        self._times[who] = [*self._times.pop(who, []), self._clock()][-self._most :]
        if len(self._times) > REMEMBERED:
            self._times.popitem(last=False)
