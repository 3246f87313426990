"""Looks at the tables of each feed: tells memory which services the baseline in force knows, and listeners what is new.

In a thread of its own: the lake may take its time, Kafka may not.
"""

import logging
from collections.abc import Callable, Mapping

from pydantic import BaseModel

from contracts.feeds import Feed
from serving.baseline_models import GateEvent, PromotionEvent
from serving.events import Events
from serving.kept_events import GATE, PROMOTION, Event
from serving.memory import Memory
from serving.tables import Tables
from serving.watch import Watch

log = logging.getLogger("serving.lake_watch")

EVERY = 5.0  # seconds
GATE_RESULTS = 20  # the newest of a feed: more than its gate finds between two looks


class LakeWatch(Watch):
    """What it finds at the first look at a feed is nothing new."""

    def __init__(self, feeds: Callable[[], Mapping[str, Feed]], tables: Tables, memory: Memory, events: Events):
        super().__init__("lake-watch", EVERY)
        self._feeds, self._tables, self._memory, self._events = feeds, tables, memory, events
        self._known: dict[tuple[str, str], set[tuple]] = {}  # by feed and kind of event
        self._unread: set[tuple[str, str]] = set()  # feeds and what of them can't be read

    def look(self) -> None:
        """Once, at every feed. Where the lake does not answer, memory keeps what it was told last."""
        feeds = self._feeds()
        self._known = {of: known for of, known in self._known.items() if of[0] in feeds}
        reads = {
            "services of the baseline": self._expect,
            "promotions": self._promotions,
            "gate results": self._gate,
        }
        for name, feed in feeds.items():
            self.thread.turns()
            for what, read in reads.items():
                try:
                    read(feed)
                    self._unread.discard((name, what))
                except Exception as error:  # of many kinds, by the kind of lake
                    if (name, what) not in self._unread:
                        log.warning("%s of %s not read: %s; trying again", what, name, error)
                    self._unread.add((name, what))

    def _expect(self, feed: Feed) -> None:
        self._memory.expect(feed.name, self._tables.services(feed))

    def _promotions(self, feed: Feed) -> None:
        """One event for each commit that put a version in force. Upkeep of the table does not."""
        found = {(each.version, each.promoted_at): each for each in self._tables.promotions(feed)}
        self._publish(feed, PROMOTION, PromotionEvent, found)

    def _gate(self, feed: Feed) -> None:
        results = self._tables.gate_results(feed, GATE_RESULTS)
        found = {(each.run_id, each.candidate_version, each.checked_at): each for each in results}
        self._publish(feed, GATE, GateEvent, found)

    def _publish(self, feed: Feed, kind: str, model: type[BaseModel], found: Mapping[tuple, object]) -> None:
        """found: newest first, by what no other has."""
        known = self._known.get((feed.name, kind))
        self._known[feed.name, kind] = found.keys() | (known or set())
        if known is None:
            return
        new = [model.model_validate(vars(each) | {"feed": feed.name}) for key, each in found.items() if key not in known]
        self._events.publish([Event(kind, feed.name, "", each.model_dump_json()) for each in reversed(new)])
