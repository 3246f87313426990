"""What the nightly walk found, and what people said of it, as the tables of the stack's lake have it."""

import datetime as dt
from dataclasses import dataclass

from contracts.exclusions import Statement, acknowledgement, in_force, statements, verdict
from contracts.feeds import Feed
from stack.instance import Instance


@dataclass(frozen=True)
class Found:
    """An incident as its last event says it. end: UTC; None while it is open. said: the statement
    that judges it, else the one that acknowledges it."""

    id: str
    service: str
    kind: str
    start: dt.datetime
    end: dt.datetime | None
    cause: str
    said: Statement | None


def found(instance: Instance, feed: Feed) -> list[Found]:
    """The incidents of incidents/<feed>, those that began last first."""
    columns = ["Id", "ServiceName", "Kind", "Start", "End", "At", "Cause", "Group"]
    newest = {row["Id"]: row for row in sorted(_rows(instance, f"incidents/{feed.table}", columns), key=lambda row: row["At"])}
    valid = said(instance, feed)
    incidents = []
    for id_, row in newest.items():
        service, start = row["ServiceName"], _utc(row["Start"])
        end = None if row["End"] is None else _utc(row["End"])
        about = verdict(valid, id_, service, start, row["Group"]) or acknowledgement(valid, id_)
        incidents.append(Found(id_, service, row["Kind"], start, end, row["Cause"], about))
    return sorted(incidents, key=lambda each: (each.start, each.id), reverse=True)


def said(instance: Instance, feed: Feed) -> list[Statement]:
    """The statements in force."""
    return in_force(statements(_rows(instance, f"exclusions/{feed.table}")))


def _rows(instance: Instance, table: str, columns: list[str] | None = None) -> list[dict]:
    import pyarrow.dataset as ds  # here, as few commands need it
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        files = DeltaTable(instance.lake / table).file_uris()
    except TableNotFoundError:
        return []
    # Not `to_pyarrow_dataset`: its threads call Python for each file, and abort a process that ends soon after (3 in 100).
    return ds.dataset(files, format="parquet").to_table(columns=columns).to_pylist() if files else []


def _utc(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
