"""Readings of history as columns, and what a table of history says of all its services at once.

What is said of all services takes a read of whole columns, so callers keep it.
"""

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

# Each name is repeated for every reading. As a dictionary, the column is read in a fifth of the time.
NAMES = ds.ParquetReadOptions(dictionary_columns={"ServiceName"})
COLUMNS = ("Timestamp", "Value", "KafkaTimestamp")
DAY = dt.timedelta(days=1)
NamesByFile = dict[tuple[dt.date, str], frozenset[str]]  # by date and path


class Archived(NamedTuple):
    """Readings as columns, oldest first, one for each time."""

    at: np.ndarray  # int64, epoch milliseconds
    value: np.ndarray  # int64
    taken: np.ndarray  # int64: epoch milliseconds at which the broker took the reading; 0 of a capture, which no broker took


NONE = Archived(*(np.zeros(0, np.int64) for _ in range(3)))


def scanned(dataset: ds.Dataset, within: ds.Expression, *keys: str) -> pa.Table:
    """Rows by time: the columns `keys`, and those that `as_columns` takes. Older tables lack one of these."""
    names = [name for name in (*keys, *COLUMNS) if name in dataset.schema.names]
    return dataset.to_table(columns=names, filter=within).sort_by("Timestamp")


def as_columns(rows: pa.Table) -> Archived:
    """Rows of one service by time."""
    at, value, taken = (_integers(rows, name) for name in COLUMNS)
    return Archived(at // 1000, value, taken // 1000)


def _integers(rows: pa.Table, name: str) -> np.ndarray:
    """The column, instants as microseconds; 0 where there is nothing."""
    column = rows[name] if name in rows.column_names else pa.nulls(len(rows), pa.int64())
    micros = column.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(column.type) else column
    return micros.cast(pa.int64()).fill_null(0).to_numpy()


def names_by_file(table: DeltaTable, dates: int, known: NamesByFile) -> NamesByFile:
    """The services of each file of the newest so many dates. A file never changes, so one that is `known` is not read again."""
    dataset = table.to_pyarrow_dataset(parquet_read_options=NAMES)
    files = {(ds.get_partition_keys(each.partition_expression)["Date"], each.path): each for each in dataset.get_fragments()}
    newest = sorted({date for date, _ in files})[-dates:]
    return {
        key: known[key] if key in known else frozenset(_names(file, dataset.schema))
        for key, file in files.items()
        if key[0] in newest
    }


def _names(file: ds.Fragment, schema: pa.Schema) -> Iterator[str]:
    for batch in file.to_batches(schema=schema, columns=["ServiceName"]):
        yield from batch.column(0).unique().to_pylist()


def readings_since(table: DeltaTable, since: dt.datetime) -> dict[str, Archived]:
    """By service, its readings from then on."""
    dataset = table.to_pyarrow_dataset(parquet_read_options=NAMES)
    within = (ds.field("Date") >= since.date() - DAY) & (ds.field("Timestamp") >= since)  # a local date can be UTC's yesterday
    rows = scanned(dataset, within, "ServiceName").unify_dictionaries().combine_chunks()
    if not len(rows):
        return {}
    names = rows["ServiceName"].chunk(0)
    numbers = names.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    begins = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    columns = (np.split(column[order], begins[1:]) for column in as_columns(rows))
    found = names.dictionary.take(pa.array(numbers[order][begins])).to_pylist()
    return dict(zip(found, map(Archived, *columns), strict=True))
