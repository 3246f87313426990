"""Who did what: a line of JSON for each act, in serving's log and, if one is named, in a file."""

import logging
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from contracts import audit
from contracts.users import Identity

log = logging.getLogger("serving.audit")


class Audit:
    """file: lines are added to it and never changed; None: the log alone."""

    def __init__(self, file: Path | None):
        self._file, self._lock = file, Lock()

    def note(self, user: Identity | None, act: str, about: Mapping[str, Any]) -> str:
        """Returns the line's id. Raises OSError if the file can't be written: then the act must not be done."""
        id_ = audit.new_id()
        self._add(_line(id_, user, act, about))
        return id_

    def note_outcome(self, id_: str, user: Identity, act: str, about: Mapping[str, Any]) -> None:
        """What became of an act that was noted by that id. The act is over: what can't be written is in the log alone."""
        text = _line(id_, user, act, about)
        try:
            self._add(text)
        except OSError as error:
            log.error("%s (the audit log can't be written: %s)", text, error)

    def _add(self, text: str) -> None:
        if self._file:
            with self._lock:
                audit.add(self._file, text)
        log.info("%s", text)


def _line(id_: str, user: Identity | None, act: str, about: Mapping[str, Any]) -> str:
    return audit.line(id_, user.name if user else None, user.role if user else None, act, about)
