"""What the lake's tables tell serving. A table that does not exist yet is an answer, not an error."""

import datetime as dt
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

from contracts import exclusions
from contracts.baseline_log import BaselineLog, Entry, baseline_log
from contracts.exclusions import Statement
from contracts.feeds import Feed
from serving.lake import Lake, Version, if_readable, version_of
from serving.placement import misplaced

CACHED_ARRAYS = 256  # (service, day type) pairs: 8,640 slots cost 70 kB
HELD_GATE_RESULTS = 500


@dataclass(frozen=True)
class Arrays:
    """A service's baseline for one day type; NaN where there is none. What is expected of a slot is normal[slot] * growth."""

    normal: np.ndarray  # doubles by slot: Last4Avg, or Level where the feed's rule goes by the robust normal
    spread: np.ndarray  # doubles by window of neighbouring slots, or by slot: index slot * len(spread) // slots
    growth: float


@dataclass(frozen=True)
class GateResult:
    run_id: str
    candidate_version: int
    compared_with: int | None  # version of the baseline; None: none was in force, or that is not known
    checked_at: dt.datetime
    success: bool
    expectations: list[dict]


class Tables:
    """Reads `baseline/<feed>`, `baseline_candidate/<feed>`, `exclusions/<feed>` and `gate_results`. Safe to call from several
    threads."""

    def __init__(self, lake: Lake):
        self.lake = lake
        self._lock = threading.Lock()
        self._arrays: OrderedDict[tuple[str, Version, str, int], Arrays | None] = OrderedDict()

    def reads(self) -> dict[str, Callable[[Feed], object]]:
        """By kind of table, what reads that of a feed, and raises what the lake raises if it can't be read."""
        return {
            "baseline": lambda feed: (self.services(feed), self.promotions(feed, 1)),
            "baseline_candidate": self.candidates,
            "gate_results": lambda feed: self.gate_results(feed, 1),
            "exclusions": self._statements,
            "incidents": lambda feed: self.lake.open(f"incidents/{feed.table}"),
            "detector": lambda feed: self.lake.open(f"detector/{feed.table}"),  # of jobs; here so that its damage is noticed
        }

    def version(self, feed: Feed) -> int | None:
        """Version of the baseline in force; None: none yet."""
        in_force = self._log(feed).in_force
        return in_force.version if in_force else None

    def promotions(self, feed: Feed, limit: int | None = None) -> list[Entry]:
        """What put each version of the baseline in force, newest first: all, or so many. The first is in force."""
        return list(self._log(feed).entries[:limit])

    def expecting(self, feed: Feed) -> Feed:
        """The feed with what the baseline in force takes its public holidays and special days for."""
        in_force = self._log(feed).in_force
        return feed.with_found(in_force.special_days) if in_force else feed

    def services(self, feed: Feed) -> frozenset[str]:
        """Services that the baseline in force knows."""
        return self._services(("services", feed.name), self._baseline(feed))

    def _services(self, what: tuple[str, str], table: DeltaTable | None) -> frozenset[str]:
        return frozenset() if table is None else self.lake.of_version(what, table, lambda: _read_services(table))

    def candidates(self, feed: Feed) -> list[Entry]:
        """What built each version of the feed's candidate, newest first."""
        table = self._candidate(feed)
        if table is None:
            return []
        log = self.lake.of_version(("candidates", feed.name), table, lambda: baseline_log(table.history()))
        return list(log.entries)

    def candidate_services(self, feed: Feed) -> frozenset[str]:
        """Services that the newest candidate knows."""
        return self._services(("candidate services", feed.name), self._candidate(feed))

    def arrays(self, feed: Feed, service: str, day_type: int) -> Arrays | None:
        """The baseline in force of one service and day type; None: none, or one of another interval or time zone."""
        table = self._baseline(feed)
        if table is None or misplaced(self.lake, feed):
            return None
        key = (feed.name, version_of(table), service, day_type)
        with self._lock:
            if key in self._arrays:
                self._arrays.move_to_end(key)
                return self._arrays[key]
        dataset = self.lake.of_version(("baseline", feed.name), table, table.to_pyarrow_dataset)
        arrays = _read_arrays(dataset, feed, service, day_type)
        with self._lock:
            self._arrays[key] = arrays
            while len(self._arrays) > CACHED_ARRAYS:
                self._arrays.popitem(last=False)
        return arrays

    def dates(self, feed: Feed) -> frozenset[dt.date] | None:
        """Local dates of which history has readings. None while that can't be read: all feeds are to be seen nevertheless."""
        return if_readable(self._dates, None, feed)

    def _dates(self, feed: Feed) -> frozenset[dt.date]:
        table = self.lake.open(f"history/{feed.table}")
        return frozenset() if table is None else self.lake.of_version(("dates", feed.name), table, lambda: _read_dates(table))

    def statements(self, feed: Feed) -> list[Statement]:
        """What people said of incidents and readings, and is in force, oldest first. Nothing while that can't be read (see
        `Archive.unreadable`): incidents are to be seen nevertheless."""
        return if_readable(self._statements, [], feed)

    def _statements(self, feed: Feed) -> list[Statement]:
        table = self.lake.open(f"exclusions/{feed.table}")
        return [] if table is None else self.lake.of_version(("statements", feed.name), table, lambda: _read_statements(table))

    def gate_results(self, feed: Feed, limit: int) -> list[GateResult]:
        """Newest first."""
        table = self.lake.open("gate_results")
        if table is None:
            return []
        newest = self.lake.of_version(("gate results", feed.name), table, lambda: _read_gate_results(table, feed))
        return [_gate_result(row) for row in newest.slice(0, limit).to_pylist()]

    def awaits_approval(self, feed: Feed) -> bool | None:
        """Whether the gate refused the newest candidate, and a person may promote it; None: the gate has judged none.

        Nobody may once something was put in force since, or if what is in force is as of a later date.
        """
        newest = next(iter(self.gate_results(feed, 1)), None)
        if newest is None:
            return None
        in_force = self._log(feed).in_force
        if newest.success or in_force is None:
            return not newest.success
        as_of = next((each.as_of for each in self.candidates(feed) if each.version == newest.candidate_version), None)
        overtaken = as_of is not None and in_force.as_of is not None and as_of < in_force.as_of
        return not overtaken and in_force.promoted_at < newest.checked_at

    def _log(self, feed: Feed) -> BaselineLog:
        table = self._baseline(feed)
        if table is None:
            return BaselineLog()
        return self.lake.of_version(("log", feed.name), table, lambda: baseline_log(table.history()))

    def _baseline(self, feed: Feed) -> DeltaTable | None:
        return self.lake.open(f"baseline/{feed.table}")

    def _candidate(self, feed: Feed) -> DeltaTable | None:
        return self.lake.open(f"baseline_candidate/{feed.table}")


def _read_arrays(dataset: ds.Dataset, feed: Feed, service: str, day_type: int) -> Arrays | None:
    here = (ds.field("ServiceName") == service) & (ds.field("DayType") == day_type)
    known = [name for name in baseline_columns(feed) if name in dataset.schema.names]
    rows = dataset.to_table(columns=known, filter=here)
    if not len(rows) or not rows["Growth"][0].is_valid:
        return None
    return arrays_of(feed, {name: _doubles(rows[name][0]) for name in known})


def _doubles(cell: pa.Scalar) -> np.ndarray:
    """A cell, or the elements of one that is a list: NaN where there is none. Nothing of a cell that is null."""
    if not cell.is_valid:
        return np.zeros(0)
    elements = cell.values if isinstance(cell, pa.ListScalar) else pa.array([cell.as_py()])
    return elements.cast(pa.float64()).to_numpy(zero_copy_only=False)


def baseline_columns(feed: Feed) -> tuple[str, ...]:
    """Of a baseline's table, those that `arrays_of` needs. In one of an earlier release there is no robust normal."""
    return ("Last4Avg", "Spread", "Growth") if feed.rule.normal == "plain" else ("Last4Avg", "Level", "Scale", "Growth")


def arrays_of(feed: Feed, row: Mapping[str, np.ndarray]) -> Arrays:
    """row: the cells of one service and day type by column, as doubles; what is missing is empty."""
    averages, nothing = row["Last4Avg"], np.zeros(0)
    if feed.rule.normal == "plain":
        return Arrays(averages, row.get("Spread", nothing), row["Growth"].item())
    # As in scoring: without an average there is no baseline, whatever the robust normal knows.
    levels = row.get("Level", nothing)
    return Arrays(np.where(np.isnan(averages), np.nan, levels) if levels.size else levels, row.get("Scale", nothing), 1.0)


def _read_services(table: DeltaTable) -> frozenset[str]:
    names = table.to_pyarrow_dataset().to_table(columns=["ServiceName"]).column("ServiceName").unique().to_pylist()
    return frozenset(name for name in names if name is not None)


def _read_dates(table: DeltaTable) -> frozenset[dt.date]:
    return frozenset(dt.date.fromisoformat(str(each["Date"])) for each in table.partitions())


def _read_statements(table: DeltaTable) -> list[Statement]:
    return exclusions.in_force(exclusions.statements(table.to_pyarrow_dataset().to_table().to_pylist()))


def _read_gate_results(table: DeltaTable, feed: Feed) -> pa.Table:
    """The feed's newest results, newest first."""
    dataset = table.to_pyarrow_dataset()
    columns = ["RunId", "CandidateVersion", "CheckedAt", "Success", "Results"]
    if "ComparedWith" in dataset.schema.names:  # the gate of an earlier release did not keep it
        columns.append("ComparedWith")
    rows = dataset.to_table(columns=columns, filter=ds.field("Feed") == feed.name)
    return rows.sort_by([("CheckedAt", "descending"), ("RunId", "ascending")]).slice(0, HELD_GATE_RESULTS)


def _gate_result(row: dict) -> GateResult:
    against, results = row.get("ComparedWith"), json.loads(row["Results"])
    known = None if against is None or against < 0 else against  # -1: none was in force
    return GateResult(row["RunId"], row["CandidateVersion"], known, _utc(row["CheckedAt"]), row["Success"], results)


def _utc(instant: dt.datetime) -> dt.datetime:
    return instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant.astimezone(dt.UTC)
