"""Readings that a person has excluded, because they are not normal: the detector walks on as if there were none.

A range is (service, or None for all services; start; end), both in epoch milliseconds, the end excluded.
"""

from collections.abc import Iterable

import numpy as np

from jobs.transforms.detector.moments import Bools
from jobs.transforms.detector.walk import Readings

Range = tuple[str | None, int, int]


def within(ranges: Iterable[Range], start: int, end: int) -> list[Range]:
    """What of the ranges lies from start to end (excluded): sorted, none twice, so that the same readings are the same list."""
    cut = {(service, max(first, start), min(last, end)) for service, first, last in ranges}
    return sorted((each for each in cut if each[1] < each[2]), key=lambda each: (each[0] or "", *each[1:]))


def inside(ranges: Iterable[Range], names: list[str], readings: Readings) -> Bools:
    """Which readings a range excludes. names: of the services, by number."""
    found = np.zeros(len(readings.at), bool)
    for service, start, end in ranges:
        of_service = np.array([service in (None, name) for name in names], bool)
        found |= (readings.at >= start) & (readings.at < end) & of_service[readings.service]
    return found
