"""The declared queries, and those that follow from the feeds beside them."""

from pathlib import Path

from contracts.calendar_entries import CALENDAR
from contracts.feeds import FEEDS
from contracts.queries import Query, load_queries
from serving.declared_files import DeclaredFiles


class DeclaredQueries(DeclaredFiles[Query]):
    """folder: without one there are no queries."""

    def __init__(self, folder: Path):
        def load() -> dict[str, Query]:
            return load_queries(folder) if folder.is_dir() else {}

        super().__init__("queries", load, folder, folder.parent / FEEDS.name, folder.parent / CALENDAR.name)
