"""Summaries of summaries: a metric in all environments, an environment in all metrics, by merging and not by computing again."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from jobs.transforms import summaries
from jobs.transforms.packed import pack, unpack

ALL = "*"
WINDOW = 10 * 60_000  # ms
RESULT = """Key string, WindowStart long, Count long, Average double, Min double, Max double, Variance double,
    StandardDeviation double, P50 double, P90 double, P99 double, Bins array<int>, Counts array<long>, Revision long"""
MEMBERS = summaries.SUMMARY.append(pa.field("Revision", pa.int64()))  # Key: the member's


def metric_rollups(inputs: dict[str, DataFrame], retention_minutes: int, buckets: int) -> DataFrame:
    """RESULT, WindowStart as a timestamp: of each summary that comes, or comes with a higher Revision, the two it is part of,
    environment=*:metric=M and environment=E:metric=*, with their own next Revision.

    retention_minutes: how long after its end a window's members are kept, on the clock of the newest window that came. Longer
      than summaries change: one that comes later still changes nothing here, as its fellows are gone.
    """
    environment, metric = (F.regexp_extract("Key", f"{name}=([^:]+)", 1) for name in ("environment", "metric"))
    parents = F.array(
        F.concat(F.lit(f"environment={ALL}:metric="), metric),
        F.concat(F.lit("environment="), environment, F.lit(f":metric={ALL}")),
    )
    names = [name for name in MEMBERS.names if name != "Key"]
    came = inputs["summaries"].select(F.explode(parents).alias("Parent"), "Key", F.unix_millis("WindowStart").alias("At"), *names)
    grouped = came.withColumn("Bucket", F.pmod(F.hash("Parent"), F.lit(buckets))).groupBy("Bucket")
    work = _Rollups(retention_minutes * 60_000)
    return grouped.transformWithStateInPandas(work, RESULT, "Update", "None").withColumn(
        "WindowStart", F.timestamp_millis("WindowStart")
    )


class _Rollups(StatefulProcessor):
    """State by window and parent: its members' newest summaries (MEMBERS), and the Revision that it was told with."""

    def __init__(self, retention: int):
        self._retention = retention

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._clock = handle.getValueState("clock", "At long")
        self._members = handle.getMapState("members", "Start long, Parent string", "Members binary, Revision long")

    def handleInputRows(self, key, rows: Iterator[pd.DataFrame], timerValues) -> Iterator[pd.DataFrame]:
        came = pd.concat(rows)
        before = self._clock.get()[0] if self._clock.exists() else 0
        came = came[~self._over(came["At"], before)]
        for (window, parent), members in came.groupby(["At", "Parent"]):
            yield self._told(int(window), parent, pa.Table.from_pandas(members[MEMBERS.names], MEMBERS, preserve_index=False))
        clock = int(came["At"].max()) if len(came) else before
        if clock > before:
            self._clock.update((clock,))
            for start, parent in [key for key in self._members.keys() if self._over(key[0], clock)]:  # noqa: SIM118
                self._members.removeKey((start, parent))

    def close(self) -> None:
        pass

    def _over(self, window, clock: int):
        """Whether the members of those windows are no longer kept."""
        return window + WINDOW + self._retention <= clock

    def _told(self, window: int, parent: str, came: pa.Table) -> pd.DataFrame:
        known = self._members.getValue((window, parent))
        members = _newest(pa.concat_tables([unpack(known[0]), came] if known else [came]))
        revision = (known[1] if known else 0) + 1
        self._members.updateValue((window, parent), (pack(members), revision))
        sums, bins = summaries.parts(members.set_column(0, "Key", pa.array([parent] * members.num_rows)))
        found = summaries.summaries(summaries.merged_sums(sums), summaries.merged_bins(bins))
        return found.to_pandas().assign(WindowStart=window, Revision=revision)


def _newest(members: pa.Table) -> pa.Table:
    """Of each member the row with the highest Revision; of equal ones the last."""
    order = np.lexsort((np.arange(members.num_rows), members.column("Revision").to_numpy()))
    keys = pc.dictionary_encode(members.column("Key").combine_chunks()).indices.to_numpy()[order]
    _, place = np.unique(keys[::-1], return_index=True)
    return members.take(pa.array(order[len(order) - 1 - place]))
