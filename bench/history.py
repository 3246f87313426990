"""A generated history of a fleet, as the archive leaves it, and in SQL what a baseline of it must be."""

import datetime as dt
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contracts.feeds import Feed
from stack.instance import Instance

LAST = dt.date(2026, 10, 20)  # a Tuesday, whose day type the night after must compute anew
WHOLE_DATE = 1 << 30  # bytes: more than any date's file
Dates = dict[int, list[dt.date]]  # by day type
READ = """
SELECT ServiceName, Value, Slot
FROM read_parquet({files}, hive_partitioning = false)"""
AVERAGE = """
CREATE OR REPLACE TEMP TABLE known AS
SELECT ServiceName, {day_type} AS DayType, Slot, avg(Value) AS Last4Avg, count(*)::INTEGER AS Samples
FROM ({read}) GROUP BY ALL HAVING count(*) >= 2;
COPY known TO '{out}/slots-{day_type}.parquet';"""
SPREAD = """
COPY (
  SELECT ServiceName, DayType, Slot // {per_window} AS SpreadWindow,
         1.4826022185056018 * median(abs(Value - Last4Avg) * sqrt(Samples / (Samples - 1))) AS Spread
  FROM ({read}) JOIN known USING (ServiceName, Slot) GROUP BY ALL
) TO '{out}/windows-{day_type}.parquet';"""


@dataclass(frozen=True)
class Fleet:
    """A feed, its services, and a stack whose lake has their readings of so many local dates, the last of them LAST."""

    instance: Instance
    feed: Feed
    services: int
    days: int

    @property
    def names(self) -> list[str]:
        """Of the services, ascending."""
        return [f"service-{number:03d}" for number in range(self.services)]

    @property
    def history(self) -> Path:
        return self.instance.lake / "history" / self.feed.table

    @property
    def candidate(self) -> Path:
        return self.instance.lake / "baseline_candidate" / self.feed.table

    @property
    def utc_offset(self) -> dt.timedelta:
        """Of every reading. ValueError where the clocks are changed on one of the dates."""
        days = [LAST - dt.timedelta(days=back) for back in range(-1, self.days)]
        (offset, *others) = {dt.datetime.combine(day, dt.time(), self.feed.zone).utcoffset() for day in days}
        if others:
            raise ValueError(f"{self.days} days before {LAST} reach past a change of clocks in {self.feed.timezone}")
        return offset


def generate(fleet: Fleet) -> None:
    """Writes the Delta table by date, each date one sorted file, unless it is there already.

    A date's rows depend on the date and the number of services alone: tables of different lengths agree where they overlap.
    """
    if fleet.history.exists():
        return
    draft = fleet.history.with_name(f"{fleet.history.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.parent.mkdir(parents=True, exist_ok=True)
    for back in reversed(range(fleet.days)):
        rows = readings(fleet, LAST - dt.timedelta(days=back))
        deltalake.write_deltalake(str(draft), rows, mode="append", partition_by=["Date"], target_file_size=WHOLE_DATE)
    draft.rename(fleet.history)


def readings(fleet: Fleet, date: dt.date) -> pa.Table:
    """One reading per service and slot of a local date, sorted by ServiceName, Timestamp."""
    feed, number = fleet.feed, np.arange(fleet.services)
    midnight = dt.datetime.combine(date, dt.time(), dt.UTC) - fleet.utc_offset
    seconds = int(midnight.timestamp()) + feed.interval_seconds * np.arange(feed.slots)
    # Offsets as a producer leaves them that sends slot after slot: each partition counts its own services' readings.
    partition = number % feed.partitions
    of_partition = np.bincount(partition, minlength=feed.partitions)[partition]
    slots_before = (date - dt.date(2026, 1, 1)).days * feed.slots + np.arange(feed.slots)
    offsets = slots_before * of_partition[:, None] + (number // feed.partitions)[:, None]
    each = np.repeat(number.astype(np.int32), feed.slots)
    return pa.table(
        {
            "ServiceName": pa.DictionaryArray.from_arrays(pa.array(each), pa.array(fleet.names)).cast(pa.string()),
            "Timestamp": pa.array(np.tile(seconds * 1_000_000, fleet.services), pa.timestamp("us", "UTC")),
            "Value": _values(feed.slots, fleet.services, date).ravel(),
            "KafkaPartition": pa.array(each % feed.partitions, pa.int32()),
            "KafkaOffset": offsets.ravel(),
            "KafkaTimestamp": pa.array(np.tile(seconds * 1_000_000, fleet.services), pa.timestamp("us", "UTC")),
            "Slot": pa.array(np.tile(np.arange(fleet.feed.slots), fleet.services), pa.int32()),
            "Date": pa.repeat(pa.scalar(date), each.size),
        }
    )


def _values(slots: int, services: int, date: dt.date) -> np.ndarray:
    """Requests by service and slot: a level and a daily wave of the service's own, quieter weekends, noise of 5 %."""
    own = np.random.default_rng(1)
    level, swing, peak = own.integers(50, 500, services), own.uniform(0.3, 0.8, services), own.uniform(0.5, 0.7, services)
    wave = np.cos((np.arange(slots) / slots - peak[:, None]) * 2 * np.pi)
    weekend = 0.6 if date.isoweekday() > 5 else 1.0
    noise = np.random.default_rng(date.toordinal()).normal(1, 0.05, (services, slots))
    return np.maximum(0, level[:, None] * weekend * (1 + swing[:, None] * wave) * noise).astype(np.int64)


def script(fleet: Fleet, dates: Dates, out: Path, spread: bool = True) -> str:
    """DuckDB SQL that writes the baseline of these dates to `out`: slots-<day type>.parquet and windows-<day type>.parquet.

    The quickest and leanest that was found: one day type after the other, values joined to their averages for the residuals. As
    one query over all day types it takes longer and four times the memory; with lists of values in place of the join, seven
    times. It is given only the files it needs, with the day type of each.
    """
    files: dict[str, list[str]] = {}
    for uri in deltalake.DeltaTable(str(fleet.history)).file_uris():
        files.setdefault(Path(uri).parent.name, []).append(uri)
    per_window = fleet.feed.spread_window_seconds // fleet.feed.interval_seconds
    settings = {"threads": os.cpu_count(), "enable_progress_bar": "false", "preserve_insertion_order": "false"}
    statements = [f"SET {name} = {value};" for name, value in (settings | {"temp_directory": f"'{out}/spill'"}).items()]
    for day_type, days in dates.items():
        held = [file for day in days for file in files.get(f"Date={day}", [])]
        if not held:
            continue
        read = READ.format(files=held)
        for statement in (AVERAGE, SPREAD) if spread else (AVERAGE,):
            statements.append(statement.format(read=read, day_type=day_type, per_window=per_window, out=out))
    return "\n".join(statements)


def differences(fleet: Fleet, dates: Dates, out: Path) -> list[str]:
    """How the candidate in the lake differs from what `script` wrote to `out`: averages and counts by a bit, spreads by 1e-9."""
    candidate = deltalake.DeltaTable(str(fleet.candidate)).to_pyarrow_table()
    slots, windows = (pq.read_table(sorted(out.glob(f"{name}-*.parquet"))) for name in ("slots", "windows"))
    held = {file.name.removeprefix("Date=") for file in fleet.history.glob("Date=*")}
    made_of = {day_type: [day for day in days if day.isoformat() in held] for day_type, days in dates.items()}
    found = zip(candidate["DayType"].to_pylist(), candidate["Dates"].to_pylist(), strict=True)
    wrong = [f"Dates of day type {day_type}: {days}" for day_type, days in found if days != made_of[day_type]]
    for name, expected, position, width, tolerance in (
        ("Last4Avg", slots, slots["Slot"], fleet.feed.slots, 0),
        ("Samples", slots, slots["Slot"], fleet.feed.slots, 0),
        ("Spread", windows, windows["SpreadWindow"], fleet.feed.spread_windows, 1e-9),
    ):
        ours, theirs = (np.full((fleet.services * 7, width), np.nan) for _ in range(2))
        ours[_row(fleet, candidate)] = _numbers(pc.list_flatten(candidate[name])).reshape(-1, width)
        theirs[_row(fleet, expected), position.to_numpy()] = _numbers(expected[name])
        same = np.isclose(ours, theirs, rtol=tolerance, atol=0, equal_nan=True)
        if not same.all():
            wrong.append(f"{name}: {np.sum(~same):,} of {same.size:,} cells, e.g. {ours[~same][0]} for {theirs[~same][0]}")
    return wrong


def _row(fleet: Fleet, table: pa.Table) -> np.ndarray:
    """One number for each service and day type, services first."""
    service = pc.index_in(table["ServiceName"], pa.array(fleet.names))
    return service.to_numpy() * 7 + table["DayType"].to_numpy() - 1


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """As doubles, null as not-a-number."""
    return column.cast(pa.float64()).to_numpy()
