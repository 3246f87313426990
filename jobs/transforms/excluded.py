"""Readings that a person has excluded, because they are not normal: the detector walks on as if there were none.

A range is (service, or None for all services; start; end), both in epoch milliseconds, the end excluded.
"""

from collections.abc import Iterable

import numpy as np

from jobs.transforms.detector.moments import Bools, Ints

Range = tuple[str | None, int, int]


def within(ranges: Iterable[Range], start: int, end: int) -> list[Range]:
    """What of the ranges lies from start to end (excluded): sorted, none twice, so that the same readings are the same list."""
    cut = {(service, max(first, start), min(last, end)) for service, first, last in ranges}
    return sorted((each for each in cut if each[1] < each[2]), key=lambda each: (each[0] or "", *each[1:]))


def left_out(ranges: Iterable[Range], services: list[str], at: Ints) -> Bools:
    """Which readings the ranges exclude. services, at: of each reading; at in epoch milliseconds."""
    found, names = np.zeros(len(at), bool), np.array(services, object)
    for service, start, end in ranges:
        of_service = True if service is None else names == service
        found |= (at >= start) & (at < end) & of_service
    return found
