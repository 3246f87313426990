"""The score at which a rule opens so many incidents a week, and which incidents of a run it would have missed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from contracts.incident_queries import of_incidents
from contracts.incidents import Incidents
from jobs.transforms.detector.moments import Bools
from jobs.transforms.detector.rules import Rules
from jobs.transforms.incident_walk import Settings
from stack.backtest.episodes import Episodes
from stack.errors import StackError

SHOWN = 20  # missed incidents
LOWEST = 0.0


class Reported(NamedTuple):
    """An incident that a run opened. opened, last: epoch milliseconds of the reading that opened it, and of its last one."""

    id: str
    service: int
    opened: int
    last: int
    direction: str
    score: float


@dataclass(frozen=True)
class Wanted:
    """So many incidents a week, for so many weeks."""

    per_week: float
    weeks: float

    @property
    def most(self) -> int:
        """In all."""
        return int(np.floor(self.per_week * self.weeks + 1e-9))


class Load:
    """How many incidents a rule opens by its score. It keeps only as many episodes as incidents are wanted."""

    def __init__(self, wanted: Wanted, counted_from: int):
        self.wanted, self._counted_from = wanted, counted_from
        self._fixed = 0  # incidents of services whose score an override declares
        self._highest: list[tuple[float, int, int]] = []  # score, service and last of the other episodes

    def add(self, found: Episodes, rules: Rules, free: Bools) -> None:
        """rules, free: of all services; see `goes_by_the_score`."""
        counted = found.last >= self._counted_from
        own = np.where(np.isnan(rules.score), -np.inf, rules.score)[found.service]
        self._fixed += int(np.count_nonzero(counted & ~free[found.service] & (found.score >= own)))
        rows = np.flatnonzero(counted & free[found.service])
        rows = rows[np.argsort(-found.score[rows], kind="stable")][: self.wanted.most + 1]
        columns = (found.score, found.service, found.last)
        more = zip(*(each[rows].tolist() for each in columns), strict=True)
        self._highest = sorted([*self._highest, *more], reverse=True)[: self.wanted.most + 1]

    def suggested(self) -> float:
        """The lowest score, to two decimals, at which at most as many incidents are opened as are wanted.

        Raises StackError if overrides with a score of their own alone open more.
        """
        room = self.wanted.most - self._fixed
        if room < 0:
            each = self._fixed / self.wanted.weeks
            raise StackError(
                f"--suggest {self.wanted.per_week:g}/week: overrides with a score of their own alone open {each:.1f} a week",
                remedy="raise their scores, or leave them out so that they go by the suggested one",
            )
        if len(self._highest) <= room:
            return LOWEST
        return round((np.floor(self._highest[room][0] * 100) + 1) / 100, 2)

    def per_week(self, score: float) -> float:
        """Incidents that this score opens, at most."""
        return (self._fixed + sum(each >= score for each, _, _ in self._highest)) / self.wanted.weeks

    def missed(self, score: float, reported: Sequence[Reported], free: Bools) -> list[Reported]:
        """Those incidents of a run that this score does not open."""
        opened = dict[int, list[int]]()
        for highest, service, last in self._highest:
            if highest >= score:
                opened.setdefault(service, []).append(last)
        return [
            each
            for each in reported
            if free[each.service] and not any(each.opened <= last <= each.last for last in opened.get(each.service, []))
        ]


def goes_by_the_score(incidents: Incidents, names: list[str]) -> Bools:
    """Which services have the score of the rule as a whole, not one of an override."""
    rules = [{**_NO_TIME, **of_incidents(incidents.with_score(each))} for each in (0.0, 1.0)]
    low, high = (Settings.of(each).rules_of(names).score for each in rules)
    return (low == 0.0) & (high == 1.0)


_NO_TIME = {"interval": 1000, "holidays": None, "special_days": {}, "windows": []}  # rules alone are asked for


def suggestion(load: Load, incidents: Incidents, names: list[str], reported: Sequence[Reported]) -> tuple[Incidents, list[str]]:
    """(the rule with the suggested score, lines that say what it does). reported: those that the run counts."""
    score = load.suggested()
    missed = load.missed(score, reported, goes_by_the_score(incidents, names))
    lines = [
        f"# {load.per_week(score):.1f} incidents a week, {load.wanted.per_week:g} wanted; "
        f"{len(missed)} of {len(reported)} incidents of this run missed"
    ]
    lines += [f"# missed: {each.id}, {each.direction}, score {each.score:.2f}" for each in missed[:SHOWN]]
    if len(missed) > SHOWN:
        lines.append(f"# missed: … and {len(missed) - SHOWN} more")
    return incidents.with_score(score), lines
