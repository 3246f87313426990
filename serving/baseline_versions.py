"""Versions of a baseline, in force or past: what each expects of a service, and what differs between two.

A version is read as long as its files are kept. Files that two versions share hold the same rows, so a difference reads only the
others: a night rewrites the day types whose readings changed.
"""

import datetime as dt
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from contracts.baseline_log import DAY_TYPES
from contracts.feeds import Feed
from serving.baseline_models import BaselineChange, BaselineRow
from serving.columns import schema_of, table_of_columns
from serving.lake import version_of
from serving.problems import ProblemError
from serving.tables import Tables, arrays_of, baseline_columns

KEPT_DIFFERENCES = 16
PARTS = ("Last4Avg", "Samples", "Growth", "Spread", "Level", "Scale")  # a baseline of an earlier release lacks the last two


class BaselineVersions:
    """Reads `baseline/<feed>` of the lake as of any version in its log. Safe to call from several threads."""

    def __init__(self, tables: Tables):
        self._tables, self._lake = tables, tables.lake
        self._lock = threading.Lock()
        self._differences: OrderedDict[tuple, pa.Table] = OrderedDict()

    def of_service(self, feed: Feed, service: str, version: int, day_type: int | None = None) -> pa.Table:
        """Rows of BaselineRow by day type and slot: of all day types, or of one."""
        here = ds.field("ServiceName") == service
        if day_type is not None:
            here &= ds.field("DayType") == day_type
        dataset = self._open(feed, version).to_pyarrow_dataset()
        names = ["DayType", *(name for name in PARTS if name in dataset.schema.names)]
        try:
            found = dataset.to_table(columns=names, filter=here).sort_by("DayType")
        except FileNotFoundError:
            raise _gone(feed, version) from None
        days = [_day(feed, _numbers(found, row)) for row in range(len(found)) if found["Growth"][row].is_valid]
        return pa.concat_tables([schema_of(BaselineRow).empty_table(), *days])

    def differences(self, feed: Feed, before: int, after: int) -> pa.Table:
        """Rows of BaselineChange by service and day type: where the two versions' expected values differ."""
        tables = [self._open(feed, version) for version in (before, after)]
        made_of = (feed.name, feed.rule.normal, version_of(tables[0])[0], before, after)
        with self._lock:
            kept = self._differences.get(made_of)
        if kept is not None:
            return kept
        found = sorted((row for day in DAY_TYPES for row in self._of_day(feed, day, tables, (before, after))), key=_by_service)
        difference = pa.Table.from_pylist(found, schema_of(BaselineChange))
        with self._lock:
            self._differences[made_of] = difference
            while len(self._differences) > KEPT_DIFFERENCES:
                self._differences.popitem(last=False)
        return difference

    def _of_day(self, feed: Feed, day: int, tables: list[DeltaTable], versions: tuple[int, int]) -> Iterator[dict]:
        datasets = [table.to_pyarrow_dataset() for table in tables]
        parts = [{each.path: each for each in dataset.get_fragments(ds.field("DayType") == day)} for dataset in datasets]
        expected = []
        for dataset, own, others, version in zip(datasets, parts, reversed(parts), versions, strict=True):
            try:
                expected.append(_expected(feed, dataset, [own[path] for path in own.keys() - others.keys()]))
            except FileNotFoundError:
                raise _gone(feed, version) from None
        for service in expected[0].keys() | expected[1].keys():
            change = _change(feed, *(each.get(service) for each in expected))
            if change is not None:
                yield {"service": service, "day_type": day} | change

    def _open(self, feed: Feed, version: int) -> DeltaTable:
        log = self._tables.promotions(feed)
        if not any(each.version == version for each in log):
            known = ", ".join(str(each.version) for each in log[:20]) or "none yet"
            remedy = f"GET /api/feeds/{feed.name}/baseline lists the versions; the newest are: {known}."
            raise ProblemError(404, "unknown-version", "No such version", f"Feed {feed.name} has no baseline {version}.", remedy)
        name = f"baseline/{feed.table}"
        if version == log[0].version and (newest := self._lake.open(name)) is not None:
            return newest  # only upkeep came after it
        try:
            return DeltaTable(f"{self._lake.root}/{name}", version=version)
        except DeltaError:
            raise _gone(feed, version) from None


def _gone(feed: Feed, version: int) -> ProblemError:
    detail = f"The files of version {version} of the baseline of {feed.name} were deleted, as they were older than is kept."
    remedy = "Ask for a newer version. maintain_tables says for how many days older ones are kept (--keep-days)."
    return ProblemError(410, "version-gone", "No longer kept", detail, remedy)


def _numbers(table: pa.Table, row: int) -> dict[str, np.ndarray]:
    """The cells of a row as arrays of doubles; NaN: null. A missing array is empty."""
    cells = {name: table[name][row] for name in table.column_names if name != "ServiceName"}
    lists = {name: cell.values if pa.types.is_list(cell.type) else pa.array([cell.as_py()]) for name, cell in cells.items()}
    return {
        name: np.zeros(0) if values is None else values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        for name, values in lists.items()
    }


def _day(feed: Feed, numbers: dict[str, np.ndarray]) -> pa.Table:
    """All slots of one day type."""
    slot = np.arange(feed.slots)
    of_day = arrays_of(feed, numbers)

    def by_slot(values: np.ndarray | None) -> np.ndarray:
        """Of each slot: of its own, or of the window of slots in which it lies; NaN where there is nothing."""
        return values[slot * len(values) // feed.slots] if values is not None and len(values) else np.full(feed.slots, np.nan)

    columns = {
        "day_type": np.full(feed.slots, int(numbers["DayType"][0])),
        "slot": slot,
        "local_time": pa.array(slot * feed.interval_seconds, pa.int32()).cast(pa.time32("s")),
        "expected": by_slot(of_day.normal * of_day.growth),
        "last4avg": by_slot(numbers.get("Last4Avg")),
        "samples": pa.array(by_slot(numbers.get("Samples")), from_pandas=True).cast(pa.int64()),
        "growth": np.full(feed.slots, numbers["Growth"][0]),
        "spread": by_slot(numbers.get("Spread")),
        "level": by_slot(numbers.get("Level")),
        "scale": by_slot(numbers.get("Scale")),
    }
    return table_of_columns(BaselineRow, columns)


def _expected(feed: Feed, dataset: ds.Dataset, fragments: list[ds.Fragment]) -> dict[str, np.ndarray]:
    """By service, what is expected of each slot of the fragments' day type."""
    names = [name for name in baseline_columns(feed) if name in dataset.schema.names]
    found: dict[str, np.ndarray] = {}
    for fragment in fragments:
        rows = fragment.to_table(schema=dataset.schema, columns=["ServiceName", *names])
        for row in range(len(rows)):
            if rows["Growth"][row].is_valid:
                of_day = arrays_of(feed, _numbers(rows, row))
                found[rows["ServiceName"][row].as_py()] = of_day.normal * of_day.growth
    return found


def _change(feed: Feed, before: np.ndarray | None, after: np.ndarray | None) -> dict | None:
    """The other fields of BaselineChange that are not null; None: nothing changed."""
    if before is not None and after is not None and np.array_equal(before, after, equal_nan=True):
        return None
    mean_before, mean_after = _mean(before), _mean(after)
    change = "added" if before is None else "removed" if after is None else "changed"
    found: dict[str, Any] = {"change": change, "mean_before": mean_before, "mean_after": mean_after}
    if mean_before and mean_after is not None:
        found["pct"] = 100 * mean_after / mean_before
    if before is None or after is None or len(before) != len(after):
        return found
    difference = after - before
    found["slots"] = int(np.count_nonzero(~((before == after) | (np.isnan(before) & np.isnan(after)))))
    if not np.isnan(difference).all():
        slot = int(np.nanargmax(np.abs(difference)))
        found["largest"] = difference[slot].item()
        found["largest_at"] = (dt.datetime.min + dt.timedelta(seconds=slot * feed.interval_seconds)).time()
    return found


def _mean(expected: np.ndarray | None) -> float | None:
    return None if expected is None or np.isnan(expected).all() else np.nanmean(expected).item()


def _by_service(row: dict) -> tuple[str, int]:
    return row["service"], row["day_type"]
