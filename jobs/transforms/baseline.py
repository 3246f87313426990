"""The baseline of normal: Last4Avg and a robust spread by service, day type and slot, packed as arrays by slot.

Readings are packed on their way in, by runs of rows of one service and date, so what is shuffled is some thousand rows of bytes
instead of millions of rows; a service's day type is then one call of numpy on all its values. Any order and any cut of the rows
gives the same result, bit for bit: sums are of whole numbers, medians of sorted values.
"""

import datetime as dt
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.transforms import calendar, growth

MINIMUM_SAMPLES = 2
# Median absolute deviation to standard deviation for normally distributed residuals: 1 / quantile(3/4) of the standard
# normal distribution (Rousseeuw and Croux 1993, "Alternatives to the Median Absolute Deviation").
MAD_TO_SIGMA = 1.4826022185056018
RUNS = "ServiceName string, Date date, Slots binary, Values binary"  # int32 and int64, as many of each
PACKED = (
    "ServiceName string, DayType int, Last4Avg array<double>, Samples array<int>, Spread array<double>, Growth double, "
    "Dates array<date>"
)


def to_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of history (ServiceName, Date, Slot, Value) as RUNS: one row for each run of rows of one service and date.

    History is sorted by service and time, so a run is a day of a service, or the part of it that came in one batch.
    """
    for batch in batches:
        if not batch.num_rows:
            continue
        names, dates = batch.column("ServiceName"), batch.column("Date").cast(pa.int32()).to_numpy()
        codes = (names if pa.types.is_dictionary(names.type) else names.dictionary_encode()).indices.to_numpy()
        starts = np.concatenate([[0], np.flatnonzero((np.diff(codes) != 0) | (np.diff(dates) != 0)) + 1])
        bounds = np.append(starts, batch.num_rows)
        key = [names.take(pa.array(starts)).cast(pa.string()), batch.column("Date").take(pa.array(starts))]
        cut = [_cut(batch.column(name).to_numpy(), bounds) for name in ("Slot", "Value")]
        yield pa.RecordBatch.from_arrays([*key, *cut], ["ServiceName", "Date", "Slots", "Values"])


def build(runs: DataFrame, holidays: list[dt.date], slots: int, spread_windows: int, grows: bool) -> DataFrame:
    """One row per (ServiceName, DayType), PACKED, from the RUNS of the dates that count.

    Last4Avg[slot]: mean of the values; Samples[slot]: how many; both null below two samples: no baseline.
    Spread[slot * spread_windows / slots]: 1.4826 x median of the residuals abs(Value - Last4Avg) * sqrt(n / (n - 1)), pooled over
      a window of neighbouring slots, so that four samples a slot suffice; the root undoes the mean's own fit. Null: none known.
    Growth: `growth.factor` of the sums of its four dates, which are the weeks' sums of this kind of day, where the feed grows;
      else 1. A date with gaps counts as if it had gone on as in the rest of it.
    Dates: the local dates that contributed, ascending.
    """

    def packed(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return _packed(key, table, slots, spread_windows, grows)

    return by_day_type(runs, holidays).groupBy("ServiceName", "DayType").applyInArrow(packed, PACKED)


def by_day_type(runs: DataFrame, holidays: list[dt.date]) -> DataFrame:
    """RUNS with DayType int."""
    return runs.withColumn("DayType", calendar.day_type(F.col("Date"), holidays))


def _cut(numbers: np.ndarray, bounds: np.ndarray) -> pa.BinaryArray:
    """The bytes of the numbers between each two bounds, without a copy."""
    offsets = (bounds * numbers.itemsize).astype(np.int32)
    return pa.BinaryArray.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(numbers)])


def _joined(column: pa.ChunkedArray, kind: type) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all the bytes in a column, and how many each row holds."""
    cells = [np.frombuffer(cell.as_buffer(), kind) for cell in column]
    return np.concatenate(cells), np.array([len(cell) for cell in cells])


def _packed(key: tuple[pa.Scalar, ...], table: pa.Table, slots: int, spread_windows: int, grows: bool) -> pa.Table:
    """The row of one service and day type from its runs."""
    slot, value, dates_of_runs, lengths = unpacked(table)
    dates, of_run = np.unique(dates_of_runs, return_inverse=True)
    of_reading = np.repeat(of_run, lengths)
    # Each scaled to a whole day: a gap is no shrinking.
    sums = np.bincount(of_reading, weights=value) * (slots / np.bincount(of_run, weights=lengths))
    samples = np.bincount(slot, minlength=slots)
    known = samples >= MINIMUM_SAMPLES
    average = np.divide(np.bincount(slot, weights=value, minlength=slots), samples, out=np.zeros(slots), where=known)
    spread = _spread(slot, value, average, samples, known, spread_windows)
    return pa.table(
        [
            pa.array([key[0].as_py()]),
            pa.array([key[1].as_py()], pa.int32()),
            _one_list(average, ~known, pa.float64()),
            _one_list(samples, ~known, pa.int32()),
            _one_list(spread, np.isnan(spread), pa.float64()),
            pa.array([growth.factor(sums) if grows else 1.0]),
            _one_list(dates, None, pa.int32()).cast(pa.list_(pa.date32())),
        ],
        names=["ServiceName", "DayType", "Last4Avg", "Samples", "Spread", "Growth", "Dates"],
    )


def unpacked(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """From RUNS: slot and value of every reading; date (days since 1970) of every run, and how many readings it has."""
    slot, lengths = _joined(table.column("Slots"), np.int32)
    value, _ = _joined(table.column("Values"), np.int64)
    return slot, value, table.column("Date").cast(pa.int32()).to_numpy(), lengths


def _spread(
    slot: np.ndarray, value: np.ndarray, average: np.ndarray, samples: np.ndarray, known: np.ndarray, windows: int
) -> np.ndarray:
    """By window: 1.4826 x the median of its residuals; NaN where it has none."""
    here = known[slot]
    slot, value = slot[here], value[here]
    residual = np.abs(value - average[slot]) * np.sqrt(samples[slot] / (samples[slot] - 1))
    window = slot * windows // len(samples)
    # By window, then by size, as np.lexsort has it in five times the time: the second sort is stable, and of small whole numbers.
    by_size = np.argsort(residual)
    small = window.astype(np.min_scalar_type(windows))
    residual = residual[by_size[np.argsort(small[by_size], kind="stable")]]
    count = np.bincount(window, minlength=windows)
    first = np.cumsum(count) - count
    spread = np.full(windows, np.nan)
    some = count > 0
    low, high = residual[(first + (count - 1) // 2)[some]], residual[(first + count // 2)[some]]
    spread[some] = MAD_TO_SIGMA * ((low + high) / 2)
    return spread


def _one_list(values: np.ndarray, missing: np.ndarray | None, kind: pa.DataType) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values, kind, mask=missing))
