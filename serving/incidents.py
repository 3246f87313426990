"""The newest incidents of each feed, in bounded memory. One consumer thread writes, every request reads."""

import threading
from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident or a group of them as its last record says it (schemas/avro/incident). Times are epoch milliseconds."""

    id: str
    service: str
    kind: str
    state: str
    start: int
    last: int
    at: int
    end: int | None
    score: float
    cause: str
    level_shift: bool
    readings: int
    actual: float | None
    expected: float | None
    area: float | None
    direction: str | None
    peak_at: int | None
    peak: float | None
    peak_expected: float | None
    peak_size: float | None
    group: str | None
    services: int | None
    members: list[str]


class Incidents:
    """Incidents by feed and id. Of a feed with more than `per_feed`, members of groups go first, then closed ones, then open
    ones; of these, those that began first."""

    def __init__(self, per_feed: int):
        self._lock = threading.Lock()
        self._per_feed = per_feed
        self._feeds: defaultdict[str, dict[str, Incident]] = defaultdict(dict)

    def keep(self, feeds: Container[str]) -> None:
        """Lets all other feeds go."""
        with self._lock:
            for name in [name for name in self._feeds if name not in feeds]:
                del self._feeds[name]

    def put(self, feed: str, incident: Incident) -> None:
        """The newest record of its id."""
        with self._lock:
            known = self._feeds[feed]
            known[incident.id] = incident
            if len(known) > self._per_feed:
                del known[min(known.values(), key=_keeps_longer).id]

    def forget(self, feed: str, id_: str) -> None:
        with self._lock:
            self._feeds[feed].pop(id_, None)

    def open(self, feed: str) -> list[Incident]:
        """All that are not closed, groups and their members too; those that began last first."""
        with self._lock:
            known = [each for each in self._feeds.get(feed, {}).values() if each.state != "closed"]
        return sorted(known, key=lambda each: (-each.start, each.service))

    def services(self, feed: str) -> set[str]:
        """Those that have an open incident."""
        return {each.service for each in self.open(feed) if each.kind != "group"}

    def of(self, feed: str, service: str | None = None, only_open: bool = False, group: str | None = None) -> list[Incident]:
        """See `chosen`."""
        return chosen(self.all(feed), service, only_open, group)

    def all(self, feed: str) -> list[Incident]:
        """In no order."""
        with self._lock:
            return list(self._feeds.get(feed, {}).values())


def chosen(known: Iterable[Incident], service: str | None, only_open: bool, group: str | None) -> list[Incident]:
    """Those that began last first: of the service, of the group, or else those that are no members of a group."""
    wanted = [each for each in known if not (only_open and each.state == "closed")]
    if service is not None:
        wanted = [each for each in wanted if each.service == service]
    if group is not None or service is None:
        wanted = [each for each in wanted if each.group == group]
    return sorted(wanted, key=lambda each: (-each.start, each.service, each.id))


def _keeps_longer(incident: Incident) -> tuple[bool, bool, int, str]:
    return incident.group is None, incident.state != "closed", incident.start, incident.id
