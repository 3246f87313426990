"""The products that most users looked at, in hopping windows, emitted whenever that changes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from jobs.transforms.arrow_bytes import from_bytes, to_bytes

RESULT = "WindowStart long, WindowEnd long, Top array<struct<Product: string, Users: long, Views: long>>"
TOTALS = pa.schema({"Product": pa.string(), "Users": pa.int64(), "Views": pa.int64()})


def trending_products(inputs: dict[str, DataFrame], window_minutes: int, hop_minutes: int, top: int) -> DataFrame:
    """RESULT, with timestamps: of each window whose first `top` products change, these, by falling Users, then falling Views,
    then Product. A view is in each window that its RowTime is in; one that comes once its window is over by the input's lateness
    changes nothing there.
    """
    windows = F.window("RowTime", f"{window_minutes} minutes", f"{hop_minutes} minutes")
    hashed = F.xxhash64("User").alias("User")  # where a million come, two are taken for one in one of 30 million windows
    came = inputs["views"].select(windows.alias("Window"), "Product", hashed)
    start = F.unix_millis("Window.start").alias("WindowStart")
    # By window_time Spark knows which rows are late: a column made of RowTime in another way would not tell it.
    grouped = came.select(start, F.window_time("Window").alias("Within"), "Product", "User").groupBy("WindowStart")
    emitted = grouped.transformWithStateInPandas(_Trending(window_minutes * 60_000, top), RESULT, "Update", "EventTime")
    return emitted.withColumns({name: F.timestamp_millis(name) for name in ("WindowStart", "WindowEnd")})


class _Trending(StatefulProcessor):
    """The work on one window in one batch. Its state, until the window is over and the lateness has passed:

    totals: TOTALS of all products. users: for each product the hashes of its users.
    """

    def __init__(self, window: int, top: int):
        self._window, self._top = window, top

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._totals = handle.getValueState("totals", "Totals binary")
        self._users = handle.getMapState("users", "Product string", "Hashes binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        (start,), came = key, pd.concat(rows)
        end = int(start) + self._window
        if self._totals.exists():
            totals = {row["Product"]: row for row in from_bytes(self._totals.get()[0]).to_pylist()}
        else:
            totals = {}
            # Rows of a batch are late by the watermark of the one before; by this one's their window may be over already.
            self._handle.registerTimer(max(end, timerValues.getCurrentWatermarkInMs() + 1))
        before = self._first(totals)
        for product, users in came.groupby("Product")["User"]:
            known = totals.get(product)
            hashes = np.frombuffer(self._users.getValue((product,))[0] if known else b"", dtype=np.int64)
            hashes = np.union1d(hashes, users)
            self._users.updateValue((product,), (hashes.tobytes(),))
            views = len(users) + (known["Views"] if known else 0)
            totals[product] = {"Product": product, "Users": len(hashes), "Views": views}
        self._totals.update((to_bytes(pa.Table.from_pylist(list(totals.values()), TOTALS)),))
        if (first := self._first(totals)) != before:
            yield pd.DataFrame({"WindowStart": [int(start)], "WindowEnd": [end], "Top": [first]})

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        self._totals.clear()
        self._users.clear()
        return iter(())

    def close(self) -> None:
        pass

    def _first(self, totals: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(totals.values(), key=lambda row: (-row["Users"], -row["Views"], row["Product"]))[: self._top]
