"""A baseline as its table has it: one row for each service and day type, with arrays indexed by slot.

A row has the plain figures (`baseline.Plain`), from the last four dates of the day type, and beside them the robust normal
(`normal.Normal`), from up to twelve.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.transforms import baseline, local_time, normal
from jobs.transforms.excluded import Range
from jobs.transforms.excluded_slots import excluded
from jobs.transforms.maintenance import Window

Floats = npt.NDArray[np.float64]

COLUMNS = {
    "ServiceName": "string",
    "DayType": "int",
    "Last4Avg": "array<double>",
    "Samples": "array<int>",
    "Spread": "array<double>",
    "Growth": "double",
    "Dates": "array<date>",
    "Level": "array<double>",
    "Scale": "array<double>",
    "LevelBefore": "array<double>",
    "NormalDates": "array<date>",
}
ROBUST = ("Level", "Scale", "LevelBefore", "NormalDates")  # columns that a baseline of an earlier release lacks
PACKED = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
_ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "double": pa.float64(),
    "array<double>": pa.list_(pa.float64()),
    "array<int>": pa.list_(pa.int32()),
    "array<date>": pa.list_(pa.date32()),
}
_SCHEMA = pa.schema({name: _ARROW[kind] for name, kind in COLUMNS.items()})
SECONDS_PER_DAY = 86_400


class Source(NamedTuple):
    """What the rows of one day type are made from.

    last: dates of the plain figures. normal: dates of the robust normal; both ascending. left_out: readings of these that count
    nothing in the robust normal, as (service, or None for all; start; end), in epoch milliseconds, the end excluded. maintenance:
    windows that touch these dates; readings in them do not count there either.
    """

    day_type: int
    last: Sequence[dt.date]
    normal: Sequence[dt.date]
    left_out: Sequence[Range] = ()
    maintenance: Sequence[Window] = ()

    @property
    def dates(self) -> list[dt.date]:
        """All of them, ascending."""
        return sorted({*self.last, *self.normal})


class How(NamedTuple):
    """What of a feed's declaration the formulas use. spread_windows: windows of a day; their slots are neighbours."""

    timezone: dt.tzinfo
    interval_seconds: int
    spread_windows: int
    grows: bool = False

    @property
    def slots(self) -> int:
        return SECONDS_PER_DAY // self.interval_seconds


def build(runs: DataFrame, source: Source, how: How) -> DataFrame:
    """The rows of one day type, PACKED, from the runs (baseline.RUNS) of the source's dates.

    A service without a reading on the dates `last` has no row. Elements are null where `baseline.Plain` and `normal.Normal` have
    NaN; Samples is null where Last4Avg is.
    Dates, NormalDates: the local dates with readings that contributed to the plain figures and to the robust normal, ascending.
    LevelBefore: Level as it would be without the newest of NormalDates, which the gate predicts with it.
    """

    def packed(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return row(key[0].as_py(), table, source, how)

    return runs.groupBy("ServiceName").applyInArrow(packed, PACKED)


def row(service: str, runs: pa.Table, source: Source, how: How) -> pa.Table:
    """The row of one service from its runs, or none."""
    last = _of_dates(runs, source.last)
    if not last.num_rows:
        return _SCHEMA.empty_table()
    found = baseline.plain(last, how.slots, how.spread_windows, how.grows)
    dates, values = _counting(service, _of_dates(runs, source.normal), source, how)
    robust = normal.normal(values, how.spread_windows)
    before = normal.normal(values[:-1], how.spread_windows).level
    known = ~np.isnan(found.average)
    return pa.table(
        [
            pa.array([service]),
            pa.array([source.day_type], pa.int32()),
            _one_list(found.average),
            _one_list(found.samples, pa.int32(), ~known),
            _one_list(found.spread),
            pa.array([found.growth]),
            _one_list(found.dates, pa.int32()).cast(_ARROW["array<date>"]),
            *map(_one_list, (robust.level, robust.scale, before)),
            _one_list(dates, pa.int32()).cast(_ARROW["array<date>"]),
        ],
        schema=_SCHEMA,
    )


def completed(rows: DataFrame) -> DataFrame:
    """Rows of a baseline with all columns of PACKED. It may be of a release without the robust normal: then that is null."""
    missing = {name: F.lit(None).cast(COLUMNS[name]) for name in ROBUST if name not in rows.columns}
    return rows.withColumns(missing) if missing else rows


def with_normal(rows: pa.Table) -> pa.Table:
    """The same outside Spark."""
    for name in ROBUST:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(rows.num_rows, _ARROW[COLUMNS[name]]))
    return rows


def by_day_type(runs: DataFrame, day_types: Mapping[dt.date, int]) -> DataFrame:
    """Runs (baseline.RUNS) with DayType int. day_types: as of `local_time.day_type`."""
    return runs.withColumn("DayType", local_time.day_type(F.col("Date"), day_types))


def _counting(service: str, runs: pa.Table, source: Source, how: How) -> tuple[npt.NDArray[np.int32], Floats]:
    """The dates of the runs (days since 1970), ascending, and their values by date and slot; NaN where nothing counts. A date
    without anything that counts is left out."""
    if not runs.num_rows:
        return np.array([], np.int32), np.empty((0, how.slots))
    dates, values = normal.by_date(runs, how.slots)
    values[_left_out(service, source, dates, how)] = np.nan
    some = ~np.isnan(values).all(axis=1)
    return dates[some], values[some]


def _left_out(service: str, source: Source, dates: npt.NDArray[np.int32], how: How) -> npt.NDArray[np.bool_]:
    """By date and slot, whether readings of the service do not count."""
    spans = [(start, end) for name, start, end in source.left_out if name in (None, service)]
    spans += [(start, end) for pattern, start, end in source.maintenance if re.fullmatch(pattern, service)]
    ranges = [(_instant(start), _instant(end)) for start, end in spans]
    return excluded(ranges, dates, how.timezone, how.interval_seconds)


def _of_dates(runs: pa.Table, dates: Sequence[dt.date]) -> pa.Table:
    return runs.filter(pc.is_in(runs.column("Date"), value_set=pa.array(dates, pa.date32())))


def _instant(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)


def _one_list(values: np.ndarray, kind: pa.DataType | None = None, missing: np.ndarray | None = None) -> pa.ListArray:
    """missing: where it is null; by default where it is NaN."""
    kind, missing = kind or pa.float64(), np.isnan(values) if missing is None else missing
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values, kind, mask=missing))
