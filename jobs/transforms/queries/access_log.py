"""Readings of services, counted from the lines of an access log: one for every service and interval, 0 where nothing came."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from jobs.transforms.arrow_bytes import from_bytes, to_bytes

RESULT = "Feed string, ServiceName string, Start long, Value long, Late boolean"
STATE = "Newest long, Since long, Live boolean, Next long, Open binary, Known binary"
COUNTS = pa.schema({"ServiceName": pa.string(), "Start": pa.int64(), "Value": pa.int64()})
SEGMENT = r"^(?:[a-z]+://[^/]*)?/([^/?#;]*)"  # the first of a path; proxies are asked for whole URLs
NAME = r"^[\w.~-]{1,100}$"  # of a service, whatever `services` may allow
STATUSES = {"errors": 400, "server-errors": 500}
NEVER = -(2**62)  # ms


def access_log(inputs: dict[str, DataFrame], feeds: dict[str, dict[str, Any]]) -> DataFrame:
    """Feed, ServiceName string, Timestamp timestamp (start of the interval), Value long, Late boolean: each reading of each feed
    once, as soon as its interval is over; and with Late what came for an interval that was emitted already.

    The lines have the columns of `contracts.access_logs`; `contracts.access_log_queries` makes the settings of each feed.
    An interval is over when a line came that is `lateness` past its end. While none comes, the log's clock goes on with that of
    the machine, but no further than the newest line's interval if that line was no longer of the present when it came: then
    an old log is being read, and what it does not tell of did not happen. A service has readings from its first line on
    until it was silent for `forget_after`.
    """
    [lines] = inputs.values()
    counted = [
        F.struct(
            F.lit(name).alias("Feed"),
            _service(feed).alias("ServiceName"),
            _counted(feed["counts"]).cast("long").alias("Value"),
        )
        for name, feed in feeds.items()
    ]
    at = F.unix_millis("Timestamp").alias("At"), F.unix_millis("RowTime").alias("Came")
    each = lines.select(F.explode(F.array(*counted)).alias("_counted"), *at).select("_counted.*", "At", "Came")
    work = _Counts({name: (feed["interval"], feed["lateness"], feed["forget_after"]) for name, feed in feeds.items()})
    emitted = each.groupBy("Feed").transformWithStateInPandas(work, RESULT, "Update", "ProcessingTime")
    return emitted.select("Feed", "ServiceName", F.timestamp_millis("Start").alias("Timestamp"), "Value", "Late")


def _service(feed: dict[str, Any]) -> Column:
    name = F.col("VirtualHost") if feed["service"] == "host" else F.regexp_extract("Path", SEGMENT, 1)
    wanted = name.rlike(NAME) & name.rlike(f"^(?:{feed['services'] or '.*'})$")
    return F.when(wanted, name).otherwise(feed["others"])


def _counted(what: str) -> Column:
    if what == "requests":
        return F.lit(1)
    return F.col("Bytes") if what == "bytes" else F.col("Status") >= STATUSES[what]


@dataclass(frozen=True)
class _Log:
    """What is known of a feed's log; times in epoch ms."""

    newest: int  # the clock: the newest Timestamp that came
    since: int  # the machine's time when that was read
    live: bool  # its line came while its interval was open
    next: int  # all intervals that start before are emitted
    open: pd.DataFrame  # COUNTS of the others
    known: pd.DataFrame  # COUNTS too: of each service the interval of its last line among those emitted; Value is 0


class _Counts(StatefulProcessor):
    """The work on one feed in one batch. times: by feed, its interval, lateness and forget_after in ms."""

    def __init__(self, times: dict[str, tuple[int, int, int]]):
        self._times = times

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("log", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        interval, lateness, _ = self._times[key[0]]
        log = self._log()
        came = pd.concat(rows, ignore_index=True)
        came["Start"] = came["At"] - came["At"] % interval
        late = came["Start"] < log.next
        if late.any():
            yield _rows(key[0], _summed(came[late]).query("Value > 0"), late=True)
        log = replace(log, open=_summed(pd.concat([log.open, came[~late]])))
        clock = np.minimum(came["At"], came["Came"])  # a server whose clock is ahead ends no interval
        newest, now = int(clock.max()), timerValues.getCurrentProcessingTimeInMs()
        if newest >= log.newest:
            in_time = came["Came"][clock.idxmax()] < newest - newest % interval + interval + lateness
            log = replace(log, newest=newest, since=now, live=bool(in_time))
        yield from self._told(key[0], log, log.newest)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """No line came for so long that by the clock of the machine an interval is over."""
        log = self._log()
        yield from self._told(key[0], log, log.newest + timerValues.getCurrentProcessingTimeInMs() - log.since)

    def close(self) -> None:
        pass

    def _log(self) -> _Log:
        if not self._state.exists():
            return _Log(NEVER, 0, False, NEVER, _NONE, _NONE)
        newest, since, live, next_, counted, known = self._state.get()
        return _Log(newest, since, live, next_, from_bytes(counted).to_pandas(), from_bytes(known).to_pandas())

    def _told(self, feed: str, log: _Log, clock: int) -> Iterator[pd.DataFrame]:
        """The readings of the intervals that are over at that time of the log; the state and the timer are for the next ones."""
        interval, lateness, forget_after = self._times[feed]
        over = (clock - lateness) - (clock - lateness) % interval
        end = log.newest - log.newest % interval + interval  # of the newest line's interval
        over = max(log.next, over if log.live else min(over, end))
        found, known = with_zeros(log.open, log.known, log.next, over, interval, forget_after)
        if len(found):
            yield _rows(feed, found, late=False)
        log = replace(log, next=over, open=log.open[log.open["Start"] >= over], known=known)
        packed = [to_bytes(pa.Table.from_pandas(each, COUNTS, preserve_index=False)) for each in (log.open, log.known)]
        self._state.update((log.newest, log.since, log.live, log.next, *packed))
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        if log.next < end or (log.live and len(log.open) + len(log.known)):
            self._handle.registerTimer(log.since + log.next + interval + lateness - log.newest)


def with_zeros(
    counts: pd.DataFrame, known: pd.DataFrame, first: int, over: int, interval: int, forget_after: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """COUNTS of every service and interval from `first` on and before `over`, with zeros where `counts` has none; and of each
    service that is not forgotten yet the interval of its last line, with Value 0.

    counts: COUNTS from `first` on. known: what this returned for the intervals before.
    """
    seen = pd.concat([known, counts[counts["Start"] < over]]).sort_values(["ServiceName", "Start"], ignore_index=True)
    if not len(seen):
        return seen, seen
    # What follows a line with zeros ends with the service's next line, with `over`, or when the service is forgotten.
    until = seen.groupby("ServiceName")["Start"].shift(-1).fillna(over).astype("int64")
    end = np.minimum(until, seen["Start"] + interval + forget_after)
    begin = np.maximum(seen["Start"] + interval, first)
    many = (np.maximum(end - begin, 0) // interval).to_numpy()
    place = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    starts = np.repeat(begin.to_numpy(), many) + interval * place
    zeros = pd.DataFrame({"ServiceName": np.repeat(seen["ServiceName"].to_numpy(), many), "Start": starts, "Value": 0})
    last = seen.groupby("ServiceName", as_index=False)["Start"].max().assign(Value=0)
    return pd.concat([seen[seen["Start"] >= first], zeros]), last[last["Start"] + interval + forget_after > over]


def _summed(counts: pd.DataFrame) -> pd.DataFrame:
    return counts.groupby(["ServiceName", "Start"], as_index=False)["Value"].sum()


def _rows(feed: str, counts: pd.DataFrame, late: bool) -> pd.DataFrame:
    return counts.assign(Feed=feed, Late=late)[[field.split()[0] for field in RESULT.split(", ")]]


_NONE = COUNTS.empty_table().to_pandas()
