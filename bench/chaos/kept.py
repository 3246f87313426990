"""Holds history against what was sent: one row for each service and instant, with the value that the broker took last."""

from collections.abc import Sequence

import numpy as np

from bench.chaos.verify import Findings, key, named


class Kept:
    """keys, ascending and unique, and their values: all readings that history must have. names: of the services."""

    def __init__(self, keys: np.ndarray, values: np.ndarray, names: Sequence[str]):
        self.findings, self.rows = Findings(), 0
        self._keys, self._values, self._names = keys, values, names
        self._seen = np.zeros(len(keys), bool)

    def judge(self, service: np.ndarray, at: np.ndarray, value: np.ndarray) -> None:
        """Rows of history, of one date or more. service: number of the name; -1 for one that was never sent."""
        self.rows += len(at)
        wanted = key(service, at)
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        known = (self._keys[place] == wanted) & (service >= 0)
        self.findings.where("history_unexpected", ~known, lambda n: f"history has service {service[n]} at {at[n]}, never sent")
        other = known & (self._values[place] != value)
        self.findings.where(
            "history_wrong",
            other,
            lambda n: f"history has {value[n]} of {named(int(wanted[n]), self._names)}, not {self._values[place[n]]}",
        )
        places = place[known]
        unique, counts = np.unique(places, return_counts=True)
        twice = (counts > 1) | self._seen[unique]
        self.findings.where(
            "history_twice", twice, lambda n: f"history has {named(int(self._keys[unique[n]]), self._names)} more than once"
        )
        self._seen[unique] = True

    def missing(self) -> None:
        """Add the readings that history does not have."""

        def words(n: int) -> str:
            return f"history lacks {named(int(self._keys[n]), self._names)} of {self._values[n]}"

        self.findings.where("history_missing", ~self._seen, words)


def newest(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of readings in the order in which the broker took them: the keys, ascending, and the last value of each."""
    order = np.argsort(keys, kind="stable")
    found, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    return found, values[order][first + counts - 1]
