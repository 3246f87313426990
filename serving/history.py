"""What history/<feed> holds of one service, from its Delta table. A day that was read stays in memory until its files change.

The rows of a date are sorted by service, so DuckDB skips most of each file: it reads a service's day in a tenth of the time that
Arrow's own scan takes. Files that are not on this machine are read by Arrow.
"""

import datetime as dt
import threading
from collections import OrderedDict
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

from contracts.feeds import Feed
from serving.archived import DAY, NONE, Archived, NamesByFile, as_columns, names_by_file, readings_since, scanned
from serving.lake import Lake, Version, version_of

HELD_READINGS = 6_000_000  # 24 bytes each: five weeks of about twenty services that send every ten seconds
KNOWN_DATES = 35  # the newest, whose services are known: as many as the longest window that ends now
NEWEST = 120  # intervals before the newest reading, of which each service's readings are kept: the longest sparkline
# A column that an older file lacks is null.
QUERY = """
SELECT epoch_us(Timestamp) AS Instant, Value, epoch_us(KafkaTimestamp) AS Taken
FROM (SELECT NULL::TIMESTAMPTZ AS KafkaTimestamp WHERE false UNION ALL BY NAME
      SELECT * FROM read_parquet($files, union_by_name = true, hive_partitioning = false))
WHERE ServiceName = $service"""

DayKey = tuple[str, str, dt.date, tuple[str, ...]]  # feed, service, local date, the date's files


class History:
    """Reads `history/<feed>` of the lake. Safe to call from several threads."""

    def __init__(self, lake: Lake):
        self._lake = lake
        self._lock = threading.Lock()
        self._days: OrderedDict[DayKey, Archived] = OrderedDict()
        self._held = 0
        self._names: dict[str, NamesByFile] = {}
        self._duckdb = duckdb.connect(config={"memory_limit": "512MB", "autoinstall_known_extensions": "false"})

    def version(self, feed: Feed) -> Version | None:
        """Of the table; None: there is none yet."""
        table = self._open(feed)
        return None if table is None else version_of(table)

    def services(self, feed: Feed, dates: int = KNOWN_DATES) -> frozenset[str]:
        """Services of the newest so many dates."""
        table = self._open(feed)
        if table is None:
            return frozenset()
        return self._lake.of_version((f"services of {dates} dates", feed.name), table, lambda: self._services(feed, table, dates))

    def _services(self, feed: Feed, table: DeltaTable, dates: int) -> frozenset[str]:
        known = self._names.get(feed.name, {})
        names = self._lake.of_version(("names", feed.name), table, lambda: names_by_file(table, KNOWN_DATES, known))
        self._names[feed.name] = names
        newest = sorted({date for date, _ in names})[-dates:]
        return frozenset().union(*(of_file for (date, _), of_file in names.items() if date in newest))

    def newest(self, feed: Feed) -> dict[str, Archived]:
        """By service, its readings of the newest intervals of the feed; of a service that has none there nothing."""
        table, newest = self._open(feed), self.newest_at(feed)
        if table is None or newest is None:
            return {}
        back = dt.timedelta(seconds=NEWEST * feed.interval_seconds)
        since = min(dt.datetime.fromtimestamp(newest / 1000, dt.UTC), dt.datetime.now(dt.UTC)) - back
        return self._lake.of_version(("newest readings", feed.name), table, lambda: readings_since(table, since))

    def until(self, feed: Feed) -> dt.datetime | None:
        """When the broker took the newest reading that was archived; the newest reading's own time where no broker did."""
        newest = self._newest(feed)
        return newest.get("KafkaTimestamp") or newest.get("Timestamp")

    def newest_at(self, feed: Feed) -> int | None:
        """Time of the newest reading of any service, epoch milliseconds."""
        at = self._newest(feed).get("Timestamp")
        return None if at is None else round(at.timestamp() * 1000)

    def _newest(self, feed: Feed) -> dict[str, dt.datetime]:
        table = self._open(feed)
        return {} if table is None else self._lake.of_version(("newest", feed.name), table, lambda: _newest(table))

    def readings(self, feed: Feed, service: str, start: dt.datetime, end: dt.datetime) -> Archived:
        """Those of [start, end]."""
        table = self._open(feed)
        if table is None or start > end:
            return NONE
        first, last = (round(each.timestamp() * 1000) for each in (start, end))
        days = [_within(day, first, last) for day in self._of_days(feed, service, table, _dates(feed, start, end))]
        return Archived(*(np.concatenate(columns) for columns in zip(NONE, *days, strict=True)))

    def _open(self, feed: Feed) -> DeltaTable | None:
        return self._lake.open(f"history/{feed.table}")

    def _of_days(self, feed: Feed, service: str, table: DeltaTable, dates: list[dt.date]) -> list[Archived]:
        dataset = self._lake.of_version(("history", feed.name), table, table.to_pyarrow_dataset)
        known = self._lake.of_version(("files", feed.name), table, lambda: _files_by_date(dataset))
        files = {date: known[date] for date in dates if date in known}
        keys: dict[dt.date, DayKey] = {date: (feed.name, service, date, files[date]) for date in files}
        with self._lock:
            found = {date: self._days[key] for date, key in keys.items() if key in self._days}
            for date in found:
                self._days.move_to_end(keys[date])
        missing = [date for date in keys if date not in found]
        if missing:
            within = (ds.field("Date") >= dates[0]) & (ds.field("Date") <= dates[-1]) & (ds.field("ServiceName") == service)
            read = self._read(feed, service, dataset, [path for date in missing for path in files[date]], within)
            found |= {date: _between(read, _midnight(feed, date), _midnight(feed, date + DAY)) for date in missing}
            self._keep({keys[date]: found[date] for date in missing})
        return [found[date] for date in keys]

    def _read(self, feed: Feed, service: str, dataset: ds.Dataset, files: list[str], within: ds.Expression) -> Archived:
        root = Path(self._lake.root) / "history" / feed.table
        if root.is_dir():
            values = {"files": [str(root / file) for file in files], "service": service}
            columns = self._duckdb.cursor().execute(QUERY, values).fetchnumpy()
            order = np.argsort(columns["Instant"], kind="stable")
            at, value, taken = (np.ma.filled(columns[name], 0)[order] for name in ("Instant", "Value", "Taken"))
            return Archived(at // 1000, value.astype(np.int64), taken // 1000)
        return as_columns(scanned(dataset, within))

    def _keep(self, days: dict[DayKey, Archived]) -> None:
        with self._lock:
            for key, day in days.items():
                if key not in self._days:
                    self._days[key] = day
                    self._held += 1 + len(day.at)  # a day without readings takes room, too
            while self._held > HELD_READINGS:
                self._held -= 1 + len(self._days.popitem(last=False)[1].at)


def _dates(feed: Feed, start: dt.datetime, end: dt.datetime) -> list[dt.date]:
    """The local dates of [start, end]."""
    first, last = (each.astimezone(feed.zone).date() for each in (start, end))
    return [first + DAY * number for number in range((last - first).days + 1)]


def _midnight(feed: Feed, date: dt.date) -> int:
    """Epoch milliseconds at which that local date begins."""
    return round(dt.datetime.combine(date, dt.time(), feed.zone).timestamp() * 1000)


def _files_by_date(dataset: ds.Dataset) -> dict[dt.date, tuple[str, ...]]:
    """By date, ascending, the paths of its files."""
    found: dict[dt.date, list[str]] = {}
    for fragment in dataset.get_fragments():
        found.setdefault(ds.get_partition_keys(fragment.partition_expression)["Date"], []).append(fragment.path)
    return {date: tuple(sorted(paths)) for date, paths in sorted(found.items())}


def _within(day: Archived, first: int, last: int) -> Archived:
    """Those of [first, last]."""
    there = slice(np.searchsorted(day.at, first), np.searchsorted(day.at, last, side="right"))
    return Archived(*(column[there] for column in day))


def _between(read: Archived, start: int, end: int) -> Archived:
    """Those of [start, end). A copy: a day that is kept keeps no others."""
    there = slice(*np.searchsorted(read.at, [start, end]))
    return Archived(*(column[there].copy() for column in read))


def _newest(table: DeltaTable) -> dict[str, dt.datetime]:
    """The newest instant of each column of times, as the table's log says."""
    files = _files(table)
    instants = {
        name: [file[f"max.{name}"] for file in files if file.get(f"max.{name}")] for name in ("Timestamp", "KafkaTimestamp")
    }
    return {name: max(known) for name, known in instants.items() if known}


def _files(table: DeltaTable) -> list[dict]:
    return pa.table(table.get_add_actions(flatten=True)).to_pylist()
