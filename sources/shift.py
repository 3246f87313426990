"""Moves a capture in time by whole weeks of the feed's wall clock, so that every reading keeps its weekday and its time of day.

The wall clock counts, not the instant: a baseline is indexed by local time, and a capture of one summer that is moved across a
daylight-saving change would otherwise jump by an hour in the middle. On the two days that differ from all others:
- the hour that the target's clock skips has no place: its readings are left out;
- the hour that the target's clock repeats is played once, as its first pass, unless the capture has both passes there;
- a capture's own repeated hour: where the target's clock doesn't repeat it, the second pass has no place and is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sources.readings import Readings, batch, kept, milliseconds
from sources.wall_clock import first_pass, to_wall

WEEK = 7 * 86_400_000
DAY_AHEAD = 86_400_000


def weeks_to_now(last: int, now: int, zone: str) -> int:
    """The fewest whole weeks that bring a capture whose last reading is at `last` to `now` with at least one more day to play.

    So what lies before now is history without a gap, and what lies after it (one to eight days) can be played live.
    """
    wall = to_wall(np.array([last, now]), zone)
    return -int((wall[0] - wall[1] - DAY_AHEAD) // WEEK)


def weeks_of(first: int, last: int, zone: str) -> int:
    """How many whole weeks of the wall clock a capture covers, at least one: so far apart begin its repetitions."""
    wall = to_wall(np.array([first, last]), zone)
    return max(1, int((wall[1] - wall[0]) // WEEK))


@dataclass
class Shift:
    """A shift by whole weeks in a zone; counts the readings that have no place on the target's clock."""

    weeks: int
    zone: str
    left_out: int = 0

    def readings(self, readings: Readings) -> Iterator[pa.RecordBatch]:
        for each in readings:
            times, has_place = self.instants(milliseconds(each))
            self.left_out += int(np.count_nonzero(~has_place))
            yield kept(batch(each.column("ServiceName"), times, each.column("Value").to_numpy()), has_place)

    def instants(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(shifted epoch milliseconds, has a place) of epoch milliseconds."""
        wall = to_wall(times, self.zone)
        was_second = times != first_pass(wall, self.zone)[0]
        first, second, skipped = first_pass(wall + self.weeks * WEEK, self.zone)
        return np.where(was_second, second, first), ~skipped & ~(was_second & (first == second))
