"""Maintenance windows: spans of time in which the readings of some services count nothing, and their absence is no silence.

A window is (pattern that a service's whole name matches; start; end), both in epoch milliseconds, the end excluded.
"""

import re
from collections.abc import Iterable, Sequence

from jobs.transforms.excluded import Range

Window = tuple[str, int, int]


def ranges(windows: Iterable[Window], names: Iterable[str], first: int, last: int) -> list[Range]:
    """What of the windows concerns readings of these services from first to last (both included), service by service."""
    touching = [window for window in windows if window[1] <= last and first < window[2]]
    return [(name, start, end) for name in names for pattern, start, end in touching if re.fullmatch(pattern, name)]


def resumed(windows: Sequence[Window], name: str, at: int, milliseconds: int) -> int:
    """When so many milliseconds have passed since `at`, without what of them lies in windows of the service.

    windows: by their start.
    """
    counted, end = at, at + milliseconds
    for pattern, start, stop in windows:
        if start >= end:
            break
        if stop > counted and re.fullmatch(pattern, name):
            end += stop - max(start, counted)
            counted = stop
    return end
