"""Wall-clock times and instants, vectorised, with a defined answer for the hour that daylight saving skips or repeats.

- A wall-clock time in the skipped hour never was: it maps to no instant and is marked.
- A wall-clock time in the repeated hour is its first pass, until its service's times step back within that hour: from there on it
  is the second pass. Equal times are a correction of one reading and don't step back, with one exception: if the interval is as
  long as the repeated hour, each pass has one reading, so equal times with different values are the two passes.

Arrow knows the changes of the clocks until 2037; it takes later years as without daylight saving.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WALL = pa.timestamp("ms")
INSTANT = pa.timestamp("ms", tz="UTC")


def to_wall(instants: np.ndarray, zone: str) -> np.ndarray:
    """Epoch milliseconds to wall-clock milliseconds (what the clock shows, counted as if it were UTC)."""
    times = pa.array(instants, pa.int64()).cast(INSTANT).cast(pa.timestamp("ms", tz=zone))
    return pc.local_timestamp(times).cast(pa.int64()).to_numpy()


def first_pass(wall: np.ndarray, zone: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wall-clock milliseconds to (instants, second-pass instants, skipped): the two differ in the repeated hour only."""
    times = pa.array(wall, pa.int64()).cast(WALL)

    def instants(ambiguous: str, nonexistent: str) -> np.ndarray:
        zoned = pc.assume_timezone(times, zone, ambiguous=ambiguous, nonexistent=nonexistent)
        return zoned.cast(pa.int64()).to_numpy()

    first = instants("earliest", "earliest")
    return first, instants("latest", "earliest"), first != instants("earliest", "latest")


class WallClock:
    """Reads wall-clock times of a capture in file order; remembers each service's pass of the repeated hour.

    interval_seconds: of the readings; None while it is not known.
    """

    def __init__(self, zone: str, interval_seconds: int | None = None):
        self.zone = zone
        self._interval = interval_seconds and 1000 * interval_seconds
        # service: (its last time in a repeated hour, its value, in the second pass?)
        self._last: dict[str, tuple[int, float, bool]] = {}

    def instants(self, wall: np.ndarray, services: pa.Array, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(epoch milliseconds, skipped) of wall-clock milliseconds; where skipped the instant means nothing."""
        first, second, skipped = first_pass(wall, self.zone)
        found = first.copy()
        for row in np.flatnonzero(first != second):
            service, time, value = services[int(row)].as_py(), int(wall[row]), values[row]
            last, before, later = self._last.get(service, (time, value, False))
            another_change = abs(time - last) > 86_400_000
            other = time == last and value != before and second[row] - first[row] == self._interval
            later = not another_change and (later or time < last or other)
            self._last[service] = (time, value, later)
            if later:
                found[row] = second[row]
        return found, skipped
