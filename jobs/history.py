"""How rows become part of history/<feed>: the dates that they touch are written anew, sorted, in one commit."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs import lake
from jobs.transforms import history

ROWS_PER_FILE = 4_000_000


@dataclass(frozen=True)
class Merged:
    """What a merge did: how many rows arrived by date; late ones are of dates that the table held, its newest apart."""

    rows: dict[dt.date, int]
    late: list[dt.date]

    def __str__(self) -> str:
        dates = sorted(self.rows)
        span = f" of {dates[0]} to {dates[-1]}" if dates else ""
        late = f", late ones of {', '.join(map(str, self.late))}" if self.late else ""
        return f"{sum(self.rows.values()):,} records{span}{late}"


def merge(session: SparkSession, table: lake.Table, arrived: DataFrame, note: dict, **options: str) -> Merged:
    """Make `arrived` (cached rows, as `transforms.history.placed` gives them) part of the table; of two rows for one reading the
    later offset wins. One commit, whose note is `note` with `rows` and `late` of what is returned.

    A touched date is rewritten whole. So a date is always a few sorted files, however its rows came: nothing to compact.
    """
    before = table.version()
    counts = {row.Date: row["count"] for row in arrived.groupBy("Date").count().collect()}
    held = sorted(dt.date.fromisoformat(date) for date in table.parts())
    touched = [date for date in held if date in counts]
    merged = Merged(counts, [date for date in touched if date < held[-1]])
    note = note | {
        "rows": {str(date): count for date, count in sorted(counts.items())},
        "late": [str(date) for date in merged.late],
    }
    if not counts and before >= 0:
        table.remark(note, after=before)
        return merged
    # All dates are read, held or not: one that another writer makes meanwhile then is a conflict, and not overwritten.
    dates = F.col("Date").isin(sorted(counts))
    rows = table.read(session).where(dates).unionByName(arrived) if held else arrived
    write(session, table, rows, counts, note, **options)
    return merged


def write(
    session: SparkSession, table: lake.Table, rows: DataFrame, dates: Iterable[dt.date], note: dict, **options: str
) -> None:
    """Make these dates hold exactly these rows, the latest of each reading, in one commit."""
    files = max(session.sparkContext.defaultParallelism, rows.count() // ROWS_PER_FILE)
    table.replace(history.latest(rows, files), dates, note, **options)
