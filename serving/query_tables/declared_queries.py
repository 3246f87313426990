"""The declared queries, as the files of a folder are now. The files may change while serving runs."""

import logging
import threading
from pathlib import Path

from contracts.declarations import DeclarationError
from contracts.feeds import FEEDS
from contracts.queries import Query, load_queries
from serving.declared_feeds import state_of

log = logging.getLogger("serving.declared_queries")


class DeclaredQueries:
    """Safe to use from several threads."""

    def __init__(self, folder: Path):
        self._folder, self._feeds = folder, folder.parent / FEEDS.name
        self._lock = threading.Lock()
        self._seen: list[tuple] | None = None
        self._queries: dict[str, Query] = {}

    def look(self) -> dict[str, Query]:
        """By name. The files are read again if one has changed. With a mistake in any, the queries stay as they were."""
        with self._lock:
            seen = state_of(self._folder, self._feeds)
            if seen != self._seen:
                self._seen = seen
                try:
                    self._queries = load_queries(self._folder)
                except (DeclarationError, OSError) as error:
                    log.warning(
                        "mistakes in %s, the queries stay as they were: %s", self._folder, "; ".join(str(error).splitlines())
                    )
            return self._queries
