"""The lake's tables, opened with `deltalake`: at most once a second each, and read once for each of their versions."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

FRESH_SECONDS = 1.0  # a promotion shows within this

T = TypeVar("T")
Version = tuple[str, int]  # a table deleted and created again counts its versions from zero again, under another id


class UnreadableError(Exception):
    """A table that is there cannot be opened. table: its path or URI."""

    def __init__(self, table: str, why: str):
        super().__init__(table, why)
        self.table, self.why = table, why

    def __str__(self) -> str:
        return self.why


class Lake:
    """root: its path or URI. Safe to use from several threads."""

    def __init__(self, root: str):
        self.root = root
        self._lock = threading.Lock()
        self._opened: dict[str, tuple[float, DeltaTable | None]] = {}
        self._read: dict[tuple[str, str], tuple[Version, object]] = {}
        self._reading: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def open(self, name: str) -> DeltaTable | None:
        """The table as of at most FRESH_SECONDS ago; None if it does not exist yet. Raises UnreadableError."""
        with self._lock:
            opened, table = self._opened.get(name, (float("-inf"), None))
            if time.monotonic() - opened < FRESH_SECONDS:
                return table
            if name in self._opened:  # others need not open it, too
                self._opened[name] = (time.monotonic(), table)
        try:
            table = DeltaTable(f"{self.root}/{name}")
        except TableNotFoundError:
            table = None
        except Exception as error:  # of many kinds, by the kind of lake
            with self._lock:
                self._opened.pop(name, None)  # the next reader opens it again
            raise UnreadableError(f"{self.root}/{name}", reason(error)) from error
        with self._lock:
            self._opened[name] = (time.monotonic(), table)
        return table

    def renew(self) -> None:
        """Have each table opened again by its next reader."""
        with self._lock:
            self._opened.clear()

    def of_version(self, what: tuple[str, str], table: DeltaTable, read: Callable[[], object]):
        """What `read` finds in this version of the table, read once for each version. Who asks meanwhile waits for that."""
        version = version_of(table)
        held = self._read.get(what)
        if held is None or held[0] != version:
            with self._lock:
                reading = self._reading[what]
            with reading:
                held = self._read.get(what)
                if held is None or held[0] != version:
                    held = self._read[what] = (version, read())
        return held[1]


def if_readable(read: Callable[..., T], otherwise: T, *arguments: object) -> T:
    """What `read` finds, or `otherwise` while the table can't be read. `Archive.unreadable` then says why."""
    try:
        return read(*arguments)
    except Exception:  # of many kinds, by the kind of lake
        return otherwise


def reason(error: BaseException) -> str:
    """Its first line; those that follow are Delta's own stack."""
    return str(error).partition("\n")[0] or type(error).__name__


def version_of(table: DeltaTable) -> Version:
    return str(table.metadata().id), table.version()
