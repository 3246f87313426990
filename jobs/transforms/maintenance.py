"""Maintenance windows: spans of time in which the readings of some services count nothing, and their absence is no silence.

A window is (pattern that a service's whole name matches; start; end), both in epoch milliseconds, the end excluded.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Window = tuple[str, int, int]


def inside(windows: Iterable[Window], names: Sequence[str], service: Ints, at: Ints) -> Bools:
    """Of each reading, whether it is in a window of its service. names: of all services, by number. at: epoch milliseconds."""
    found = np.zeros(len(at), bool)
    for pattern, start, end in windows:
        here = (at >= start) & (at < end)
        if here.any():
            of_service = np.array([re.fullmatch(pattern, name) is not None for name in names], bool)
            found |= here & of_service[service]
    return found


def resumed(windows: Sequence[Window], name: str, at: int, milliseconds: int) -> int:
    """When so many milliseconds have passed since `at`, without what of them lies in windows of the service.

    windows: by their start.
    """
    counted, end = at, at + milliseconds
    for pattern, start, stop in windows:
        if max(start, counted) >= end:
            break
        if stop > counted and re.fullmatch(pattern, name):
            end += stop - max(start, counted)
            counted = stop
    return end
