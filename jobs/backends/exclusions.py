"""exclusions/<feed>: what people said of the feed's incidents and readings, one row for each statement. Rows are only added."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import asdict

import deltalake
import pyarrow as pa

from contracts import exclusions
from contracts.calendar_entries import Window
from contracts.exclusions import COLUMNS, Excluded, Statement
from contracts.feeds import Feed
from jobs.backends import tables
from jobs.backends.settings import Platform
from jobs.backends.tables import Table
from jobs.transforms import excluded
from jobs.transforms.excluded import Range

_TIME = pa.timestamp("us", "UTC")
_TYPES = {"id": pa.int64(), "takes_back": pa.int64(), "start": _TIME, "end": _TIME, "at": _TIME}
SCHEMA = pa.schema({column: _TYPES.get(field, pa.string()) for field, column in COLUMNS.items()})


def table_of(platform: Platform, feed: Feed) -> Table:
    return Table(f"{platform.lake}/exclusions/{feed.table}")


def read(table: Table, version: int) -> list[Statement]:
    """All statements as of a version (-1: no table yet), in the order in which they were made."""
    return [] if version < 0 else exclusions.statements(table.dataset(version).to_table().to_pylist())


def add(table: Table, statement: Statement, after: int) -> None:
    """One statement more, in one commit.

    It was checked against what the table had at version `after` (-1: no table yet). If another commit has come since then,
    nothing is written; raises JobError.
    """
    row = {COLUMNS[field]: value for field, value in asdict(statement).items()}
    note = {"run_id": statement.run_id, "statement": statement.id}
    with table.unless_overtaken(after):
        deltalake.write_deltalake(
            table.path if after < 0 else table.log(after),
            pa.Table.from_pylist([row], SCHEMA),
            mode="error" if after < 0 else "append",
            configuration=tables.CONFIGURATION,
            commit_properties=tables.noted(note, max_commit_retries=0),
        )


def in_force(platform: Platform, feed: Feed) -> list[Excluded]:
    """The readings of the feed that are not normal, as of now."""
    table = table_of(platform, feed)
    return exclusions.excluded(read(table, table.version()))


def of_date(found: Iterable[Excluded | Window], date: dt.date, feed: Feed) -> list[Range]:
    """What of these readings lies in a local date. A maintenance window has a pattern in place of a service."""
    midnights = (dt.datetime.combine(each, dt.time.min, feed.zone) for each in (date, date + dt.timedelta(days=1)))
    return excluded.within([(who, _ms(start), _ms(end)) for who, start, end in found], *map(_ms, midnights))


def _ms(instant: dt.datetime) -> int:
    return round(instant.timestamp() * 1000)
