"""Holds what came out against what was sent. Pure: arrays in, findings out; no code of the jobs.

A reading is right if its scored row has every field as a second computation gives it, by a version of the baseline that was in
force when the row was written. A key is service and instant; of several readings of one key the last one of the topic counts.
"""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from bench.chaos.ledger import Sent

EXAMPLES = 5  # of each kind of finding
HOUR, INSTANTS = 3_600_000, 1 << 42  # milliseconds; instants of a key are below that: before 2109
NULLABLE = ("Last4Avg", "Expected", "Spread", "PredictedDiff", "PredictedPct", "Level", "Scale")
NONE = -2  # older than every version: no row so far
SLACK = 5_000  # milliseconds by which the clocks of the table's and the row's writers may differ
Rows = Mapping[str, np.ndarray]


@dataclass
class Findings:
    """What was wrong: how often, and the first examples in words."""

    counts: Counter = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, what: str, example: str, count: int = 1) -> None:
        self.counts[what] += count
        if len(self.examples[what]) < EXAMPLES:
            self.examples[what].append(example)

    def where(self, what: str, wrong: np.ndarray, words: Callable[[int], str]) -> None:
        """A finding for each place of the array that is true."""
        for place in np.flatnonzero(wrong)[:EXAMPLES].tolist():
            self.add(what, words(place))
        if (more := int(np.count_nonzero(wrong)) - EXAMPLES) > 0:
            self.counts[what] += more


def key(service: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Service number and epoch milliseconds as one number."""
    return service.astype(np.int64) * INSTANTS + at


def named(number: int, names: Sequence[str]) -> str:
    return f"{names[number // INSTANTS][:40]!r} at {number % INSTANTS}"


@dataclass(frozen=True)
class Calendar:
    """A feed's: zone, interval (ms), holidays (local dates)."""

    zone: ZoneInfo
    interval: int
    holidays: frozenset[dt.date]

    def place(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Local date (days since 1970), day type (ISO; 7 on a holiday) and slot of instants."""
        hours, which = np.unique(at // (HOUR // 4), return_inverse=True)  # every zone's clock changes at a quarter of an hour
        local = at + np.array([self._offset(each) for each in hours.tolist()], np.int64)[which]
        days = local // (24 * HOUR)
        dates, which = np.unique(days, return_inverse=True)
        kinds = np.array([self._day_type(each) for each in dates.tolist()], np.int64)[which]
        return days, kinds, local % (24 * HOUR) // self.interval

    def _offset(self, quarter: int) -> int:
        return int(dt.datetime.fromtimestamp(quarter * 900, self.zone).utcoffset().total_seconds() * 1000)

    def _day_type(self, day: int) -> int:
        date = dt.date.fromordinal(dt.date(1970, 1, 1).toordinal() + day)
        return 7 if date in self.holidays else date.isoweekday()


@dataclass(frozen=True)
class Baseline:
    """A stored version: averages by service, day type - 1 and slot, spreads by service, day type - 1 and window; NaN: none."""

    averages: np.ndarray
    spreads: np.ndarray


@dataclass(frozen=True)
class InForce:
    """Versions in order, each with its promotion's epoch ms. tolerance: ms within which streams must go by a newer one."""

    since: Sequence[int]
    versions: Sequence[int]
    tolerance: int

    def stale(self, version: np.ndarray, written: np.ndarray) -> np.ndarray:
        """Which rows are by a version that was not in force, or by one that another had replaced for too long."""
        begins = [0, *self.since]
        ends = [each + self.tolerance for each in self.since] + [np.iinfo(np.int64).max]
        right = np.zeros(len(version), bool)
        for each, begin, end in zip([-1, *self.versions], begins, ends, strict=True):
            right |= (version == each) & (written >= begin - SLACK) & (written <= end)
        return ~right


@dataclass(frozen=True)
class Rule:
    percent: float | None
    spread: float | None
    minimum: float | None


def counting(place: np.ndarray, version: np.ndarray, so_far: np.ndarray) -> np.ndarray:
    """The rows that a reader keeps, to be taken in this order: of one key those of the newest version, the last one last.

    place: of each row's key, -1 for none; so_far: by place, the version of the row that counted before (docs/handover.md).
    """
    rows = np.flatnonzero(place >= 0)
    rows = rows[version[rows] >= so_far[place[rows]]]
    return rows[np.argsort(version[rows], kind="stable")]


class Scored:
    """Judges the rows of a feed's scored topic, batch by batch in the topic's order; `missing` at the end."""

    def __init__(self, sent: Sent, calendar: Calendar, rule: Rule, in_force: InForce, baseline: Callable[[int], Baseline]):
        self.findings, self.rows = Findings(), 0
        self._names, self._calendar, self._rule, self._in_force = sent.names, calendar, rule, in_force
        self._baseline = lru_cache(3)(baseline)
        good = sent.where(sent.service >= 0)
        order = np.lexsort((good.offset, key(good.service, good.at)))  # one key is in one partition
        keys, self._values = key(good.service, good.at)[order], good.value[order]
        self.keys, first, counts = np.unique(keys, return_index=True, return_counts=True)
        self.last = self._values[first + counts - 1] if len(keys) else self._values
        self._first, self._counts = first, counts
        self.final = {name: np.zeros(len(self.keys), kind) for name, kind in (("value", np.int64), ("version", np.int64))}
        self.final["anomalous"] = np.zeros(len(self.keys), bool)
        self.final["version"][:] = NONE
        self.seen = np.zeros(len(self.keys), np.int32)
        self._corrected: dict[int, list[str]] = defaultdict(list)  # by place of a key with several readings, its rows in words

    def judge(self, rows: Rows, anomalies: bool = False) -> np.ndarray:
        """rows: service (-1: no name that was sent), at, offset and written (epoch ms) of the record, and its fields by name; null
        is NaN.
        The place in `keys` of each row that is of a reading; -1 for the others."""
        place = self._known(rows)
        known = place >= 0
        self.findings.where("unexpected", ~known, lambda n: f"{_told(rows, n)} was never sent so")
        what = "anomaly" if anomalies else "scored row"
        stale = known & self._in_force.stale(rows["BaselineVersion"], rows["written"])
        self.findings.where("stale", stale, lambda n: f"{what} {_told(rows, n)} written at {rows['written'][n]}")
        for version in np.unique(rows["BaselineVersion"][known]).tolist():
            if version == -1 or version in self._in_force.versions:
                which = np.flatnonzero(known & (rows["BaselineVersion"] == version))
                self._fields({name: column[which] for name, column in rows.items()}, version, what, anomalies)
        if not anomalies:
            self.rows += len(place)
            np.add.at(self.seen, place[known], 1)
            for row in np.flatnonzero(known & (self._counts[place] > 1)).tolist():
                value, version, offset, written = (rows[name][row] for name in ("Value", "BaselineVersion", "offset", "written"))
                self._corrected[place[row]].append(f"{value} by version {version} at offset {offset}, {written}")
            stays = counting(place, rows["BaselineVersion"], self.final["version"])
            at = place[stays]
            self.final["value"][at], self.final["version"][at] = rows["Value"][stays], rows["BaselineVersion"][stays]
            self.final["anomalous"][at] = rows["Anomalous"][stays]
        return place

    def missing(self) -> None:
        """Add what was not scored, or is scored with another value than the newest."""
        none = self.seen == 0
        self.findings.where("missing", none, lambda n: f"reading {named(int(self.keys[n]), self._names)} of {self.last[n]}")
        old = ~none & (self.final["value"] != self.last)
        tell = "{} is scored last with {}, the newest reading is {}; rows: {}".format
        self.findings.where(
            "not_newest",
            old,
            lambda n: tell(
                named(int(self.keys[n]), self._names), self.final["value"][n], self.last[n], "; ".join(self._corrected[n])
            ),
        )

    def _known(self, rows: Rows) -> np.ndarray:
        """By row the place of its key, where such a reading was sent with that value; else -1."""
        wanted = key(rows["service"], rows["at"])
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        found = (self.keys[place] == wanted) & (rows["service"] >= 0) if len(self.keys) else np.zeros(len(wanted), bool)
        same = found & (self.last[place] == rows["Value"])
        for row in np.flatnonzero(found & ~same).tolist():  # of a reading that was corrected since
            first = self._first[place[row]]
            same[row] = rows["Value"][row] in self._values[first : first + self._counts[place[row]]]
        return np.where(same, place, -1)

    def _fields(self, rows: Rows, version: int, what: str, anomalies: bool) -> None:
        right = self.right(rows["service"], rows["at"], rows["Value"], version)
        if anomalies:
            self.findings.where("no_anomaly", ~right["Anomalous"], lambda n: f"anomaly {_told(rows, n)} is none")
            right = {name: column for name, column in right.items() if name not in ("DayType", "Slot", "Anomalous")}
        for name, column in right.items():

            def words(n: int, name: str = name, column: np.ndarray = column) -> str:
                return f"{what} {_told(rows, n)}: {name} is {rows[name][n]}, must be {column[n]}"

            equal = (rows[name] == column) | (np.isnan(rows[name]) & np.isnan(column) if name in NULLABLE else False)
            self.findings.where("wrong", ~equal, words)

    def right(self, service: np.ndarray, at: np.ndarray, value: np.ndarray, version: int) -> dict[str, np.ndarray]:
        """The fields of a scored row, as docs/scoring.md and docs/baseline.md define them, of a feed without growth whose rule
        goes by the plain figures."""
        _, day_type, slot = self._calendar.place(at)
        average = spread = np.full(len(at), np.nan)
        if version >= 0:
            baseline = self._baseline(version)
            slots, windows = baseline.averages.shape[2], baseline.spreads.shape[2]
            average = baseline.averages[service, day_type - 1, slot]
            spread = np.where(np.isnan(average), np.nan, baseline.spreads[service, day_type - 1, slot * windows // slots])
        difference = value - average
        with np.errstate(divide="ignore", invalid="ignore"):
            percent = np.where(average == 0, np.nan, 100.0 * value / average)
        return {
            "DayType": day_type,
            "Slot": slot,
            "Last4Avg": average,
            "Expected": average,
            "Spread": spread,
            "PredictedDiff": difference,
            "PredictedPct": percent,
            "Anomalous": self._anomalous(value, average, spread, difference, percent),
            "Level": np.full(len(at), np.nan),
            "Scale": np.full(len(at), np.nan),
        }

    def _anomalous(self, value, average, spread, difference, percent) -> np.ndarray:
        rule, holds = self._rule, ~np.isnan(average)
        if rule.percent is not None:
            beyond = np.abs(np.where(np.isnan(percent), 0.0, percent) - 100.0) > rule.percent
            holds &= np.where(average == 0, value != 0, beyond)
        if rule.spread is not None:
            holds &= ~np.isnan(spread) & (np.abs(difference) > rule.spread * np.nan_to_num(spread))
        return holds & (np.fmax(value, average) >= rule.minimum) if rule.minimum is not None else holds


def _told(rows: Rows, n: int) -> str:
    return f"of service {rows['service'][n]} at {rows['at'][n]} with {rows['Value'][n]} by version {rows['BaselineVersion'][n]}"
