"""What the files of folders declare, read again when they change."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from contracts.declarations import DeclarationError

log = logging.getLogger("serving.declared_files")
D = TypeVar("D")


class DeclaredFiles(Generic[D]):
    """`found` by name, as last read without a mistake; `mistakes` of the files as they are, each with its file.

    Any thread may read both, which are replaced and never changed.
    """

    def __init__(self, what: str, load: Callable[[], dict[str, D]], folder: Path, *beside: Path):
        self.folder = folder
        self._what, self._load, self._folders = what, load, (folder, *beside)
        self._lock = threading.Lock()
        self._seen: list[tuple] | None = None
        self.found: dict[str, D] = {}
        self.mistakes: list[str] = []

    def look(self) -> dict[str, D]:
        """What is declared. Files are read again if one has changed or is wrong. With a mistake in any, all stays as it was."""
        with self._lock:
            try:
                self._read()
            except (DeclarationError, OSError) as error:
                mistakes = str(error).splitlines()
                if mistakes != self.mistakes:
                    log.warning("mistakes in %s, the %s stay as they were: %s", self.folder, self._what, "; ".join(mistakes))
                self.mistakes = mistakes
            return self.found

    def _read(self) -> None:
        state, before = state_of(*self._folders), self._seen
        if state == before and not self.mistakes:  # what was missed, such as a contract, may be no file of these folders
            return
        self._seen, found = state, self._load()
        if before is not None:
            new, gone = sorted(found.keys() - self.found.keys()), sorted(self.found.keys() - found.keys())
            log.info("the %s have changed: new %s; gone %s", self._what, ", ".join(new) or "none", ", ".join(gone) or "none")
        self.found, self.mistakes = found, []


def state_of(*folders: Path) -> list[tuple]:
    """What changes with any file."""
    files = [(file.name, file.stat()) for folder in folders for file in sorted(folder.glob("*.yaml"))]
    return [(name, found.st_ino, found.st_mtime_ns, found.st_size) for name, found in files]
