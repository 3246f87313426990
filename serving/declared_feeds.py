"""The feeds that the files of a folder declare. The files may change while serving runs, for the worse as well."""

from pathlib import Path

from contracts.calendar_entries import CALENDAR
from contracts.feeds import Feed, load_feeds
from serving.declared_files import DeclaredFiles


class DeclaredFeeds(DeclaredFiles[Feed]):
    def __init__(self, folder: Path):
        """Raises DeclarationError, as there are no feeds to keep yet."""
        super().__init__("feeds", lambda: load_feeds(folder), folder, folder.parent / CALENDAR.name)
        self._read()

    @property
    def feeds(self) -> dict[str, Feed]:
        """By name, as last read without a mistake."""
        return self.found
