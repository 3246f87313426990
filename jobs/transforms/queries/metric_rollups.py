"""Summaries of summaries: a metric in all environments, an environment in all metrics, by merging and not by computing again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import TimerValues

from jobs.transforms import summaries
from jobs.transforms.arrow_bytes import from_bytes, to_bytes

ALL = "*"
RESULT = """Key string, WindowStart long, Count long, Average double, Min double, Max double, Variance double,
    StandardDeviation double, P50 double, P90 double, P99 double, Bins array<int>, Counts array<long>, Revision long,
    Member string"""
MEMBERS = summaries.SUMMARY.append(pa.field("Revision", pa.int64()))  # Key: the member's
NOTHING = -(2**63)  # before every window


def metric_rollups(inputs: dict[str, DataFrame], retention_minutes: int, buckets: int) -> DataFrame:
    """RESULT, WindowStart as a timestamp: of each summary that comes, or comes with a higher Revision, the two it is part of,
    environment=*:metric=M and environment=E:metric=*, with the sum of their members' Revisions as their own: whoever merges the
    same members tells the same. Or a Member that came too late for the state, with its Revision and the Key that lacks it.

    retention_minutes: how long members of a window are kept after the last of them came, on the clock of the broker. Not on that
      of the windows: of a backlog that is caught up with, one metric's last windows may come before another's first.
    """
    environment, metric = (F.regexp_extract("Key", f"{name}=([^:]+)", 1) for name in ("environment", "metric"))
    parents = F.array(
        F.concat(F.lit(f"environment={ALL}:metric="), metric),
        F.concat(F.lit("environment="), environment, F.lit(f":metric={ALL}")),
    )
    came = inputs["summaries"].select(
        F.explode(parents).alias("Parent"),
        F.unix_millis("WindowStart").alias("At"),
        F.unix_millis("RowTime").alias("Came"),
        *MEMBERS.names,
    )
    grouped = came.withColumn("Bucket", F.pmod(F.hash("Parent"), F.lit(buckets))).groupBy("Bucket")
    work = _Rollups(retention_minutes * 60_000)
    return grouped.transformWithStateInPandas(work, RESULT, "Update", "None").withColumn(
        "WindowStart", F.timestamp_millis("WindowStart")
    )


class _Rollups(StatefulProcessor):
    """The work on one bucket in one batch. Its state, times in epoch ms:

    members: by window and parent the newest summaries (MEMBERS). windows: when the last summary of each came.
    over: the newest window that is not kept any more; an older one is not begun again, as its members would not be all.
    """

    def __init__(self, retention: int):
        self._retention = retention

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._over = handle.getValueState("over", "Start long")
        self._windows = handle.getMapState("windows", "Start long", "Came long")
        self._members = handle.getMapState("members", "Start long, Parent string", "Members binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        came = pd.concat(rows)
        late = came["At"] <= (self._over.get()[0] if self._over.exists() else NOTHING)
        if late.any():
            yield _too_late(came[late])
        for (window, parent), members in came[~late].groupby(["At", "Parent"]):
            yield self._told(int(window), parent, pa.Table.from_pandas(members[MEMBERS.names], MEMBERS, preserve_index=False))
        for window, at in came[~late].groupby("At")["Came"].max().items():
            self._windows.updateValue((int(window),), (int(at),))
        self._forget(int(came["Came"].max()) - self._retention)

    def close(self) -> None:
        pass

    def _told(self, window: int, parent: str, came: pa.Table) -> pd.DataFrame:
        known = self._members.getValue((window, parent))
        members = _newest(pa.concat_tables([from_bytes(known[0]), came] if known else [came]))
        self._members.updateValue((window, parent), (to_bytes(members),))
        sums, bins = summaries.sums_and_bins(members.set_column(0, "Key", pa.array([parent] * members.num_rows)))
        found = summaries.summaries(summaries.merged_sums(sums), summaries.merged_bins(bins))
        revision = pc.sum(members.column("Revision")).as_py()
        return found.to_pandas().assign(WindowStart=window, Revision=revision, Member=None)

    def _forget(self, until: int) -> None:
        """Drops the oldest windows, as long as nothing of them came after that time. None that begins later: its events' clock
        was wrong, and the windows before it are yet to come."""
        over = set()
        for (window,), (came,) in sorted(self._windows.iterator()):
            if max(window, came) > until:
                break
            over.add(window)
        if not over:
            return
        for window, parent in list(self._members.keys()):
            if window in over:
                self._members.removeKey((window, parent))
        for window in over:
            self._windows.removeKey((window,))
        self._over.update((max(over),))


def _too_late(came: pd.DataFrame) -> pd.DataFrame:
    rows = came[["Parent", "At", "Key", "Revision"]].set_axis(["Key", "WindowStart", "Member", "Revision"], axis=1)
    names = [field.split()[0] for field in RESULT.split(",")]
    return rows.assign(**dict.fromkeys(name for name in names if name not in rows))[names]  # None, as a list can't be NaN


def _newest(members: pa.Table) -> pa.Table:
    """Of each member the row with the highest Revision; of equal ones the last."""
    order = np.lexsort((np.arange(members.num_rows), members.column("Revision").to_numpy()))
    keys = pc.dictionary_encode(members.column("Key").combine_chunks()).indices.to_numpy()[order]
    _, place = np.unique(keys[::-1], return_index=True)
    return members.take(pa.array(order[len(order) - 1 - place]))
