"""The lake's tables as serving needs them, read with `deltalake`. A table that does not exist yet is an answer, not an error."""

import datetime as dt
import json
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from contracts.feeds import Feed

CACHED_ARRAYS = 256  # (service, day type) pairs: 8,640 slots cost 140 kB
FRESH_SECONDS = 1.0  # a promotion shows within this


@dataclass(frozen=True)
class Promotion:
    """One commit that put a baseline in force."""

    version: int
    promoted_at: dt.datetime
    by: str | None
    reason: str | None
    gate: bool | None
    candidate_version: int | None
    run_id: str | None


@dataclass(frozen=True)
class Arrays:
    """A service's baseline for one day type, by slot; None where there is none."""

    last4avg: list[float | None]
    spread: list[float | None]


@dataclass(frozen=True)
class GateResult:
    run_id: str
    candidate_version: int
    checked_at: dt.datetime
    success: bool
    expectations: list[dict]


class Tables:
    """Reads `<lake>/baseline/<feed>` and `<lake>/gate_results`. Safe to call from several threads."""

    def __init__(self, lake: str):
        self._lake = lake
        self._lock = threading.Lock()
        self._arrays: OrderedDict[tuple[str, int, str, int], Arrays | None] = OrderedDict()
        self._opened: dict[str, tuple[float, DeltaTable | None]] = {}
        self._services: dict[str, tuple[int, frozenset[str]]] = {}

    def version(self, feed: Feed) -> int | None:
        """Version of the baseline in force; None: none yet."""
        table = self._baseline(feed)
        return None if table is None else table.version()

    def promotions(self, feed: Feed, limit: int) -> list[Promotion]:
        """Newest first. The first is the baseline in force."""
        table = self._baseline(feed)
        return [] if table is None else [_promotion(commit) for commit in table.history(limit)]

    def services(self, feed: Feed) -> frozenset[str]:
        """Services that the baseline in force knows."""
        table = self._baseline(feed)
        if table is None:
            return frozenset()
        version = table.version()
        with self._lock:
            held = self._services.get(feed.name)
        if held is not None and held[0] == version:
            return held[1]
        names = table.to_pyarrow_dataset().to_table(columns=["ServiceName"]).column("ServiceName").unique().to_pylist()
        services = frozenset(name for name in names if name is not None)
        with self._lock:
            self._services[feed.name] = (version, services)
        return services

    def arrays(self, feed: Feed, service: str, day_type: int) -> Arrays | None:
        """The baseline in force of one service and day type; None: none."""
        table = self._baseline(feed)
        if table is None:
            return None
        key = (feed.name, table.version(), service, day_type)
        with self._lock:
            if key in self._arrays:
                self._arrays.move_to_end(key)
                return self._arrays[key]
        arrays = _read_arrays(table, service, day_type)
        with self._lock:
            self._arrays[key] = arrays
            while len(self._arrays) > CACHED_ARRAYS:
                self._arrays.popitem(last=False)
        return arrays

    def gate_results(self, feed: Feed, limit: int) -> list[GateResult]:
        """Newest first."""
        table = self._open("gate_results")
        if table is None:
            return []
        columns = ["RunId", "CandidateVersion", "CheckedAt", "Success", "Results"]
        rows = table.to_pyarrow_dataset().to_table(columns=columns, filter=ds.field("Feed") == feed.name)
        newest = rows.sort_by([("CheckedAt", "descending")]).slice(0, limit).to_pylist()
        return [
            GateResult(row["RunId"], row["CandidateVersion"], _utc(row["CheckedAt"]), row["Success"], json.loads(row["Results"]))
            for row in newest
        ]

    def _baseline(self, feed: Feed) -> DeltaTable | None:
        return self._open(f"baseline/{feed.table}")

    def _open(self, name: str) -> DeltaTable | None:
        """The table as of at most FRESH_SECONDS ago."""
        with self._lock:
            opened, table = self._opened.get(name, (float("-inf"), None))
        if time.monotonic() - opened < FRESH_SECONDS:
            return table
        try:
            table = DeltaTable(f"{self._lake}/{name}")
        except TableNotFoundError:
            table = None
        with self._lock:
            self._opened[name] = (time.monotonic(), table)
        return table


def _read_arrays(table: DeltaTable, service: str, day_type: int) -> Arrays | None:
    here = (ds.field("ServiceName") == service) & (ds.field("DayType") == day_type)
    rows = table.to_pyarrow_dataset().to_table(columns=["Last4Avg", "Spread"], filter=here).to_pylist()
    if not rows:
        return None
    return Arrays(rows[0]["Last4Avg"] or [], rows[0]["Spread"] or [])


def _promotion(commit: dict) -> Promotion:
    """From a commit of the table's history; what the commit does not say is None."""
    try:
        said = json.loads(commit.get("userMetadata") or "{}")
    except ValueError:
        said = {}
    said = said if isinstance(said, dict) else {}
    committed = dt.datetime.fromtimestamp(commit["timestamp"] / 1000, dt.UTC)
    return Promotion(
        version=commit["version"],
        promoted_at=_instant(said.get("at")) or committed,
        by=said.get("by"),
        reason=said.get("reason"),
        gate=said.get("gate"),
        candidate_version=said.get("candidate_version"),
        run_id=said.get("run_id"),
    )


def _instant(text: str | None) -> dt.datetime | None:
    try:
        return _utc(dt.datetime.fromisoformat(text)) if text else None
    except (TypeError, ValueError):
        return None


def _utc(instant: dt.datetime) -> dt.datetime:
    return instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant.astimezone(dt.UTC)
