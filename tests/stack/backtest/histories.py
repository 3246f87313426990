"""A feed's history as archiving leaves it, written without Spark."""

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from contracts.exclusions import COLUMNS, Statement
from contracts.feeds import Feed
from sources.wall_clock import to_wall

Row = tuple[str, int, int]  # service, epoch milliseconds, value


def feed_of(**changed) -> Feed:
    """Of half hours in Chicago, unless it is changed."""
    declared = {"name": "half-hours", "description": "calls", "record": "service_use_record", "timezone": "America/Chicago"}
    return Feed(**(declared | {"interval_seconds": 1800, "spread_window_seconds": 1800} | changed))


def history(lake: Path, feed: Feed, rows: list[Row], **placed_by) -> None:
    """Adds rows, in the order given, to the feed's table."""
    services, at, values = zip(*rows, strict=True)
    wall = to_wall(np.array(at, np.int64), feed.timezone)
    table = pa.table(
        {
            "ServiceName": pa.array(services),
            "Timestamp": pa.array(at, pa.timestamp("ms")).cast(pa.timestamp("us", "UTC")),
            "Value": pa.array(values, pa.int64()),
            "Slot": pa.array((wall // 1000 % 86_400 // feed.interval_seconds).astype(np.int32)),
            "Date": pa.array([dt.date(1970, 1, 1) + dt.timedelta(days=int(each)) for each in wall // 86_400_000]),
        }
    )
    note = {"placed_by": {"interval_seconds": feed.interval_seconds, "timezone": feed.timezone} | placed_by}
    properties = CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})
    path = lake / "history" / feed.table
    write_deltalake(str(path), table, mode="append", partition_by=["Date"], commit_properties=properties)


def said(number: int, kind: str, **about) -> Statement:
    unknown = dict.fromkeys(("service", "start", "end", "takes_back", "incident"))
    at = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
    return Statement(id=number, kind=kind, **(unknown | about), by="mara", reason="a drill", at=at, run_id=f"r{number}")


def excluded(lake: Path, feed: Feed, statements: list[Statement]) -> None:
    """Writes the feed's table of statements."""
    time = pa.timestamp("us", "UTC")
    types = {"id": pa.int64(), "takes_back": pa.int64(), "start": time, "end": time, "at": time}
    schema = pa.schema({column: types.get(field, pa.string()) for field, column in COLUMNS.items()})
    rows = [{column: getattr(each, field) for field, column in COLUMNS.items()} for each in statements]
    write_deltalake(str(lake / "exclusions" / feed.table), pa.Table.from_pylist(rows, schema))
