"""Who did what: a line of JSON for each act, in serving's log and, if one is named, in a file."""

import datetime as dt
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from contracts.users import Identity

log = logging.getLogger("serving.audit")


class Audit:
    """file: lines are added to it and never changed; None: the log alone."""

    def __init__(self, file: Path | None):
        self._file, self._lock = file, Lock()

    def note(self, user: Identity, act: str, about: Mapping[str, Any]) -> None:
        """Raises OSError if the file can't be written: then the act must not be done."""
        at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"at": at, "user": user.name, "role": user.role, "act": act, **about})
        if self._file:
            with self._lock, self._file.open("a") as out:
                out.write(line + "\n")
        log.info("%s", line)
