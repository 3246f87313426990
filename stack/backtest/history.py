"""history/<feed> as a backtest reads it: date by date, by delta-rs, without Spark."""

import datetime as dt
import json
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from contracts import placed_by
from contracts.exclusions import excluded, statements
from contracts.feeds import Feed
from jobs.transforms.detector.moments import Floats, Ints
from stack.errors import StackError

DAY_MS = 86_400_000
EPOCH = dt.date(1970, 1, 1)


class Day(NamedTuple):
    """The readings of a local date by time, those of one time by service. names: of the date's services, in order.

    service: number among `names`. at: epoch milliseconds. wall: milliseconds that the local clock shows.
    """

    names: list[str]
    service: Ints
    at: Ints
    wall: Ints
    value: Floats
    given: pa.Array


class History:
    """The table as it is when this is made. dates: those that have rows, ascending."""

    def __init__(self, lake: str, feed: Feed):
        """Raises StackError if there is no table, no row in it, or if its rows were placed by another interval or time zone."""
        self.feed, self._lake, self._name = feed, lake, f"history/{feed.table}"
        archive = f"archive the feed first: DAG archive_history.{feed.name}, or load its past with bootstrap_feed.{feed.name}"
        try:
            table = DeltaTable(f"{lake}/{self._name}")
        except TableNotFoundError as error:
            raise StackError(f"{self._name} does not exist in {lake}", remedy=archive) from error
        self._placed_as_declared(table)
        self.rows = rows_by_date(table)
        if not self.rows:
            raise StackError(f"{self._name} has no rows", remedy=archive)
        self.dates = sorted(self.rows)
        self._dataset = table.to_pyarrow_dataset()

    def day(self, date: dt.date) -> Day:
        wanted = ["ServiceName", "Timestamp", "Slot", "Value"]
        rows = self._dataset.to_table(columns=wanted, filter=ds.field("Date") == date).combine_chunks()
        service, names = _coded(rows.column("ServiceName"))
        at = rows.column("Timestamp").cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()).to_numpy()
        order = np.lexsort((service, at))
        slot = rows.column("Slot").to_numpy().astype(np.int64)
        wall = (date - EPOCH).days * DAY_MS + slot * self.feed.interval_seconds * 1000
        given = rows.column("Value").combine_chunks().take(pa.array(order))
        value = given.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return Day(names, service[order], at[order], wall[order], value, given.cast(pa.string()))

    def excluded(self) -> list[tuple[str | None, int, int]]:
        """What people excluded of the feed as of now: (service, or None for all; start; end), epoch milliseconds."""
        try:
            table = DeltaTable(f"{self._lake}/exclusions/{self.feed.table}")
        except TableNotFoundError:
            return []
        log = statements(table.to_pyarrow_dataset().to_table().to_pylist())
        return [(each.service, _ms(each.start), _ms(each.end)) for each in excluded(log)]

    def _placed_as_declared(self, table: DeltaTable) -> None:
        notes = (json.loads(commit.get("userMetadata") or "{}") for commit in table.history())
        if differ := placed_by.difference(self.feed, notes):
            raise StackError(
                f"{self._name} was made with another interval or time zone: {differ}",
                remedy=f"take the change back in schemas/feeds/{self.feed.name}.yaml",
            )


def _ms(instant: dt.datetime) -> int:
    return round(instant.timestamp() * 1000)


def rows_by_date(table: DeltaTable) -> dict[dt.date, int]:
    """How many rows each local date of a history has; none of a date without rows."""
    files, rows = table.get_add_actions(flatten=True), {}
    for date, count in zip(files.column("partition.Date").to_pylist(), files.column("num_records").to_pylist(), strict=True):
        date = date if isinstance(date, dt.date) else dt.date.fromisoformat(date)
        rows[date] = rows.get(date, 0) + (count or 0)
    return rows


def _coded(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """(number of each cell's text among all in order, all in order)."""
    coded = column.combine_chunks().dictionary_encode()
    names = np.array(coded.dictionary.to_pylist(), object)
    order = np.argsort(names)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[coded.indices.to_numpy()], names[order].tolist()
