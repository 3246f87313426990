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
    """One entry per service: repetitions of the newest value, and the most there ever were of one value."""

    now: Floats
    longest: Floats


def new_runs(services: int) -> Runs:
    return Runs(np.zeros(services), np.zeros(services))


def followed(runs: Runs, kind: Kind, inner: Floats, seen: Floats, present: Bools) -> tuple[Runs, Bools]:
    """(the runs after these readings, services that are stuck by them). Zeros of a count are no run: nothing happens, again."""
    now = np.where(present, np.where(inner == kind.last, runs.now + 1, 0), runs.now)
    unusual = (now >= SHORTEST) & (now >= TIMES * runs.longest + MORE) & (seen > KNOWN)
    return Runs(now, np.maximum(runs.longest, now)), present & unusual & ~(kind.whole & (inner == 0))
