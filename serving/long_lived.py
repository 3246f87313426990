"""Threads that serving starts once, and that work until it ends. /health says which of them has died or stands still."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

LAKE_PATIENCE = 300.0  # seconds that one answer of the lake may take


@dataclass(frozen=True)
class Standstill:
    """A thread, or a process, that does not come to its next turn. seconds: for how long. died: it has ended, though it should
    not."""

    name: str
    seconds: float
    died: bool


class LongLived:
    """A thread that runs `work`, which takes turns until `ending` is set. patience: seconds that a turn may take."""

    def __init__(self, name: str, work: Callable[[], None], patience: float):
        self.ending = threading.Event()
        self.patience, self._turned_at = patience, 0.0
        self._thread = threading.Thread(target=work, name=name, daemon=True)

    def start(self) -> None:
        self.turns()
        self._thread.start()

    def turns(self) -> None:
        """The thread calls this when it comes to its next turn."""
        self._turned_at = time.monotonic()

    def stop(self, patience: float | None = 10) -> None:
        self.ending.set()
        self._thread.join(patience)

    def silent_seconds(self) -> float:
        """How long the thread has not come to its next turn. 0 before its start and after its stop."""
        works = self._thread.ident is not None and not self.ending.is_set()
        return time.monotonic() - self._turned_at if works else 0.0

    def standstill(self) -> Standstill | None:
        """None if all is well, and before its start and after its stop."""
        silent = self.silent_seconds()
        died = silent > 0 and not self._thread.is_alive()
        return Standstill(self._thread.name, silent, died) if died or silent > self.patience else None
