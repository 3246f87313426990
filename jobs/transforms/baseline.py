"""The plain baseline of a service's day type: Last4Avg by slot, and a robust spread; and the runs that baselines are made from.

Readings are packed on their way in, by runs of rows of one service and date, so what is shuffled is some thousand rows of bytes
instead of millions of rows; a service's day type is then one call of numpy on all its values. Any order and any cut of the rows
gives the same result, bit for bit: sums are of whole numbers, medians of sorted values.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.transforms import growth

MINIMUM_SAMPLES = 2
# Median absolute deviation to standard deviation for normally distributed residuals: 1 / quantile(3/4) of the standard
# normal distribution (Rousseeuw and Croux 1993, "Alternatives to the Median Absolute Deviation").
MAD_TO_SIGMA = 1.4826022185056018
RUNS = "ServiceName string, Date date, Slots binary, Values binary"  # int32 and int64, as many of each


class Plain(NamedTuple):
    """The plain figures of one service and day type; NaN: none known.

    average: by slot, mean of the values; samples: how many. Below two samples there is no average: no baseline.
    spread: by window of slots, 1.4826 x median of the residuals abs(value - average) * sqrt(n / (n - 1)), pooled over the slots
      of the window, so that four samples a slot suffice; the root undoes the mean's own fit.
    growth: `growth.factor` of the sums of its four dates, which are the weeks' sums of this kind of day, where the feed grows;
      else 1. A date with gaps counts as if it had gone on as in the rest of it.
    dates: the local dates that contributed, in days since 1970, ascending.
    """

    average: npt.NDArray[np.float64]
    samples: npt.NDArray[np.int64]
    spread: npt.NDArray[np.float64]
    growth: float
    dates: npt.NDArray[np.int32]


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


def plain(runs: pa.Table, slots: int, spread_windows: int, grows: bool) -> Plain:
    """From the RUNS of one service on the dates that count, at least one."""
    slot, value, dates_of_runs, lengths = unpacked(runs)
    dates, of_run = np.unique(dates_of_runs, return_inverse=True)
    of_reading = np.repeat(of_run, lengths)
    # Each scaled to a whole day: a gap is no shrinking.
    sums = np.bincount(of_reading, weights=value) * (slots / np.bincount(of_run, weights=lengths))
    samples = np.bincount(slot, minlength=slots)
    known = samples >= MINIMUM_SAMPLES
    average = np.divide(np.bincount(slot, weights=value, minlength=slots), samples, out=np.full(slots, np.nan), where=known)
    spread = _spread(slot, value, average, samples, known, spread_windows)
    return Plain(average, samples, spread, growth.factor(sums) if grows else 1.0, dates)


def _cut(numbers: np.ndarray, bounds: np.ndarray) -> pa.BinaryArray:
    """The bytes of the numbers between each two bounds, without a copy."""
    offsets = (bounds * numbers.itemsize).astype(np.int32)
    return pa.BinaryArray.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(numbers)])


def _joined(column: pa.ChunkedArray, kind: type) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all the bytes in a column, and how many each row holds."""
    cells = [np.frombuffer(cell.as_buffer(), kind) for cell in column]
    return np.concatenate(cells), np.array([len(cell) for cell in cells])


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
