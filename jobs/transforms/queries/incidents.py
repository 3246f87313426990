"""Incidents, live: the detector's walk goes on with every batch of readings, and what it finds is emitted."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from jobs.transforms import calendar, incident_rows
from jobs.transforms.detector import incidents as following
from jobs.transforms.detector import layout, silence
from jobs.transforms.detector.detector import new_state
from jobs.transforms.detector.incidents import Incident, Rules
from jobs.transforms.detector.moments import Pace
from jobs.transforms.detector.silence import Heard
from jobs.transforms.detector.walk import Readings, walked
from jobs.transforms.public_holidays import on_holiday

SERVICE = "State binary, Open string"  # of the map of services: the detector's state, the open incident as JSON or an empty text
FEED = "Heard string, Newest long, Since long, Live boolean"
LATE_BY = 60_000  # ms after its interval's end within which a reading is of the present


def incidents(inputs: dict[str, DataFrame], feeds: dict[str, dict[str, Any]]) -> DataFrame:
    """`incident_rows.COLUMNS` and Feed: each event of each incident of each feed once.

    inputs: by the feed's table: the service, RowTime (start of the interval), RowOffset and the feed's value. feeds: by table
    what `contracts.incident_queries` makes of a feed. A reading is judged if it is newer than the service's newest; what comes
    later than that is left to the night.
    """
    came = [_came(inputs[table], table, feed) for table, feed in feeds.items()]
    every = came[0]
    for each in came[1:]:
        every = every.union(each)
    work = _Incidents({table: _Settings.of(feed) for table, feed in feeds.items()})
    found = every.groupBy("Feed").transformWithStateInPandas(
        work, f"Feed string, {incident_rows.RESULT}", "Append", "ProcessingTime"
    )
    return found.withColumns({name: F.timestamp_millis(name) for name in incident_rows.TIMES})


def _came(rows: DataFrame, table: str, feed: dict[str, Any]) -> DataFrame:
    wall = calendar.wall_clock(F.col("RowTime"), feed["timezone"])
    return rows.select(
        F.lit(table).alias("Feed"),
        F.col(feed["service"]).alias("ServiceName"),
        F.unix_millis("RowTime").alias("At"),
        F.call_function("div", wall, F.lit(1000)).alias("Wall"),
        F.col("RowOffset").alias("Offset"),
        F.col(feed["value"]).cast("double").alias("Value"),
    )


@dataclass(frozen=True)
class _Settings:
    """interval: ms. holidays: a calendar. rules: each with a pattern; the first whose pattern matches a service is its rule."""

    interval: int
    holidays: str | None
    rules: tuple[tuple[re.Pattern[str], dict[str, Any]], ...]

    @classmethod
    def of(cls, feed: dict[str, Any]) -> "_Settings":
        return cls(feed["interval"], feed["holidays"], tuple((re.compile(each["services"]), each) for each in feed["rules"]))

    @property
    def pace(self) -> Pace:
        return Pace(self.interval // 1000)

    def rules_of(self, names: list[str]) -> Rules:
        declared = [self._rule(name) for name in names]
        conditions = [[np.nan if each[name] is None else each[name] for each in declared] for name in Rules._fields]
        kinds = (float, float, float, float, np.int64, np.int64)
        return Rules(*(np.array(column, kind) for column, kind in zip(conditions, kinds, strict=True)))

    def patience_of(self, names: list[str]) -> np.ndarray:
        return np.array([self._rule(name)["silence"] or 0 for name in names], np.int64)

    def _rule(self, name: str) -> dict[str, Any]:
        return next(rule for pattern, rule in self.rules if pattern.fullmatch(name))


class _Incidents(StatefulProcessor):
    """The work on one feed in one batch. The state: of each service, SERVICE; of the feed, FEED: the newest reading of each
    service as JSON; the newest of all (epoch ms), the machine's time when that came, and whether it was of the present."""

    def __init__(self, feeds: dict[str, _Settings]):
        self._feeds = feeds

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._services = handle.getMapState("services", "ServiceName string", SERVICE)
        self._feed = handle.getValueState("feed", FEED)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        heard, newest, since, live = self._known()
        came = _news(pd.concat(rows, ignore_index=True), heard)
        now = timerValues.getCurrentProcessingTimeInMs()
        settings = self._feeds[key[0]]
        if not len(came):
            return
        if int(came["At"].max()) > newest:
            newest, since = int(came["At"].max()), now
            live = now <= newest + settings.interval + LATE_BY
        names = sorted(came["ServiceName"].unique())
        number = came["ServiceName"].map({name: place for place, name in enumerate(names)}).to_numpy(np.int64)
        at, wall = (came[name].to_numpy(np.int64) for name in ("At", "Wall"))
        readings = Readings(number, at, wall, on_holiday(wall, settings.holidays), came["Value"].to_numpy(float))
        yield from self._emitted(key[0], self._judged(settings, names, readings))
        yield from self._listened(key[0], heard, names, readings, newest, since, live)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """No reading of the feed came for so long that by the clock of the machine services are silent."""
        heard, newest, since, live = self._known()
        passed = timerValues.getCurrentProcessingTimeInMs() - since
        yield from self._listened(key[0], heard, [], _NO_READINGS, newest, since, live, newest + passed)

    def close(self) -> None:
        pass

    def _known(self) -> tuple[dict[str, Heard], int, int, bool]:
        if not self._feed.exists():
            return {}, -1, 0, False
        heard, newest, since, live = self._feed.get()
        return {name: Heard(*each) for name, each in json.loads(heard).items()}, newest, since, live

    def _judged(self, settings: _Settings, names: list[str], readings: Readings) -> list[dict[str, Any]]:
        """The events of what deviates; each service's state goes on."""
        pace, stored = settings.pace, [self._services.getValue((name,)) for name in names]
        fresh = layout.packed(new_state(1, pace))[0]
        state = layout.unpacked(np.stack([np.frombuffer(each[0]) if each else fresh for each in stored]), pace)
        open_ = {name: Incident(**json.loads(each[1])) for name, each in zip(names, stored, strict=True) if each and each[1]}
        rules = settings.rules_of(names)
        state, score = walked(state, readings, pace, np.where(np.isnan(rules.score), np.inf, rules.score))
        open_, events, _ = following.followed(open_, names, readings, score, rules)
        for name, row in zip(names, layout.packed(state), strict=True):
            self._services.updateValue((name,), (row.tobytes(), json.dumps(asdict(open_[name])) if name in open_ else ""))
        return [incident_rows.of_deviation(event, settings.interval) for event in events]

    def _listened(
        self,
        table: str,
        heard: dict[str, Heard],
        names: list[str],
        readings: Readings,
        newest: int,
        since: int,
        live: bool,
        clock: int | None = None,
    ) -> Iterator[pd.DataFrame]:
        """The events of who is silent; what is known of the feed, and a timer for the time at which the next would be."""
        settings = self._feeds[table]
        everyone = [*names, *(heard.keys() - set(names))]
        patience = settings.patience_of(everyone)
        heard, events = silence.listened(heard, everyone, readings, clock or newest, settings.interval, patience)
        yield from self._emitted(table, [incident_rows.of_silence(event) for event in events])
        self._feed.update((json.dumps({name: list(vars(each).values()) for name, each in heard.items()}), newest, since, live))
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        waiting = [
            heard[name].at + (limit + 1) * settings.interval
            for name, limit in zip(everyone, patience.tolist(), strict=True)
            if limit and not heard[name].silent and heard[name].readings >= silence.KNOWN
        ]
        if live and waiting:
            self._handle.registerTimer(since + min(waiting) - newest)

    @staticmethod
    def _emitted(table: str, rows: list[dict[str, Any]]) -> Iterator[pd.DataFrame]:
        if rows:
            yield pd.DataFrame([{"Feed": table, **row} for row in rows], dtype=object)  # a null among numbers is no NaN


def _news(came: pd.DataFrame, heard: dict[str, Heard]) -> pd.DataFrame:
    """The rows that are newer than their service's newest reading; of two for one time, the one whose record is the later."""
    came = came.sort_values("Offset").drop_duplicates(["ServiceName", "At"], keep="last")
    last = came["ServiceName"].map({name: each.at for name, each in heard.items()}).fillna(-(2**62))
    return came[came["At"] > last]


_NO_READINGS = Readings(*(np.empty(0, kind) for kind in (np.int64, np.int64, np.int64, bool, float)))
