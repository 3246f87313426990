"""The audit log: who did what, one line of JSON each. Serving writes it, and so does `sundial users`."""

import datetime as dt
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "SUNDIAL_AUDIT_LOG"  # the variable that names it


def new_id() -> str:
    """Of an act: its line and the line of its outcome have the same."""
    return secrets.token_hex(8)


def line(id_: str, user: str | None, role: str | None, act: str, about: Mapping[str, Any]) -> str:
    """A line of the audit log. user, role: None without a login."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"at": at, "id": id_, "user": user, "role": role, "act": act, **about})


def add(file: Path, text: str) -> None:
    """Raises OSError if the file can't be written."""
    with file.open("a") as out:
        out.write(text + "\n")
