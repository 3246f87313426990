"""Readings in motion: Arrow batches of one schema, whatever they come from, and what narrows a stream of them."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

READINGS = pa.schema(
    [
        pa.field("ServiceName", pa.string(), nullable=False),
        pa.field("Timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("Value", pa.int64(), nullable=False),
    ]
)

Readings = Iterable[pa.RecordBatch]  # every batch has the schema READINGS


def batch(services, milliseconds, values) -> pa.RecordBatch:
    """A batch from names (list or Arrow array), epoch milliseconds and values (numpy arrays)."""
    names = services if isinstance(services, pa.Array) else pa.array(services, pa.string())
    times = pa.array(np.asarray(milliseconds, np.int64)).cast(READINGS.field("Timestamp").type)
    return pa.RecordBatch.from_arrays([names, times, pa.array(np.asarray(values, np.int64))], schema=READINGS)


def milliseconds(readings: pa.RecordBatch) -> np.ndarray:
    """The times of a batch as epoch milliseconds."""
    return readings.column("Timestamp").cast(pa.int64()).to_numpy()


def kept(readings: pa.RecordBatch, mask: np.ndarray) -> pa.RecordBatch:
    """The rows of a batch where the mask is true; the batch itself where that is every row."""
    return readings if mask.all() else readings.filter(pa.array(mask))


def between(readings: Readings, start: int | None, end: int | None) -> Iterator[pa.RecordBatch]:
    """Readings with start <= Timestamp < end, both in epoch milliseconds; None leaves that side open."""
    for each in readings:
        times = milliseconds(each)
        mask = np.ones(len(times), bool)
        if start is not None:
            mask &= times >= start
        if end is not None:
            mask &= times < end
        yield kept(each, mask)


def limited(readings: Readings, count: int | None) -> Iterator[pa.RecordBatch]:
    """The first `count` readings; all of them where count is None."""
    left = count
    for each in readings:
        if left is None:
            yield each
            continue
        yield each.slice(0, left)
        left -= min(left, each.num_rows)
        if left == 0:
            return
