"""New records to the pages that listen: one bounded queue per listener, so a slow page costs little and slows no other."""

import asyncio
import contextlib
import itertools
import re
import secrets
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field

from serving.incidents import Incident
from serving.memory import Anomaly, Reading

SCORED, ANOMALY, INCIDENT, RESYNC, ALIVE = "scored", "anomaly", "incident", "resync", "alive"
ALIVE_SECONDS = 10.0  # after so long without another event a listener is told that the line is well
ASK_SECONDS = 0.5  # how often a listener's login is looked at: a removed user is out within a second


@dataclass(frozen=True, slots=True)
class Event:
    """One new record of a service; `record` is the Reading, Anomaly or Incident, None for resync and alive."""

    kind: str
    feed: str
    service: str
    record: Reading | Anomaly | Incident | None


@dataclass(eq=False)
class Listener:
    """One page. Receives its feed's anomalies and incidents, and the scored readings of its services. If it named no service,
    readings of every service; if it named no feed, events of every feed."""

    feed: str | None
    services: frozenset[str]
    capacity: int
    begins: str = ""  # the id of the event after which it listens
    waiting: deque[tuple[str, Event]] = field(default_factory=deque)  # with their ids
    lost: bool = False
    closed: bool = False
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def wants(self, event: Event) -> bool:
        return self.feed in (None, event.feed) and (
            event.kind in (ANOMALY, INCIDENT) or not self.services or event.service in self.services
        )

    def offer(self, id_: str, event: Event) -> None:
        """Queues the event if it is one of the listener's; a full queue is dropped whole and the listener must reload."""
        if not self.wants(event):
            return
        if len(self.waiting) >= self.capacity:
            self.waiting.clear()
            self.lost = True
        self.waiting.append((id_, event))
        self.awake.set()

    def lose(self) -> None:
        """It must reload."""
        self.lost = True
        self.awake.set()

    def close(self) -> None:
        self.closed = True
        self.awake.set()

    async def heard(self, admitted: Callable[[], bool]) -> AsyncIterator[tuple[str | None, Event]]:
        """Events with their ids as they come, until closed, or until the one who listens is not `admitted` any more. `resync` and
        `alive` have none."""
        spoken = time.monotonic()
        while not self.closed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.awake.wait(), ASK_SECONDS)
            if not admitted():
                return
            if not self.awake.is_set():
                if time.monotonic() - spoken >= ALIVE_SECONDS:
                    yield None, Event(ALIVE, self.feed or "", "", None)
                    spoken = time.monotonic()
                continue
            spoken = time.monotonic()
            self.awake.clear()
            if self.lost:
                self.lost = False
                yield None, Event(RESYNC, self.feed or "", "", None)
            while self.waiting and not self.closed:
                yield self.waiting.popleft()


class Events:
    """Hands events from the consumer thread to the listeners on the server's event loop. Keeps the newest `capacity` of them, so
    that a listener whose connection broke goes on where it was."""

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._listeners: set[Listener] = set()
        self._kept: deque[tuple[str, Event]] = deque(maxlen=capacity)
        self._count = 0  # events so far; an event's id ends in its number
        self._process = secrets.token_hex(4)  # an id says nothing to another process: its events have other numbers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def open(self) -> None:
        """Binds to the running event loop."""
        self._loop = asyncio.get_running_loop()

    def publish(self, events: list[Event]) -> None:
        """From any thread."""
        if events and not self._closed:
            self._on_loop(self._offer, events)

    def keep(self, feeds: Container[str]) -> None:
        """Ends the streams of all other feeds. From any thread."""
        self._on_loop(self._leave, feeds)

    def close(self) -> None:
        """Ends every listener's stream, so that the server can stop. From any thread or signal handler."""
        self._closed = True
        self._on_loop(self._end)

    @contextlib.contextmanager
    def listening(self, feed: str | None, services: Iterable[str] = (), after: str | None = None) -> Iterator[Listener]:
        """A listener of all that comes from now on, or since the event with the id `after`. If events since then are not kept any
        more, or the id is of another process, the listener first gets `resync`."""
        listener = Listener(feed, frozenset(services), self._capacity, self._id(self._count), closed=self._closed)
        if after is not None:
            self._resume(listener, after)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def _resume(self, listener: Listener, after: str) -> None:
        found = re.fullmatch(f"{self._process}-([0-9]{{1,18}})", after)
        gone = self._count - len(self._kept)
        if found is None or not gone <= int(found[1]) <= self._count:
            listener.lose()
            return
        listener.begins = after
        for id_, event in itertools.islice(self._kept, int(found[1]) - gone, None):
            listener.offer(id_, event)

    def _id(self, number: int) -> str:
        return f"{self._process}-{number}"

    def _on_loop(self, function, *arguments) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop ended in between: there is no listener any more
                self._loop.call_soon_threadsafe(function, *arguments)

    def _offer(self, events: list[Event]) -> None:
        for event in events:
            self._count += 1
            id_ = self._id(self._count)
            self._kept.append((id_, event))
            for listener in self._listeners:
                listener.offer(id_, event)

    def _leave(self, feeds: Container[str]) -> None:
        for listener in self._listeners:
            if listener.feed is not None and listener.feed not in feeds:
                listener.close()

    def _end(self) -> None:
        for listener in self._listeners:
            listener.close()


@contextlib.contextmanager
def closed_on_signal(events: Events) -> Iterator[None]:
    """Closes the events as soon as the server is to stop: it waits for open responses, and these never end by themselves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def stop(number, frame):
        events.close()
        if callable(before[number]):
            before[number](number, frame)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
