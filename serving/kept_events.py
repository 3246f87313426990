"""Events, what a listener may ask for of them, and the newest of them, kept for those who come back."""

import math
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, get_args

from serving.incidents import Incident
from serving.memory import Anomaly, Reading
from serving.models import EventKind

KINDS: tuple[EventKind, ...] = get_args(EventKind)
SCORED, ANOMALY, INCIDENT, PROMOTION, GATE, STREAM, ROW = KINDS
RESYNC, ALIVE = "resync", "alive"


@dataclass(frozen=True, slots=True)
class Event:
    """Something new. feed: empty for a stream of queries, and for a row. service: empty where it is of no single one. record: of
    resync and alive None; of promotion, gate, stream and row JSON, which is written once for all listeners. query: of a row."""

    kind: str
    feed: str
    service: str
    record: Reading | Anomaly | Incident | str | None
    query: str = ""


@dataclass(frozen=True)
class Wanted:
    """What a listener asks for. feed None: of every feed, and the streams of queries. services: their scored readings; none: of
    every service. queries: those of whose tables it gets the rows, if `kinds` has "row"."""

    feed: str | None = None
    services: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset(KINDS) - {ROW}
    queries: frozenset[str] = frozenset()

    def has(self, event: Event) -> bool:
        if event.kind not in self.kinds:
            return False
        if event.kind == ROW:
            return event.query in self.queries
        return self.feed in (None, event.feed) and (event.kind != SCORED or not self.services or event.service in self.services)


class Kept(NamedTuple):
    """number: of the event among all events of the process."""

    number: int
    id: str
    event: Event


class KeptEvents:
    """The newest events: at most `capacity` of them, whose JSON has at most `room` bytes."""

    def __init__(self, capacity: int, room: float = math.inf):
        self._capacity, self._room = capacity, room
        self._events: deque[Kept] = deque()
        self._size = 0
        self.gone = 0  # number of the newest event that is not kept any more

    def put(self, kept: Kept) -> None:
        self._events.append(kept)
        self._size += _size(kept.event)
        while len(self._events) > self._capacity or self._size > self._room:
            oldest = self._events.popleft()
            self._size -= _size(oldest.event)
            self.gone = oldest.number

    def after(self, number: int) -> Iterator[Kept]:
        return (each for each in self._events if each.number > number)


def _size(event: Event) -> int:
    return sys.getsizeof(event.record) if isinstance(event.record, str) else 0
