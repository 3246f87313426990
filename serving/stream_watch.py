"""Looks at the run state of the streams, and tells listeners which have changed."""

import datetime as dt
from dataclasses import asdict
from pathlib import Path

from serving.events import Events
from serving.health_models import StreamInfo
from serving.kept_events import STREAM, Event
from serving.streams import Stream, streams
from serving.watch import Watch

EVERY = 1.0  # seconds
OF_FEEDS = "score"  # the other streams run queries, and are of no feed


class StreamWatch(Watch):
    """A stream has changed if its state has, or if it was given up, or switched off or on. What the first look finds is nothing
    new."""

    def __init__(self, root: Path, history: str, events: Events):
        super().__init__("stream-watch", EVERY)
        self._root, self._history, self._events = root, history, events
        self._known: dict[tuple[str, str], tuple[str, bool, bool]] | None = None

    def look(self) -> None:
        """Once, at every stream."""
        found = {(each.feed, each.stream): each for each in streams(self._root, dt.datetime.now(dt.UTC), self._history)}
        states = {name: (each.state, each.given_up, each.switched_off) for name, each in found.items()}
        if self._known is not None:
            self._events.publish([_event(found[name]) for name, state in states.items() if self._known.get(name) != state])
        self._known = states


def _event(stream: Stream) -> Event:
    record = StreamInfo(**asdict(stream)).model_dump_json()
    return Event(STREAM, stream.feed if stream.stream == OF_FEEDS else "", "", record)
