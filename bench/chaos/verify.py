"""Holds what came out against what was sent. Pure: arrays in, findings out; no code of the jobs.

A reading is right if its scored row has every field as a second computation gives it, by a version of the baseline that was in
force when the row was written. A key is service and instant; of several readings of one key counts the one that the broker took
last by its clock (docs/handover.md).
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
PLACES = 1 << 48  # offsets of a partition are below that
ORDER = ("KafkaTimestamp", "KafkaOffset", "BaselineVersion")  # of the rows of one key, the highest counts (docs/scoring.md)
NONE = -2  # lower than all of them: no row so far
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


class Final:
    """What a reader keeps who follows docs/scoring.md: of each key one row, by its place. columns: what else is kept of it."""

    def __init__(self, keys: int, *columns: str):
        self._columns = {name: np.full(keys, NONE, np.int64) for name in (*ORDER, *columns)}

    def __getitem__(self, column: str) -> np.ndarray:
        return self._columns[column]

    def take(self, place: np.ndarray, rows: Rows) -> None:
        """place: of each row's key, -1 for none."""
        of_a_key = np.flatnonzero(place >= 0)
        ascending = of_a_key[np.lexsort([rows[name][of_a_key] for name in reversed(ORDER)])]
        higher, equal = np.zeros(len(ascending), bool), np.ones(len(ascending), bool)
        for name in ORDER:
            row, kept = rows[name][ascending], self._columns[name][place[ascending]]
            higher |= equal & (row > kept)
            equal &= row == kept
        stays = ascending[higher | equal]
        for name, column in self._columns.items():
            column[place[stays]] = rows[name][stays]


class Scored:
    """Judges the rows of a feed's scored topic, batch by batch in the topic's order; `missing` at the end."""

    def __init__(self, sent: Sent, calendar: Calendar, rule: Rule, in_force: InForce, baseline: Callable[[int], Baseline]):
        self.findings, self.rows = Findings(), 0
        self._names, self._calendar, self._rule, self._in_force = sent.names, calendar, rule, in_force
        self._baseline = lru_cache(3)(baseline)
        good = sent.where(sent.service >= 0)
        order = np.lexsort((good.offset, good.partition))
        self._places = (good.partition.astype(np.int64) * PLACES + good.offset)[order]
        self._key, self._value, self._taken = key(good.service, good.at)[order], good.value[order], good.taken[order]
        self.keys, self._of_key, self._counts = np.unique(self._key, return_inverse=True, return_counts=True)
        self.last, self._sent_last = np.zeros((2, len(self.keys)), np.int64)
        self._sent_last[self._of_key] = self._value  # one key is in one partition: the last of its readings is
        by_clock = np.lexsort((good.offset[order], self._taken))
        self.last[self._of_key[by_clock]] = self._value[by_clock]
        self.final = Final(len(self.keys), "Value", "Anomalous")
        self.seen = np.zeros(len(self.keys), np.int32)
        self._written_last = np.full(len(self.keys), NONE, np.int64)  # the offset of the reading whose row was written last
        self._corrected: dict[int, list[str]] = defaultdict(list)  # by place of a key with several readings, its rows in words

    def judge(self, rows: Rows, anomalies: bool = False) -> np.ndarray:
        """rows: service (-1: no name that was sent), at, written (epoch ms), and the fields of the record by name; null is NaN.
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
                value, taken, offset, version = (rows[name][row] for name in ("Value", *ORDER))
                self._corrected[place[row]].append(
                    f"{value}, the reading {offset} of {taken}, by version {version}, written at {rows['written'][row]}"
                )
            self._written_last[place[known]] = rows["KafkaOffset"][known]
            self.final.take(place, rows)
        return place

    @property
    def overtaken(self) -> int:
        """Of how many keys the row that was written last is not of the reading that counts."""
        return int(np.count_nonzero(self._written_last != self.final["KafkaOffset"]))

    @property
    def set_back(self) -> int:
        """Of how many keys another value than the last one counts, as the broker's clock was set back before that came."""
        return int(np.count_nonzero(self._sent_last != self.last))

    def missing(self) -> None:
        """Add what was not scored, or is scored with another value than the newest."""
        none = self.seen == 0
        self.findings.where("missing", none, lambda n: f"reading {named(int(self.keys[n]), self._names)} of {self.last[n]}")
        old = ~none & (self.final["Value"] != self.last)
        tell = "{} counts with {}, the newest reading is {}; rows: {}".format
        self.findings.where(
            "not_newest",
            old,
            lambda n: tell(
                named(int(self.keys[n]), self._names), self.final["Value"][n], self.last[n], "; ".join(self._corrected[n])
            ),
        )

    def _known(self, rows: Rows) -> np.ndarray:
        """By row the place of its key, if the record that the row names is a reading of that key with that value; else -1."""
        if not len(self.keys):
            return np.full(len(rows["at"]), -1)
        wanted = rows["KafkaPartition"] * PLACES + rows["KafkaOffset"]
        at = np.minimum(np.searchsorted(self._places, wanted), len(self._places) - 1)
        same = (self._places[at] == wanted) & (self._value[at] == rows["Value"])
        same &= (self._key[at] == key(rows["service"], rows["at"])) & (rows["service"] >= 0)
        same &= self._taken[at] == rows["KafkaTimestamp"]
        return np.where(same, self._of_key[at], -1)

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
