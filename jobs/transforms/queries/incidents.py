"""Incidents, live: the detector's walk goes on with every batch of readings, and what it finds is emitted."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from jobs.transforms import calendar, incident_rows
from jobs.transforms.detector import silence
from jobs.transforms.detector.incidents import Incident
from jobs.transforms.detector.silence import Heard
from jobs.transforms.detector.walk import Readings
from jobs.transforms.incident_walk import Service, Settings, judged, readings_of

SERVICE = "State binary, Open string"  # of the map of services: the detector's state, the open incident as JSON or an empty text
FEED = "Heard string, Newest long, Since long, Live boolean"
LATE_BY = 60_000  # ms after its interval's end within which a reading is of the present


def incidents(inputs: dict[str, DataFrame], feeds: dict[str, dict[str, Any]]) -> DataFrame:
    """`incident_rows.COLUMNS` and Feed: each event of each incident of each feed once.

    inputs: by the feed's table: the service, RowTime (start of the interval), RowOffset and the feed's value. feeds: by table
    what `contracts.incident_queries.settings_of` makes of a feed. A reading is judged if it is newer than the service's newest;
    what comes later than that is left to the night.
    """
    came = [_came(inputs[table], table, feed) for table, feed in feeds.items()]
    every = came[0]
    for each in came[1:]:
        every = every.union(each)
    work = _Incidents({table: Settings.of(feed) for table, feed in feeds.items()})
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


class _Incidents(StatefulProcessor):
    """The work on one feed in one batch. The state: of each service, SERVICE; of the feed, FEED: the newest reading of each
    service as JSON; the newest of all (epoch ms), the machine's time when that came, and whether it was of the present."""

    def __init__(self, feeds: dict[str, Settings]):
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
        at, wall = (came[name].to_numpy(np.int64) for name in ("At", "Wall"))
        readings = readings_of(settings, names, came["ServiceName"].tolist(), at, wall, came["Value"].to_numpy(float))
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

    def _judged(self, settings: Settings, names: list[str], readings: Readings) -> list[dict[str, Any]]:
        """The events of what deviates; each service's state goes on."""
        stored = {name: each for name in names if (each := self._services.getValue((name,)))}
        known = {
            name: Service(np.frombuffer(state), Incident(**json.loads(open_)) if open_ else None)
            for name, (state, open_) in stored.items()
        }
        changed, events = judged(settings, known, names, readings)
        for name, service in changed.items():
            open_ = json.dumps(asdict(service.open)) if service.open else ""
            self._services.updateValue((name,), (service.state.tobytes(), open_))
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
