"""Tells memory which services the baselines in force know. In a thread of its own: the lake may take its time, Kafka may not."""

import logging
import threading
from collections.abc import Callable, Mapping

from contracts.feeds import Feed
from serving.memory import Memory
from serving.tables import Tables

log = logging.getLogger("serving.baseline_services")

EVERY = 10.0  # seconds


class BaselineServices:
    """Asks `tables` for the services of each feed, again and again, and hands them to `memory`."""

    def __init__(self, feeds: Callable[[], Mapping[str, Feed]], tables: Tables, memory: Memory):
        self._feeds, self._tables, self._memory = feeds, tables, memory
        self._unread: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="baseline-services", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def look(self) -> None:
        """Once, at every feed. Where the lake does not answer, memory keeps what it was told last."""
        for name, feed in self._feeds().items():
            try:
                self._memory.expect(name, self._tables.services(feed))
                self._unread.discard(name)
            except Exception as error:  # of many kinds, by the kind of lake
                if name not in self._unread:
                    log.warning("services of the baseline of %s not read: %s; trying again", name, error)
                self._unread.add(name)

    def _run(self) -> None:
        while True:
            self.look()
            if self._stop.wait(EVERY):
                return
