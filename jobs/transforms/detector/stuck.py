"""Values that stay exactly the same for longer than the service's own past allows: a stuck sensor, a cache, a frozen job."""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.kind import Kind
from jobs.transforms.detector.moments import Bools, Floats

SHORTEST = 6  # repetitions that can mean anything
TIMES, MORE = 1.5, 3  # a run is unusual if it is so many times, and some more, as long as the longest before it
KNOWN = 100  # readings of a service before its runs are judged
SCORE = 3.0


class Runs(NamedTuple):
    """One entry per service: repetitions of the newest value, and the most there were of any value before it."""

    now: Floats
    longest: Floats


def new_runs(services: int) -> Runs:
    return Runs(np.zeros(services), np.zeros(services))


def followed(runs: Runs, kind: Kind, inner: Floats, seen: Floats, present: Bools) -> tuple[Runs, Bools, Bools]:
    """(the runs after these readings, services whose run is unusual, those of them whose run becomes so with this reading).

    seen: readings of each service before. Zeros of a count are no run, and a service that has had one value only is not stuck.
    """
    same = inner == kind.last
    now = np.where(present, np.where(same, runs.now + 1, 0), runs.now)
    longest = np.where(present & ~same, np.maximum(runs.longest, runs.now), runs.longest)
    limit = np.maximum(SHORTEST, np.ceil(TIMES * longest + MORE))
    judged = present & (now < seen) & ~(kind.whole & (inner == 0))
    stuck = judged & (now >= limit) & (seen > KNOWN)
    return Runs(now, longest), stuck, stuck & ((now == limit) | (seen - 1 <= KNOWN))
