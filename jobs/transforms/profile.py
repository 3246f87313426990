"""What the gate looks at: a few figures for each (ServiceName, DayType) of a candidate, beside the baseline in force."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.transforms import baseline

FIGURES = {
    "ServiceName": "string",
    "DayType": "int",
    "Lost": "boolean",
    "Rows": "int",
    "Slots": "int",
    "CoveredShare": "double",
    "Finite": "boolean",
    "Lowest": "double",
    "Highest": "double",
    "LowestSpread": "double",
    "AgeDays": "int",
    "MovedShare": "double",
    "HoldoutLoss": "double",
}
_ARROW = {"string": pa.string(), "int": pa.int32(), "boolean": pa.bool_(), "double": pa.float64()}
NEGLIGIBLE = 0.01  # of the mean: an error below it is no ground to call another error worse


def profile(
    candidate: DataFrame, in_force: DataFrame, last_day: DataFrame, as_of: dt.date, slots: int, moved_percent: float
) -> DataFrame:
    """One row, FIGURES, for each (ServiceName, DayType) of either packed baseline (baseline.PACKED):

    Lost: in force, but not in the candidate. And of the candidate, null where lost:
    Rows: how many it has, which must be one. Slots: length of the arrays.
    CoveredShare: share of the slots with a baseline, 0 to 1; null with fewer than two dates, as a new service has none yet.
    Finite: no average, spread or growth is NaN or infinite. Lowest, Highest, LowestSpread: of the averages and spreads.
    AgeDays: days from its newest date to `as_of`.
    MovedShare: share of the slots with a baseline in both whose average moved by more than `moved_percent` %.
    HoldoutLoss: by how much worse than the one in force, relative to the latter's mean absolute error, it predicts the last
      complete day, when that day is taken out of both; `last_day` holds its readings (baseline.RUNS, with DayType). Null
      for other day types and where there is none in force.
    """
    packed = ["Last4Avg", "Samples", "Spread", "Growth", "Dates"]
    sides = [
        _side(candidate, "new", packed),
        _side(in_force, "old", packed),
        _side(last_day, "day", ["Date", "Slots", "Values"]),
    ]
    rows = sides[0].unionByName(sides[1], allowMissingColumns=True).unionByName(sides[2], allowMissingColumns=True)

    def profiled(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return _profiled(key, table, as_of, slots, moved_percent)

    schema = ", ".join(f"{name} {kind}" for name, kind in FIGURES.items())
    return rows.groupBy("ServiceName", "DayType").applyInArrow(profiled, schema).where("Lost is not null")


def _side(frame: DataFrame, name: str, columns: list[str]) -> DataFrame:
    return frame.select("ServiceName", "DayType", F.lit(name).alias("_side"), *columns)


class _Row:
    """A packed baseline's row as arrays; NaN where there is no baseline."""

    def __init__(self, table: pa.Table):
        cell = {name: table.column(name).combine_chunks()[0] for name in ("Last4Avg", "Samples", "Spread")}
        self.average: np.ndarray
        self.samples: np.ndarray
        self.average, self.samples, self.spread = (each.values.to_numpy(zero_copy_only=False) for each in cell.values())
        self.known = cell["Last4Avg"].values.is_valid().to_numpy(zero_copy_only=False)
        self.known_spread = cell["Spread"].values.is_valid().to_numpy(zero_copy_only=False)
        self.growth: float = table.column("Growth")[0].as_py()
        self.dates: list[dt.date] = table.column("Dates")[0].as_py()

    def without(self, date: dt.date, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Its averages as they are without that date, whose sums and counts by slot are given; NaN where nothing is left."""
        if date not in self.dates:
            return self.average
        left = self.samples - counts
        averages: np.ndarray = np.divide(self.average * self.samples - sums, left, out=np.full(len(sums), np.nan), where=left > 0)
        return averages


def _profiled(key: tuple[pa.Scalar, ...], table: pa.Table, as_of: dt.date, slots: int, moved_percent: float) -> pa.Table:
    side = np.array(table.column("_side").to_pylist())
    found = {name: table.filter(pa.array(side == name)) for name in ("new", "old", "day")}
    new, old = (_Row(found[name]) if found[name].num_rows else None for name in ("new", "old"))
    figures: dict[str, Any] = {
        "ServiceName": key[0].as_py(),
        "DayType": key[1].as_py(),
        "Lost": new is None if new or old else None,
    }
    if new:
        figures |= _of_candidate(new, as_of) | {"Rows": found["new"].num_rows}
        if old and len(old.average) == len(new.average) == slots:
            figures["MovedShare"] = _moved_share(new, old, moved_percent)
            if found["day"].num_rows:
                figures["HoldoutLoss"] = _holdout_loss(new, old, found["day"])
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in FIGURES.items()])
    return pa.Table.from_pylist([{name: figures.get(name) for name in FIGURES}], schema)


def _of_candidate(new: _Row, as_of: dt.date) -> dict[str, Any]:
    averages, spreads = new.average[new.known], new.spread[new.known_spread]
    return {
        "Slots": len(new.average),
        "CoveredShare": float(new.known.mean()) if len(new.dates) >= baseline.MINIMUM_SAMPLES and len(new.known) else None,
        "Finite": bool(np.isfinite(averages).all() and np.isfinite(spreads).all() and np.isfinite(new.growth)),
        "Lowest": float(averages.min()) if len(averages) else None,
        "Highest": float(averages.max()) if len(averages) else None,
        "LowestSpread": float(spreads.min()) if len(spreads) else None,
        "AgeDays": (as_of - max(new.dates)).days,
    }


def _moved_share(new: _Row, old: _Row, percent: float) -> float | None:
    both = new.known & old.known
    moved = np.abs(new.average - old.average) > percent / 100 * np.abs(old.average)
    return float(moved[both].mean()) if both.any() else None


def _holdout_loss(new: _Row, old: _Row, day: pa.Table) -> float | None:
    slot, value, dates, _ = baseline.unpacked(day)
    counts = np.bincount(slot, minlength=len(new.average))
    sums = np.bincount(slot, weights=value, minlength=len(new.average))
    date = dt.date(1970, 1, 1) + dt.timedelta(days=int(dates[0]))
    by_new, by_old = new.without(date, sums, counts), old.without(date, sums, counts)
    here = (counts > 0) & new.known & old.known & ~np.isnan(by_new) & ~np.isnan(by_old)
    if not here.any():
        return None
    actual = sums[here] / counts[here]
    error, reference = (np.abs(actual - predicted[here]).mean() for predicted in (by_new, by_old))
    return float((error - reference) / max(reference, NEGLIGIBLE * max(actual.mean(), 1.0)))
