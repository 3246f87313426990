"""Incidents, live: the detector's walk goes on with every batch of readings, and what it finds is emitted."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, MapState, TimerValues

from jobs.transforms import incident_rows, local_time
from jobs.transforms.detector import silence
from jobs.transforms.detector.incident_life import Incident
from jobs.transforms.detector.silence import Heard
from jobs.transforms.detector.walk import Readings
from jobs.transforms.incident_groups import Groups
from jobs.transforms.incident_walk import Known, Service, Settings, followed_through, readings_of

SERVICE = "State binary, Open string"  # of the map of services: the detector's state, the open incident as JSON or an empty text
FEED = "Heard string, Newest long, Since long, Live boolean"  # the newest reading of each service as JSON; see _Clock
GROUPS = "Groups string"  # of open incidents, as JSON
HOW = "How string"  # what the numbers of all these mean, as `Nights.how`
GAP = 2  # intervals between what a night knew and the first reading; with more, nobody knows which services were silent meanwhile
LATE_BY = 60_000  # ms after its interval's end within which the broker takes a reading of the present


class Nights(Protocol):
    """What nights knew of feeds, by the feed's table. how: a digest of what the numbers in a state mean."""

    @property
    def how(self) -> Mapping[str, str]: ...

    def rows(self, table: str) -> list[dict[str, Any]]:
        """What the night's walk knew at the last midnight, as `detector_known.COLUMNS`; empty where there was none."""


def incidents(inputs: dict[str, DataFrame], feeds: dict[str, dict[str, Any]], known: Nights) -> DataFrame:
    """`incident_rows.COLUMNS` and Feed: each event of each incident of each feed once.

    inputs: `together`, a column for each feed's table with the service, RowTime (start of the interval), RowOffset and the feed's
    value; and RowCame. feeds: by table what `contracts.incident_queries.settings_of` makes of a feed. A reading is judged if it
    is newer than the service's newest; what comes later than that is left to the night. known: what a feed begins with.
    """
    [rows] = inputs.values()
    came = F.coalesce(*(_came(table, feed) for table, feed in feeds.items()))
    # explode_outer: Spark would move a filter in front of what decodes, and decode once more for it.
    every = rows.select(F.explode_outer(F.array(came)).alias("_came")).where(F.col("_came").isNotNull()).select("_came.*")
    found = every.groupBy("Feed").transformWithStateInPandas(
        _Incidents({table: Settings.of(feed) for table, feed in feeds.items()}, known),
        f"Feed string, {incident_rows.RESULT}",
        "Append",
        "ProcessingTime",
    )
    return found.withColumns({name: F.timestamp_millis(name) for name in incident_rows.TIMES})


def _came(table: str, feed: dict[str, Any]) -> Column:
    """A reading of this feed; null if the row is another feed's."""
    row = F.col(table)
    wall = local_time.wall_clock(row["RowTime"], feed["timezone"])
    reading = F.struct(
        F.lit(table).alias("Feed"),
        row[feed["service"]].alias("ServiceName"),
        F.unix_millis(row["RowTime"]).alias("At"),
        F.call_function("div", wall, F.lit(1000)).alias("Wall"),
        row["RowOffset"].alias("Offset"),
        row[feed["value"]].cast("double").alias("Value"),
        F.unix_millis("RowCame").alias("Came"),
    )
    return F.when(row.isNotNull(), reading)


@dataclass(frozen=True)
class _Clock:
    """newest: the time of the feed's newest reading (epoch ms). since: the machine's time when the query got that; -1 if only a
    night had it. live: whether it was of the present when the broker took it, however late the query got it."""

    newest: int = -1
    since: int = 0
    live: bool = False


class _Stored(Mapping[str, Service]):
    """What is known of services, each read from the state when it is asked for."""

    def __init__(self, services: MapState):
        self._services = services

    def __getitem__(self, name: str) -> Service:
        found = self._services.getValue((name,))
        if not found:
            raise KeyError(name)
        state, open_ = found
        return Service(np.frombuffer(state), Incident(**json.loads(open_)) if open_ else None)

    def __iter__(self) -> Iterator[str]:
        return (name for (name,), _ in self._services.iterator())

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Incidents(StatefulProcessor):
    """The work on one feed in one batch. The state: of each service, SERVICE; of the feed, FEED, GROUPS and HOW."""

    def __init__(self, feeds: dict[str, Settings], nights: Nights):
        self._feeds, self._nights = feeds, nights

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._services = handle.getMapState("services", "ServiceName string", SERVICE)
        self._feed = handle.getValueState("feed", FEED)
        self._groups = handle.getValueState("groups", GROUPS)
        self._how = handle.getValueState("how", HOW)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        self._begin(key[0])
        heard, clock = self._heard()
        every = pd.concat(rows, ignore_index=True)
        came, settings = _news(every, heard), self._feeds[key[0]]
        now_clock = _moved(clock, every, settings.interval, timerValues.getCurrentProcessingTimeInMs())
        if not len(came):
            if now_clock != clock:  # the topic has the newest reading that a night knew
                self._keep_heard(heard, now_clock)
                self._wait(settings, heard, now_clock)
            return
        if clock.since < 0 and int(came["At"].min()) > clock.newest + GAP * settings.interval:
            heard = {name: replace(each, readings=0) for name, each in heard.items()}
        names = sorted(came["ServiceName"].unique())
        at, wall = (came[name].to_numpy(np.int64) for name in ("At", "Wall"))
        readings = readings_of(settings, names, came["ServiceName"].tolist(), at, wall, came["Value"].to_numpy(float))
        yield from self._followed(key[0], heard, names, readings, now_clock, now_clock.newest)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """No reading of the feed came for so long that by the clock of the machine services are silent."""
        if key[0] not in self._feeds:  # it is no longer declared
            return self._clear()
        self._begin(key[0])
        heard, clock = self._heard()
        passed = timerValues.getCurrentProcessingTimeInMs() - clock.since
        yield from self._followed(key[0], heard, [], _NO_READINGS, clock, clock.newest + passed)

    def close(self) -> None:
        pass

    def _begin(self, table: str) -> None:
        """Take up what a night knew, unless the state is there and means what it would mean now."""
        how = self._nights.how[table]
        if self._how.exists() and self._how.get()[0] == how:
            return
        self._clear()
        heard = {}
        for row in self._nights.rows(table):
            if row["ServiceName"] is None:
                self._groups.update((row["Groups"],))
            else:
                self._services.updateValue((row["ServiceName"],), (row["State"], row["Open"] or ""))
                heard[row["ServiceName"]] = Heard(**json.loads(row["Heard"]))
        if heard:
            self._keep_heard(heard, _Clock(max(each.at for each in heard.values()), since=-1))
        self._how.update((how,))

    def _clear(self) -> None:
        """Forget all of the feed."""
        for state in (self._services, self._feed, self._groups, self._how):
            if state.exists():
                state.clear()
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)

    def _heard(self) -> tuple[dict[str, Heard], _Clock]:
        if not self._feed.exists():
            return {}, _Clock()
        heard, *clock = self._feed.get()
        return {name: Heard(*each) for name, each in json.loads(heard).items()}, _Clock(*clock)

    def _keep_heard(self, heard: Mapping[str, Heard], clock: _Clock) -> None:
        newest = json.dumps({name: list(vars(each).values()) for name, each in heard.items()})
        self._feed.update((newest, clock.newest, clock.since, clock.live))

    def _followed(
        self, table: str, heard: dict[str, Heard], names: list[str], readings: Readings, clock: _Clock, now: int
    ) -> Iterator[pd.DataFrame]:
        """The events up to `now` (epoch ms by the feed's clock); what is known of the feed goes on."""
        groups = Groups(**json.loads(self._groups.get()[0])) if self._groups.exists() else Groups()
        before = Known(_Stored(self._services), heard, groups)
        known, events = followed_through(self._feeds[table], before, names, readings, now)
        if events:
            yield pd.DataFrame([{"Feed": table, **row} for row in events], dtype=object)  # a null among numbers is no NaN
        for name, service in known.services.items():
            open_ = json.dumps(asdict(service.open)) if service.open else ""
            self._services.updateValue((name,), (service.state.tobytes(), open_))
        for name in heard.keys() - known.heard.keys():
            self._services.removeKey((name,))
        self._keep_heard(known.heard, clock)
        if known.groups != groups:
            self._groups.update((json.dumps(asdict(known.groups)),))
        self._wait(self._feeds[table], known.heard, clock)

    def _wait(self, settings: Settings, heard: Mapping[str, Heard], clock: _Clock) -> None:
        """A timer for the time at which the next service would be silent."""
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        names = list(heard)
        waiting = [
            settings.resumed(name, heard[name].at, (limit + 1) * settings.interval)
            for name, limit in zip(names, settings.patience_of(names).tolist(), strict=True)
            if limit and not heard[name].silent and heard[name].readings >= silence.KNOWN
        ]
        if clock.live and waiting:
            self._handle.registerTimer(clock.since + min(waiting) - clock.newest)


def _moved(clock: _Clock, came: pd.DataFrame, interval: int, now: int) -> _Clock:
    """The clock after these rows. now: the machine's time: a silence is not counted from before the query got the newest reading,
    so a query that catches up never takes what waits in the topic for missing."""
    newest = int(came["At"].max())
    if newest < clock.newest or (newest == clock.newest and clock.since >= 0):
        return clock
    taken = int(came["Came"][came["At"] == newest].min())
    return _Clock(newest, now, taken <= newest + interval + LATE_BY)


def _news(came: pd.DataFrame, heard: dict[str, Heard]) -> pd.DataFrame:
    """The rows that are newer than their service's newest reading; of two for one time, the one whose record is the later."""
    came = came.sort_values("Offset").drop_duplicates(["ServiceName", "At"], keep="last")
    last = came["ServiceName"].map({name: each.at for name, each in heard.items()}).fillna(-(2**62))
    return came[came["At"] > last]


_NO_READINGS = Readings(*(np.empty(0, kind) for kind in (np.int64, np.int64, np.int64, bool, float)))
