"""How rows become part of history/<feed>: the dates that they touch are rewritten, sorted, in one commit."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import placed_by
from contracts.feeds import Feed
from jobs.backends import tables
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.transforms import history_rows

ROWS_PER_FILE = 4_000_000
IN_MEMORY = 2_000_000  # rows that may pass through this process


@dataclass(frozen=True)
class Merged:
    """What a merge did: how many rows arrived by date. Late ones are of dates that the table had before, apart from its newest
    that is over or goes on: a reading may be of a date that is yet to come, as its service's clock is wrong."""

    rows: dict[dt.date, int]
    late: list[dt.date]

    def __str__(self) -> str:
        dates = sorted(self.rows)
        span = f" of {dates[0]} to {dates[-1]}" if dates else ""
        late = f", late ones of {', '.join(map(str, self.late))}" if self.late else ""
        return f"{sum(self.rows.values()):,} records{span}{late}"


def opened(platform: Platform, feed: Feed) -> tables.Table:
    """The feed's table. Raises JobError where its rows were placed by another interval or time zone than the feed declares now:
    slots of both would be mixed."""
    table = tables.history(platform, feed)
    if differ := placed_by.difference(feed, (commit.note for commit in table.commits())):
        raise JobError(
            f"history/{feed.table} was made with another interval or time zone: {differ}; take the change back in "
            f"schemas/feeds/{feed.name}.yaml, or declare a feed of another name and load its past with bootstrap_feed"
        )
    return table


def merge(
    session: SparkSession, table: tables.Table, arrived: DataFrame, note: dict, today: dt.date = dt.date.max, **options: str
) -> Merged:
    """Make `arrived` (cached rows, as `history_rows.placed` gives them) part of the table; of two rows for one reading the one
    that the broker took later stays. One commit, whose note is `note` with `rows` and `late` of what is returned.

    A touched date is rewritten whole. So a date is always a few sorted files, however its rows came: nothing to compact.
    today: in the feed's time zone, where readings may be of dates that are yet to come.
    """
    before = table.version()
    counts = {row.Date: row["count"] for row in arrived.groupBy("Date").count().collect()}
    known = sorted(dt.date.fromisoformat(date) for date in table.fingerprints())
    touched = [date for date in known if date in counts]
    newest = max((date for date in known if date <= today), default=today)
    merged = Merged(counts, [date for date in touched if date < newest])
    note = note | {
        "rows": {str(date): count for date, count in sorted(counts.items())},
        "late": [str(date) for date in merged.late],
    }
    if not counts and before >= 0:
        table.commit_note(note, after=before)
        return merged
    # All arrived dates are read, known or not. If another writer makes one meanwhile, that is a conflict: nothing is overwritten.
    dates = F.col("Date").isin(sorted(counts))
    rows = read(session, table).where(dates).unionByName(arrived) if known else arrived
    write(session, table, rows, counts, note, **options)
    return merged


def read(session: SparkSession, table: tables.Table) -> DataFrame:
    """All rows of the table, with `history_rows.COLUMNS`. It may be of a release that knew fewer: those are null."""
    rows = table.read(session)
    missing = {name: F.lit(None).cast(kind) for name, kind in history_rows.COLUMNS.items() if name not in rows.columns}
    return rows.withColumns(missing) if missing else rows


def write(
    session: SparkSession, table: tables.Table, rows: DataFrame, dates: Iterable[dt.date], note: dict, **options: str
) -> None:
    """Make these dates hold exactly these rows, the latest of each reading, in one commit.

    The first rows of a table may be a capture of thousands of dates, each with a file of its own. For each file, Spark takes as
    long as delta-rs for thirty.
    """
    count = rows.count()
    laid_out = history_rows.latest(rows, max(session.sparkContext.defaultParallelism, count // ROWS_PER_FILE))
    if table.version() < 0 and not options and 0 < count <= IN_MEMORY:
        found = laid_out.toArrow()
        nullable = pa.schema([field.with_nullable(True) for field in found.schema])  # as Spark makes tables
        table.write(iter(found.cast(nullable).to_batches()), dates, note, after=-1)
    else:
        table.replace(laid_out, dates, note, **options)
