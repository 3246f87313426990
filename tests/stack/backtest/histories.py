"""A feed's history as archiving leaves it, written without Spark."""

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from contracts.feeds import Feed
from sources.localtime import to_wall

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
