"""What the gate looks at: a few figures for each (ServiceName, DayType) of a candidate, beside the baseline in force."""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.transforms import baseline, packed

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
    "NormalLoss": "double",
}
_ARROW = {"string": pa.string(), "int": pa.int32(), "boolean": pa.bool_(), "double": pa.float64()}
NEGLIGIBLE = 0.01  # of the mean: an error below it is no ground to call another error worse
LeftOut = tuple[str, npt.NDArray[np.bool_]]  # pattern of services; by slot, whether their readings count nothing


def profile(
    candidate: DataFrame,
    in_force: DataFrame,
    last_day: DataFrame,
    as_of: dt.date,
    slots: int,
    moved_percent: float,
    left_out: Sequence[LeftOut] = (),
) -> DataFrame:
    """One row, FIGURES, for each (ServiceName, DayType) of either packed baseline (packed.PACKED):

    Lost: in force, but not in the candidate. And of the candidate, null where lost:
    Rows: how many it has, which must be one. Slots: length of the arrays; the lesser of two where they differ.
    CoveredShare: share of the slots with a baseline, 0 to 1; null with fewer than two dates, as a new service has none yet.
    Finite: no average, spread, level, scale or growth is NaN or infinite. Lowest, Highest: of the averages and levels.
    LowestSpread: of the spreads and scales.
    AgeDays: days from its newest date to `as_of`, the date after the last one that may count.
    MovedShare: share of the slots with a baseline in both whose average moved by more than `moved_percent` %.
    HoldoutLoss: by how much worse than the one in force, relative to the latter's mean absolute error, its averages predict the
      last complete day, when that day is taken out of both; `last_day` holds its readings (baseline.RUNS, with DayType). Null
      for other day types and where there is none in force. left_out: slots of that day that are not predicted.
    NormalLoss: the same of its levels; null also where either has none, as the release that made the one in force had not.
    """
    columns = [name for name in packed.COLUMNS if name not in ("ServiceName", "DayType")]
    sides = [
        _side(candidate, "new", columns),
        _side(in_force, "old", columns),
        _side(last_day, "day", ["Date", "Slots", "Values"]),
    ]
    rows = sides[0].unionByName(sides[1], allowMissingColumns=True).unionByName(sides[2], allowMissingColumns=True)

    def profiled(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return _profiled(key, table, as_of, slots, moved_percent, left_out)

    schema = ", ".join(f"{name} {kind}" for name, kind in FIGURES.items())
    return rows.groupBy("ServiceName", "DayType").applyInArrow(profiled, schema).where("Lost is not null")


def _side(frame: DataFrame, name: str, columns: list[str]) -> DataFrame:
    return frame.select("ServiceName", "DayType", F.lit(name).alias("_side"), *columns)


class _Row:
    """A packed baseline's row as arrays."""

    def __init__(self, table: pa.Table):
        self._cells = {name: table.column(name).combine_chunks()[0] for name in packed.COLUMNS}
        self.average, self.samples, self.level, self.level_before = map(
            self._array, ("Last4Avg", "Samples", "Level", "LevelBefore")
        )
        self.known = self._known("Last4Avg")
        self.growth: float = table.column("Growth")[0].as_py()
        self.dates: list[dt.date] = table.column("Dates")[0].as_py()
        self.normal_dates: list[dt.date] = table.column("NormalDates")[0].as_py() or []

    def all_of(self, *names: str) -> np.ndarray:
        """The elements of these arrays that are not null."""
        return np.concatenate([self._array(name)[self._known(name)] for name in names])

    def average_without(self, date: dt.date, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Its averages as they are without that date, whose sums and counts by slot are given; NaN where nothing is left."""
        if date not in self.dates:
            return self.average
        left = self.samples - counts
        averages: np.ndarray = np.divide(self.average * self.samples - sums, left, out=np.full(len(sums), np.nan), where=left > 0)
        return averages

    def level_without(self, date: dt.date) -> np.ndarray:
        """Its levels as they are without that date, which is the newest if it is among its dates; NaN where there is none."""
        return self.level_before if date in self.normal_dates else self.level

    def _array(self, name: str) -> np.ndarray:
        """NaN where it is null; without elements where there is none."""
        found: np.ndarray = self._cells[name].values.to_numpy(zero_copy_only=False) if self._cells[name].is_valid else np.empty(0)
        return found

    def _known(self, name: str) -> np.ndarray:
        cell = self._cells[name]
        found: np.ndarray = cell.values.is_valid().to_numpy(zero_copy_only=False) if cell.is_valid else np.empty(0, bool)
        return found


def _profiled(
    key: tuple[pa.Scalar, ...], table: pa.Table, as_of: dt.date, slots: int, moved_percent: float, left_out: Sequence[LeftOut]
) -> pa.Table:
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
                here = [where for pattern, where in left_out if re.fullmatch(pattern, figures["ServiceName"])]
                figures |= _holdout(new, old, found["day"], np.logical_or.reduce(here, initial=False))
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in FIGURES.items()])
    return pa.Table.from_pylist([{name: figures.get(name) for name in FIGURES}], schema)


def _of_candidate(new: _Row, as_of: dt.date) -> dict[str, Any]:
    averages, spreads = new.all_of("Last4Avg", "Level"), new.all_of("Spread", "Scale")
    return {
        "Slots": min(len(new.average), len(new.level)),
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


def _holdout(new: _Row, old: _Row, day: pa.Table, left_out: np.ndarray) -> dict[str, float | None]:
    slot, value, dates, _ = baseline.unpacked(day)
    counts = np.bincount(slot, minlength=len(new.average))
    sums = np.bincount(slot, weights=value, minlength=len(new.average))
    date = dt.date(1970, 1, 1) + dt.timedelta(days=int(dates[0]))
    actual = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=(counts > 0) & ~left_out)
    averages = [np.where(each.known, each.average_without(date, sums, counts), np.nan) for each in (new, old)]
    levels = [each.level_without(date) for each in (new, old)]
    return {
        "HoldoutLoss": _loss(actual, *averages),
        "NormalLoss": _loss(actual, *levels) if all(len(each) == len(actual) for each in levels) else None,
    }


def _loss(actual: np.ndarray, by_new: np.ndarray, by_old: np.ndarray) -> float | None:
    """By how much worse the new prediction is, relative to the old one's mean absolute error; of the slots that all have."""
    here = ~np.isnan(actual) & ~np.isnan(by_new) & ~np.isnan(by_old)
    if not here.any():
        return None
    error, reference = (np.abs(actual[here] - predicted[here]).mean() for predicted in (by_new, by_old))
    return float((error - reference) / max(reference, NEGLIGIBLE * max(actual[here].mean(), 1.0)))
