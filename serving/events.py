"""New records to the pages that listen: one bounded queue per listener, so a slow page costs little and slows no other."""

import asyncio
import contextlib
import signal
import threading
from collections import deque
from collections.abc import AsyncIterator, Container, Iterator
from dataclasses import dataclass, field

from serving.incidents import Incident
from serving.memory import Anomaly, Reading

SCORED, ANOMALY, INCIDENT, RESYNC, ALIVE = "scored", "anomaly", "incident", "resync", "alive"
ALIVE_SECONDS = 10.0  # after so long without another event a listener is told that the line is well


@dataclass(frozen=True, slots=True)
class Event:
    """One new record of a service; `record` is the Reading, Anomaly or Incident, None for resync and alive."""

    kind: str
    feed: str
    service: str
    record: Reading | Anomaly | Incident | None


@dataclass(eq=False)
class Listener:
    """One page. Receives its feed's anomalies and incidents, and the scored readings of its service. If it named no service,
    readings of every service; if it named no feed, events of every feed."""

    feed: str | None
    service: str | None
    capacity: int
    waiting: deque = field(default_factory=deque)
    lost: bool = False
    closed: bool = False
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def wants(self, event: Event) -> bool:
        return self.feed in (None, event.feed) and (event.kind in (ANOMALY, INCIDENT) or self.service in (None, event.service))

    def offer(self, event: Event) -> None:
        """Queues the event; a full queue is dropped whole and the listener must reload."""
        if len(self.waiting) >= self.capacity:
            self.waiting.clear()
            self.lost = True
        self.waiting.append(event)
        self.awake.set()


class Events:
    """Hands events from the consumer thread to the listeners on the server's event loop."""

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._listeners: set[Listener] = set()
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
        if events and self._listeners and not self._closed:
            self._on_loop(self._offer, events)

    def keep(self, feeds: Container[str]) -> None:
        """Ends the streams of all other feeds. From any thread."""
        self._on_loop(self._leave, feeds)

    def close(self) -> None:
        """Ends every listener's stream, so that the server can stop. From any thread or signal handler."""
        self._closed = True
        self._on_loop(self._wake)

    async def listen(self, feed: str | None, service: str | None) -> AsyncIterator[Event]:
        """Events as they come, until closed or the listener leaves."""
        listener = Listener(feed, service, self._capacity)
        self._listeners.add(listener)
        try:
            while not self._closed and not listener.closed:
                try:
                    await asyncio.wait_for(listener.awake.wait(), ALIVE_SECONDS)
                except TimeoutError:
                    yield Event(ALIVE, feed or "", service or "", None)
                    continue
                listener.awake.clear()
                if listener.lost:
                    listener.lost = False
                    yield Event(RESYNC, feed or "", service or "", None)
                while listener.waiting and not self._closed:
                    yield listener.waiting.popleft()
        finally:
            self._listeners.discard(listener)

    def _on_loop(self, function, *arguments) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop ended in between: there is no listener any more
                self._loop.call_soon_threadsafe(function, *arguments)

    def _offer(self, events: list[Event]) -> None:
        for listener in self._listeners:
            for event in events:
                if listener.wants(event):
                    listener.offer(event)

    def _leave(self, feeds: Container[str]) -> None:
        for listener in self._listeners:
            if listener.feed is not None and listener.feed not in feeds:
                listener.closed = True
                listener.awake.set()

    def _wake(self) -> None:
        for listener in self._listeners:
            listener.awake.set()


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
