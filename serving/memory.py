"""The newest readings and anomalies of the derived topics, in bounded memory. One consumer thread writes, every request reads."""

import heapq
import threading
import time
from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field, replace

from serving.crowding import Crowding
from serving.scored import NOTHING, Reading, Scored, Series


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One reading that broke the rule; at, taken and offset as those of `Reading`."""

    service: str
    at: int
    value: int
    expected: float
    spread: float | None
    pct: float | None
    baseline_version: int
    taken: int = 0
    offset: int = -1

    @property
    def order(self) -> tuple[int, int, int]:
        """As of `Reading`."""
        return self.taken, self.offset, self.baseline_version


@dataclass
class _Held:
    """What is held of one feed."""

    series: dict[str, Series] = field(default_factory=dict)
    baseline: frozenset[str] = frozenset()  # services that the baseline in force knows
    others: dict[str, None] = field(default_factory=dict)  # services of `series` that it does not know, last heard of last
    crowding: Crowding = field(default_factory=Crowding)
    anomalies: dict[tuple[int, str], Anomaly] = field(default_factory=dict)
    order: list[tuple[int, str]] = field(default_factory=list)  # heap of the anomalies' keys, oldest first

    def make_room(self, service: str) -> bool:
        """Whether a service could be dropped for another, `service`."""
        evicted = next(iter(self.others), None)
        if evicted is None:
            self.crowding = replace(self.crowding, turned_away=self.crowding.turned_away + 1)
        else:
            del self.series[evicted], self.others[evicted]
            self.crowding = replace(self.crowding, evicted=self.crowding.evicted + 1)
        self.crowding = replace(self.crowding, example=evicted or service, last=time.monotonic())
        return evicted is not None


class Memory:
    """Readings by (feed, service, time) and the newest anomalies of each feed. Of a feed not heard of yet it holds nothing."""

    def __init__(self, readings_per_service: int, services_per_feed: int, anomalies_per_feed: int):
        self._lock = threading.Lock()
        self._capacity = readings_per_service
        self._services_per_feed = services_per_feed
        self._anomalies_per_feed = anomalies_per_feed
        self._feeds: defaultdict[str, _Held] = defaultdict(_Held)

    def keep(self, feeds: Container[str]) -> None:
        """Lets all other feeds go."""
        with self._lock:
            for name in [name for name in self._feeds if name not in feeds]:
                del self._feeds[name]

    def expect(self, feed: str, services: frozenset[str]) -> None:
        """Says which services the baseline in force knows: none of them makes room for one that it does not know."""
        with self._lock:
            held = self._feeds[feed]
            if services != held.baseline:
                held.baseline = services
                heard = [*held.others, *(name for name in held.series if name not in held.others)]
                held.others = {name: None for name in heard if name not in services}

    def put_reading(self, feed: str, service: str, reading: Reading) -> bool:
        """Keeps the reading, unless a correction of it is known, or a newer baseline has scored it: then false.

        Where the feed has as many services as are kept, one that the baseline does not know makes room: the one not heard of for
        longest. Where the baseline knows them all, the reading is turned away.
        """
        with self._lock:
            held = self._feeds[feed]
            if service not in held.series:
                if len(held.series) >= self._services_per_feed and not held.make_room(service):
                    return True
                held.series[service] = Series(self._capacity)
            if service not in held.baseline:
                held.others.pop(service, None)
                held.others[service] = None
            return held.series[service].put(reading)

    def put_anomaly(self, feed: str, anomaly: Anomaly) -> bool:
        """Keeps the anomaly, under the same condition."""
        with self._lock:
            held, key = self._feeds[feed], (anomaly.at, anomaly.service)
            known = held.anomalies.get(key)
            if known is None:
                heapq.heappush(held.order, key)
            elif anomaly.order < known.order:
                return False
            held.anomalies[key] = anomaly
            while len(held.order) > self._anomalies_per_feed:
                held.anomalies.pop(heapq.heappop(held.order), None)
            return True

    def forget_reading(self, feed: str, service: str, at: int) -> None:
        with self._lock:
            if service in self._of(feed).series:
                self._of(feed).series[service].forget(at)

    def forget_anomaly(self, feed: str, service: str, at: int) -> None:
        with self._lock:
            self._of(feed).anomalies.pop((at, service), None)

    def crowding(self) -> dict[str, Crowding]:
        """Of each feed that was heard of."""
        with self._lock:
            return {name: replace(held.crowding, in_baseline=len(held.baseline)) for name, held in self._feeds.items()}

    def services(self, feed: str) -> dict[str, Reading | None]:
        """Newest reading of every known service."""
        with self._lock:
            return {name: series.newest() for name, series in self._of(feed).series.items()}

    def newest(self, feed: str, service: str) -> Reading | None:
        """Its newest reading; None for an unknown service."""
        with self._lock:
            series = self._of(feed).series.get(service)
            return series.newest() if series else None

    def flagged_since(self, feed: str) -> dict[str, int | None]:
        """Of every known service, since when all its readings are anomalous, epoch milliseconds; None: the newest one is not."""
        with self._lock:
            return {name: series.flagged_since() for name, series in self._of(feed).series.items()}

    def in_baseline(self, feed: str) -> frozenset[str]:
        """Services that the baseline in force knows, as was said last."""
        with self._lock:
            return self._of(feed).baseline

    def scored(self, feed: str, service: str, start: int, end: int) -> Scored:
        """As columns, the readings of [start, end] (epoch milliseconds); empty for an unknown service."""
        with self._lock:
            series = self._of(feed).series.get(service)
            return series.scored(start, end) if series else NOTHING

    def changes(self, feed: str, service: str) -> int:
        """Another number after each change of what is held of the service; 0 where nothing is."""
        with self._lock:
            series = self._of(feed).series.get(service)
            return series.changes if series else 0

    def knows(self, feed: str, service: str) -> bool:
        with self._lock:
            return service in self._of(feed).series

    def newest_at(self, feed: str) -> int | None:
        """Time of the newest reading of any service, epoch milliseconds."""
        with self._lock:
            return max((series.times[-1] for series in self._of(feed).series.values() if series.times), default=None)

    def anomalies(self, feed: str, limit: int, service: str | None = None) -> list[Anomaly]:
        """Newest first. Left out are those whose reading was corrected to a normal one since, or is one by a newer baseline."""
        with self._lock:
            held = sorted(self._of(feed).anomalies.values(), key=lambda each: (-each.at, each.service))
            wanted = (each for each in held if service in (None, each.service) and not self._corrected(feed, each))
            return [each for each, _ in zip(wanted, range(limit), strict=False)]

    def _corrected(self, feed: str, anomaly: Anomaly) -> bool:
        series = self._of(feed).series.get(anomaly.service)
        reading = series.at(anomaly.at) if series else None
        return reading is not None and not reading.anomalous and reading.order >= anomaly.order

    def _of(self, feed: str) -> _Held:
        """To be looked at. Looking makes no feed known."""
        return self._feeds.get(feed, _Held())
