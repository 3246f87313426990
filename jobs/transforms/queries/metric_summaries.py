"""Summaries of metric events in windows that late and corrected events still change."""

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

PART = 5 * 60_000  # ms; a summary's window is two parts
WINDOW = 2 * PART
RESULT = """Key string, WindowStart long, Count long, Average double, Min double, Max double, Variance double,
    StandardDeviation double, P50 double, P90 double, P99 double, Bins array<int>, Counts array<long>, Revision long,
    Id string, Timestamp long, Value double"""
LOG = pa.schema({"Key": pa.string(), "Hash": pa.int64(), "Value": pa.float64()})  # ascending by Hash, which is there once
REVISIONS = pa.schema({"Key": pa.string(), "Revision": pa.int64()})


def metric_summaries(inputs: dict[str, DataFrame], lateness_minutes: int, corrections: bool, buckets: int) -> DataFrame:
    """RESULT, with timestamps: a summary of a key and ten minutes whenever it changes, with the next Revision; or an event that
    came too late for the state: the clock of its bucket was `lateness_minutes` past its window's end. That has a Timestamp.

    The clock is the newest Timestamp that came, as far as that is not after the time at which the broker took its record.
    corrections: keep each event's number by Id while its window is open, so that a later event of that Key, Id and Timestamp
      replaces it and a repeated one changes nothing. If not, sums and bins are all that is kept, and an event counts each time.
    buckets: groups of keys that are worked on together.
    """
    place = ("RowTime", "RowOffset")
    came = inputs["metrics"].select(
        F.pmod(F.hash("MetricKey"), F.lit(buckets)).alias("Bucket"),
        F.col("MetricKey").alias("Key"),
        "Id",
        # An event without an Id can't be corrected: no other has its hash. In a topic that was made anew, offsets begin again.
        F.xxhash64("MetricKey", "Id", "Timestamp", *(F.when(F.col("Id").isNull(), F.col(name)) for name in place)).alias("Hash"),
        F.unix_millis("Timestamp").alias("At"),
        F.unix_millis("RowTime").alias("Came"),
        F.col("RowOffset").alias("Offset"),
        "Value",
    )
    work = _Summaries(lateness_minutes * 60_000, corrections)
    emitted = came.groupBy("Bucket").transformWithStateInPandas(work, RESULT, "Update", "None")
    times = {name: F.timestamp_millis(name) for name in ("WindowStart", "Timestamp")}  # pandas' own end in the year 2262
    return emitted.withColumns(times)


class _Summaries(StatefulProcessor):
    """The work on one bucket in one batch. Its state, by the start of a part or window in epoch ms:

    parts: SUMS and BINS of the part's keys. logs: the part's events (LOG), in pieces. told: the Revision of each key's summary.
    """

    def __init__(self, lateness: int, corrections: bool):
        self._lateness, self._corrections = lateness, corrections

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._clock = handle.getValueState("clock", "At long")
        self._parts = handle.getMapState("parts", "Start long", "Sums binary, Bins binary, Pieces int")
        self._logs = handle.getMapState("logs", "Start long, Number int", "Log binary")
        self._told = handle.getMapState("told", "Start long", "Revisions binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        came = pa.concat_tables(pa.Table.from_pandas(each, preserve_index=False) for each in rows)
        came = came.sort_by([("Came", "ascending"), ("Offset", "ascending")])
        before = self._clock.get()[0] if self._clock.exists() else 0
        at = came.column("At").to_numpy()
        start = at - at % PART
        late = self._over(at, before)
        if late.any():
            yield _too_late(came.filter(pa.array(late)))
        changed: dict[int, set[str]] = {}
        for part in np.unique(start[~late]).tolist():
            added = self._add(part, came.filter(pa.array(~late & (start == part))))
            changed.setdefault(part - part % WINDOW, set()).update(added)
        for window, keys in changed.items():
            if keys:
                yield self._summaries(window, pa.array(sorted(keys)))
        clock = max(before, int(np.minimum(at, came.column("Came").to_numpy()).max()))
        self._clock.update((clock,))
        if clock // PART > before // PART:
            self._forget(clock)

    def close(self) -> None:
        pass

    def _over(self, at: Any, clock: int) -> Any:
        """Whether the windows of those instants are no longer kept."""
        return at - at % WINDOW + WINDOW + self._lateness <= clock

    def _add(self, part: int, came: pa.Table) -> list[str]:
        """Counts events of one part in; the keys whose summary that changes."""
        known = self._parts.getValue((part,))
        sums, bins = (
            (from_bytes(each) for each in known[:2]) if known else (summaries.SUMS.empty_table(), summaries.BINS.empty_table())
        )
        pieces = known[2] if known else 0
        counted = came.select(["Key", "Value"])
        if self._corrections:
            counted, anew, pieces = self._logged(part, came.select(LOG.names), pieces)
            sums, bins = _without(sums, anew), _without(bins, anew)
        if not counted.num_rows:
            return []
        more_sums, more_bins = summaries.of(*(counted.column(name).combine_chunks() for name in ("Key", "Value")))
        sums = summaries.merged_sums(pa.concat_tables([sums, more_sums]))
        bins = summaries.merged_bins(pa.concat_tables([bins, more_bins]))
        self._parts.updateValue((part,), (to_bytes(sums), to_bytes(bins), pieces))
        keys: list[str] = pc.unique(counted.column("Key")).to_pylist()
        return keys

    def _logged(self, part: int, came: pa.Table, pieces: int) -> tuple[pa.Table, pa.Array, int]:
        """Puts events into the log: what is to be counted, the keys that are to be counted anew, and the log's pieces now.

        Keys with a corrected event are counted anew, from their whole log; of the others, the events that are new count.
        """
        came = _last_of_each([came])
        log = [from_bytes(self._logs.getValue((part, number))[0]) for number in range(pieces)]
        hashes, values = came.column("Hash").to_numpy(), came.column("Value").to_numpy()
        known, before = np.zeros(len(hashes), dtype=bool), np.zeros(len(hashes))
        for piece in log:
            theirs = piece.column("Hash").to_numpy()
            place = np.minimum(np.searchsorted(theirs, hashes), len(theirs) - 1)
            found = theirs[place] == hashes
            known |= found
            before[found] = piece.column("Value").to_numpy()[place[found]]
        other = ~(known & (before == values))
        anew = pc.unique(came.filter(pa.array(known & other)).column("Key"))
        came = came.filter(pa.array(other))
        pieces = self._append(part, log, came)
        if not len(anew):
            return came, anew, pieces
        whole = _last_of_each([*log, came])
        return pa.concat_tables([_without(came, anew), whole.filter(pc.is_in(whole.column("Key"), anew))]), anew, pieces

    def _append(self, part: int, log: list[pa.Table], came: pa.Table) -> int:
        """A further piece of the log, joined with the last ones as long as these are not longer: so there are few of them, and an
        event is written again only as often as its piece doubles. The number of pieces."""
        pieces = len(log)
        if not came.num_rows:
            return pieces
        while pieces and log[pieces - 1].num_rows <= came.num_rows:
            pieces -= 1
            came = _last_of_each([log[pieces], came])
        for number in range(pieces + 1, len(log)):
            self._logs.removeKey((part, number))
        self._logs.updateValue((part, pieces), (to_bytes(came),))
        return pieces + 1

    def _summaries(self, window: int, keys: pa.Array) -> pd.DataFrame:
        """The summaries of those keys in a window, of which all that is known is in its parts."""
        parts = [known for start in (window, window + PART) if (known := self._parts.getValue((start,)))]
        sums, bins = (pa.concat_tables(from_bytes(part[place]) for part in parts) for place in (0, 1))
        sums, bins = (each.filter(pc.is_in(each.column("Key"), keys)) for each in (sums, bins))
        found = summaries.summaries(summaries.merged_sums(sums), summaries.merged_bins(bins))
        known = self._told.getValue((window,))
        revisions = dict(zip(*from_bytes(known[0]).to_pydict().values(), strict=True)) if known else {}
        revisions |= {key: revisions.get(key, 0) + 1 for key in keys.to_pylist()}
        self._told.updateValue((window,), (to_bytes(pa.table([list(revisions), list(revisions.values())], schema=REVISIONS)),))
        rows = found.to_pandas()
        return rows.assign(WindowStart=window, Revision=rows["Key"].map(revisions), Id=None, Timestamp=None, Value=None)

    def _forget(self, clock: int) -> None:
        """Drops the state of windows that are over."""
        for part in [start for (start,) in self._parts.keys() if self._over(start, clock)]:  # noqa: SIM118
            for number in range(self._parts.getValue((part,))[2]):
                self._logs.removeKey((part, number))
            self._parts.removeKey((part,))
            self._told.removeKey((part - part % WINDOW,))


def _too_late(came: pa.Table) -> pd.DataFrame:
    rows = came.select(["Key", "Id", "At", "Value"]).rename_columns({"At": "Timestamp"}).to_pandas()
    names = [field.split()[0] for field in RESULT.split(",")]
    return rows.assign(**dict.fromkeys(name for name in names if name not in rows))[names]  # None, as a list can't be NaN


def _last_of_each(logs: list[pa.Table]) -> pa.Table:
    """LOG of logs of which a later event replaces those before it."""
    together = pa.concat_tables(logs).select(LOG.names)
    hashes = together.column("Hash").to_numpy()
    _, place = np.unique(hashes[::-1], return_index=True)
    return together.take(pa.array(len(hashes) - 1 - place))


def _without(rows: pa.Table, keys: pa.Array) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows.column("Key"), keys))) if len(keys) else rows
