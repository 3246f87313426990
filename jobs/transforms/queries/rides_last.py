"""The last rides of each vendor: a window that slides by count."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import TimerValues

RESULT = "VendorID int, Rides int, Since long, Until long, AverageAmount double"


def rides_last(inputs: dict[str, DataFrame], rides: int) -> DataFrame:
    """RESULT, with timestamps, for each ride: the vendor's last `rides` up to this one, in the order of their records. Since and
    Until are the earliest and the latest of their pick-ups. Amounts are added up in cents, whose order does not matter."""
    came = inputs["rides"].select(
        "VendorID",
        F.unix_millis("RowTime").alias("At"),
        F.round(F.col("total_amount") * 100).cast("long").alias("Cents"),
        F.col("RowOffset").alias("Offset"),
    )
    emitted = came.groupBy("VendorID").transformWithStateInPandas(_LastRides(rides), RESULT, "Append", "None")
    return emitted.withColumns({name: F.timestamp_millis(name) for name in ("Since", "Until")})


class _LastRides(StatefulProcessor):
    """One vendor's rides. The state: the last of them, oldest first."""

    def __init__(self, rides: int):
        self._rides = rides

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._last = handle.getListState("last", "At long, Cents long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        came = pd.concat(rows).sort_values("Offset")
        last, emitted = list(self._last.get()), []
        for ride in zip(came["At"].tolist(), came["Cents"].tolist(), strict=True):
            last = [*last, ride][-self._rides :]
            at, cents = zip(*last, strict=True)
            emitted.append((key[0], len(last), min(at), max(at), sum(cents) / len(last) / 100))
        self._last.put(last)
        yield pd.DataFrame(emitted, columns=[field.split()[0] for field in RESULT.split(", ")])

    def close(self) -> None:
        pass
