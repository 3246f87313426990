"""The feeds that the files of a folder declare. The files may change while serving runs, for the worse as well."""

import logging
from pathlib import Path

from contracts.calendar_entries import CALENDAR
from contracts.declarations import DeclarationError
from contracts.feeds import Feed, load_feeds

log = logging.getLogger("serving.declared_feeds")


class DeclaredFeeds:
    """`feeds` by name, as last read without a mistake; `mistakes` of the files as they are, each with its file."""

    def __init__(self, folder: Path):
        """Raises DeclarationError, as there are no feeds to keep yet."""
        self.folder = folder
        self._folders = folder, folder.parent / CALENDAR.name
        self._seen = state_of(*self._folders)
        self.feeds = load_feeds(folder)
        self.mistakes: list[str] = []

    def look(self) -> dict[str, Feed]:
        """The feeds. The files are read again if one has changed or is wrong. With a mistake in any, the feeds stay as they were.

        One thread may look; any may read `feeds` and `mistakes`, which are replaced and never changed.
        """
        try:
            state = state_of(*self._folders)
            if state != self._seen or self.mistakes:  # a contract that was missed may have come, and is no file of this folder
                self._seen = state
                self._take(load_feeds(self.folder))
        except (DeclarationError, OSError) as error:
            mistakes = str(error).splitlines()
            if mistakes != self.mistakes:
                log.warning("mistakes in %s, the feeds stay as they were: %s", self.folder, "; ".join(mistakes))
            self.mistakes = mistakes
        return self.feeds

    def _take(self, feeds: dict[str, Feed]) -> None:
        new, gone = sorted(feeds.keys() - self.feeds.keys()), sorted(self.feeds.keys() - feeds.keys())
        log.info("the declarations have changed: new %s; gone %s", ", ".join(new) or "none", ", ".join(gone) or "none")
        self.feeds, self.mistakes = feeds, []


def state_of(*folders: Path) -> list[tuple]:
    """What changes with any file."""
    files = [(file.name, file.stat()) for folder in folders for file in sorted(folder.glob("*.yaml"))]
    return [(name, found.st_ino, found.st_mtime_ns, found.st_size) for name, found in files]
