"""Silence: a service whose readings stop is an incident, found by the clock of its feed.

The clock is the start of the feed's newest reading. While none comes at all, the caller moves the clock on. What is emitted
follows from the readings, not from the moment at which a batch looks: a night and a stream come to the same events.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from jobs.transforms.detector.incident_life import incident_id
from jobs.transforms.detector.moments import Ints
from jobs.transforms.detector.walk import Readings

Passed = Callable[[str, int, int], int]  # (service, epoch ms, ms that have to pass since then and count) -> epoch ms
KNOWN = 12  # readings from which a service is expected to go on: a new one is not


@dataclass(frozen=True)
class Heard:
    """The newest reading of a service: at in epoch milliseconds, value; how many there were so far. silent: it was reported."""

    at: int
    value: float
    readings: int
    silent: bool = False


class Silence(NamedTuple):
    """state: of the incident. at: epoch milliseconds at which it was clear, or of the reading that ends it, or at which the
    service is forgotten. onset: of the first reading that is missing. last: the reading before it. silent, known: so many of so
    many services are silent after `at`; known are those that can be silent."""

    state: Literal["opened", "closed"]
    at: int
    service: str
    onset: int
    last: Heard
    silent: int
    known: int

    @property
    def id(self) -> str:
        return incident_id(self.service, self.onset)


def any_time(name: str, at: int, milliseconds: int) -> int:
    """When so many milliseconds have passed for a service, each of which counts."""
    return at + milliseconds


def listened(
    heard: dict[str, Heard],
    names: list[str],
    readings: Readings,
    clock: int,
    interval: int,
    patience: Ints,
    age: int,
    resumed: Passed = any_time,
) -> tuple[dict[str, Heard], list[Silence]]:
    """(the newest reading of each service, what is to be emitted by time).

    heard: what this returned before. names: of the services, by number. clock: epoch milliseconds, at least that of the newest
    reading. interval: milliseconds. patience: of each service, so many intervals without a reading make a silence; 0 for never.
    age: so many milliseconds after its last reading a service is forgotten; longer than any patience. resumed: when patience
    ends.
    """
    limits = {name: int(limit) for name, limit in zip(names, patience.tolist(), strict=True)}
    changes = [(-1, sum(each.silent for each in heard.values()), sum(_can_be_silent(*each, limits) for each in heard.items()))]
    heard, events = dict(heard), list[Silence]()

    def noted(state: Literal["opened", "closed"], at: int, name: str, last: Heard) -> None:
        changes.append((at, 1 if state == "opened" else -1, 0))
        events.append(Silence(state, at, name, last.at + interval, last, 0, 0))

    def noticed(name: str, now: int) -> None:
        """The service's silence as it is at `now`, if it is one."""
        last, limit = heard[name], limits.get(name, 0)
        if not _can_be_silent(name, last, limits) or last.silent:
            return
        clear = resumed(name, last.at, (limit + 1) * interval)
        if now >= clear:
            heard[name] = replace(last, silent=True)
            noted("opened", clear, name, last)

    for row in np.lexsort((readings.at, readings.service)).tolist():
        name, at, value = names[readings.service[row]], int(readings.at[row]), float(readings.value[row])
        if last := heard.get(name):
            noticed(name, at)
            if heard[name].silent:
                noted("closed", at, name, last)
        heard[name] = Heard(at, value, last.readings + 1 if last else 1)
        if heard[name].readings == KNOWN and limits[name]:
            changes.append((at, 0, 1))
    for name in list(heard):
        noticed(name, clock)
        last = heard[name]
        if last.at + age <= clock:
            changes.append((last.at + age, 0, -int(_can_be_silent(name, last, limits))))
            if last.silent:
                noted("closed", last.at + age, name, last)
            del heard[name]
    return heard, _counted(sorted(events, key=lambda event: (event.at, event.service)), changes)


def _can_be_silent(name: str, last: Heard, limits: dict[str, int]) -> bool:
    return bool(limits.get(name, 0)) and last.readings >= KNOWN


def _counted(events: list[Silence], changes: list[tuple[int, int, int]]) -> list[Silence]:
    """The events with how many services are silent and known. changes: (at, more that are silent, more that are known)."""
    at, *more = np.array(sorted(changes), np.int64).T
    after = np.searchsorted(at, [event.at for event in events], "right") - 1
    silent, known = (np.cumsum(each)[after].tolist() for each in more)
    return [event._replace(silent=silent[row], known=known[row]) for row, event in enumerate(events)]
