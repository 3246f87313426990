"""What is new to those who listen: one bounded queue per listener, so a slow one costs little and slows no other."""

import asyncio
import contextlib
import heapq
import re
import secrets
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Container, Iterator
from dataclasses import dataclass, field

from serving.kept_events import ALIVE, KINDS, RESYNC, ROW, SCORED, Event, Kept, KeptEvents, Wanted

ALIVE_SECONDS = 10.0  # after so long without another event a listener is told that the line is well
ASK_SECONDS = 0.5  # how often a listener's login is looked at: a removed user is out within a second
ROOM = 8_000_000  # bytes of the rows of queries that wait or are kept, however many listen


@dataclass(eq=False)
class Listener:
    """A page or a program that gets what it wants of all events."""

    wanted: Wanted
    capacity: int
    begins: str = ""  # the id of the event after which it listens
    waiting: deque[Kept] = field(default_factory=deque)
    lost: bool = False
    closed: bool = False
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, kept: Kept) -> None:
        """Queues the event if it is one of the listener's; a full queue is dropped whole and the listener must reload."""
        if not self.wanted.has(kept.event):
            return
        if len(self.waiting) >= self.capacity:
            self.lose()
        self.waiting.append(kept)
        self.awake.set()

    def lose(self) -> None:
        """What waits is dropped, and it must reload."""
        self.waiting.clear()
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
                    yield None, Event(ALIVE, self.wanted.feed or "", "", None)
                    spoken = time.monotonic()
                continue
            spoken = time.monotonic()
            self.awake.clear()
            if self.lost:
                self.lost = False
                yield None, Event(RESYNC, self.wanted.feed or "", "", None)
            while self.waiting and not self.closed:
                yield self.waiting.popleft()[1:]


class Events:
    """Hands events from the threads that find them to the listeners on the server's event loop. Keeps the newest, so that a
    listener whose connection broke goes on where it was: `capacity` scored readings, as many rows of queries within `room` bytes,
    and as many of all other events, which are rarer."""

    def __init__(self, capacity: int, room: int = ROOM):
        self._capacity = capacity
        self._listeners: set[Listener] = set()
        self._rows = KeptEvents(capacity, room)
        self._kept: dict[str, KeptEvents] = dict.fromkeys(KINDS, KeptEvents(capacity))
        self._kept |= {SCORED: KeptEvents(capacity), ROW: self._rows}
        self._rows_since: dict[str, int] = {}  # by query, the number of the event after which each of its rows became one
        self._count = 0  # events so far; an event's id ends in its number
        self._process = secrets.token_hex(4)  # an id says nothing to another process: its events have other numbers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def queries(self) -> set[str]:
        """Queries whose rows have a listener. From any thread."""
        return {query for each in tuple(self._listeners) for query in each.wanted.queries}

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

    def let_go(self, query: str) -> None:
        """From now on its rows become no events: ends the streams of its listeners. From any thread."""
        self._on_loop(self._let_go, query)

    def close(self) -> None:
        """Ends every listener's stream, so that the server can stop. From any thread or signal handler."""
        self._closed = True
        self._on_loop(self._end)

    @contextlib.contextmanager
    def listening(self, wanted: Wanted, after: str | None = None) -> Iterator[Listener]:
        """A listener of all that comes from now on, or since the event with the id `after`. If events since then are not kept any
        more, or the id is of another process, the listener first gets `resync`."""
        listener = Listener(wanted, self._capacity, self._id(self._count), closed=self._closed)
        if after is not None:
            self._resume(listener, after)
        for query in wanted.queries:
            self._rows_since.setdefault(query, self._count)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def _resume(self, listener: Listener, after: str) -> None:
        wanted = listener.wanted
        found = re.fullmatch(f"{self._process}-([0-9]{{1,18}})", after)
        kept = {self._kept[kind] for kind in wanted.kinds}
        gone = max([*(each.gone for each in kept), *(self._rows_since.get(query, self._count + 1) for query in wanted.queries)])
        if found is None or not gone <= int(found[1]) <= self._count:
            listener.lose()
            return
        listener.begins = after
        for each in heapq.merge(*(each.after(int(found[1])) for each in kept)):
            listener.offer(each)

    def _id(self, number: int) -> str:
        return f"{self._process}-{number}"

    def _on_loop(self, function, *arguments) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop ended in between: there is no listener any more
                self._loop.call_soon_threadsafe(function, *arguments)

    def _offer(self, events: list[Event]) -> None:
        for event in events:
            self._count += 1
            kept = Kept(self._count, self._id(self._count), event)
            self._kept[event.kind].put(kept)
            for listener in self._listeners:
                listener.offer(kept)
        for listener in self._listeners:
            if listener.wanted.queries and listener.waiting and listener.waiting[0].number <= self._rows.gone:
                listener.lose()  # else its queue alone would hold the rows that were let go

    def _leave(self, feeds: Container[str]) -> None:
        for listener in self._listeners:
            if listener.wanted.feed is not None and listener.wanted.feed not in feeds:
                listener.close()

    def _let_go(self, query: str) -> None:
        self._rows_since.pop(query, None)
        for listener in self._listeners:
            if query in listener.wanted.queries:
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
