"""How often somebody may try a token: a guess at a token is hopeless, and shall not cost anything either."""

import time
from collections import OrderedDict
from collections.abc import Callable

MOST, WITHIN = 10, 60.0  # wrong tokens from one address, in so many seconds
ADDRESSES = 10_000  # that are remembered at most


class Attempts:
    """Of each address the times of its latest wrong tokens."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._failed: OrderedDict[str, list[float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until the address may try again; 0 if it may now."""
        failed = self._failed.get(address, [])
        return max(0.0, failed[-MOST] + WITHIN - self._clock()) if len(failed) >= MOST else 0.0

    def failed(self, address: str) -> None:
        self._failed[address] = [*self._failed.pop(address, []), self._clock()][-MOST:]
        if len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)
