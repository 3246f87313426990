"""How busy the machine is. A limit of time is that of a free machine; on a busy one, the same work takes longer."""

import os

MOST = 5.0  # the load also counts threads that wait for a disk, perhaps for one that never answers


def slowness() -> float:
    """How many times longer work takes than on a free machine, from 1 to MOST: the threads per core that wanted to run in the
    last minute, on average."""
    return min(max(os.getloadavg()[0] / len(os.sched_getaffinity(0)), 1.0), MOST)
