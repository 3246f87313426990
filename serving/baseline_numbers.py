"""A baseline's rows as numbers: what is expected of each slot of a day, and how that differs between two baselines."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from contracts.feeds import Feed
from serving.baseline_models import BaselineRow
from serving.columns import table_of_columns
from serving.tables import arrays_of, baseline_columns


def numbers_of(table: pa.Table, row: int) -> dict[str, np.ndarray]:
    """The cells of a row as arrays of doubles; NaN: null. A missing array is empty."""
    cells = {name: table[name][row] for name in table.column_names if name != "ServiceName"}
    lists = {name: cell.values if pa.types.is_list(cell.type) else pa.array([cell.as_py()]) for name, cell in cells.items()}
    return {
        name: np.zeros(0) if values is None else values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        for name, values in lists.items()
    }


def day_of(feed: Feed, numbers: dict[str, np.ndarray]) -> pa.Table:
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


def expected_of(feed: Feed, dataset: ds.Dataset, fragments: list[ds.Fragment]) -> dict[str, np.ndarray]:
    """By service, what is expected of each slot of the fragments' day type."""
    names = [name for name in baseline_columns(feed) if name in dataset.schema.names]
    found: dict[str, np.ndarray] = {}
    for fragment in fragments:
        rows = fragment.to_table(schema=dataset.schema, columns=["ServiceName", *names])
        for row in range(len(rows)):
            if rows["Growth"][row].is_valid:
                of_day = arrays_of(feed, numbers_of(rows, row))
                found[rows["ServiceName"][row].as_py()] = of_day.normal * of_day.growth
    return found


def change_of(feed: Feed, before: np.ndarray | None, after: np.ndarray | None) -> dict | None:
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
