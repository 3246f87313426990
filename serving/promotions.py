"""How the baseline in force came to be: the commits of its table, by what each says of itself."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Literal

# Operations, as Delta names them, that change no row: upkeep. A commit of any other kind is part of the history.
UPKEEP = frozenset(
    (
        "OPTIMIZE", "REORG", "VACUUM START", "VACUUM END", "FSCK",
        "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "UPGRADE PROTOCOL", "ADD FEATURE", "DROP FEATURE",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Promotion:
    """One commit that changed what is in force; what it does not say of itself is None.

    write: no promotion at all: the commit names no candidate, so somebody or something wrote the table past the jobs.
    """

    version: int
    kind: Literal["promotion", "rollback", "write"]
    promoted_at: dt.datetime
    by: str | None
    reason: str | None
    gate: bool | None
    as_of: dt.date | None
    candidate_version: int | None
    rolled_back_to: int | None
    run_id: str | None


def promotions(history: list[dict]) -> list[Promotion]:
    """From the commits of a table, in their order, without those of upkeep."""
    return [_promotion(commit) for commit in history if commit.get("operation") not in UPKEEP]


def _promotion(commit: dict) -> Promotion:
    note = _note(commit)
    candidate, rolled_back_to = _said(note, "candidate_version", int), _said(note, "rolled_back_to", int)
    as_of, at = _said(note, "as_of", str), _said(note, "at", str)
    return Promotion(
        version=commit["version"],
        kind="write" if candidate is None else "promotion" if rolled_back_to is None else "rollback",
        promoted_at=_instant(at) or dt.datetime.fromtimestamp(commit["timestamp"] / 1000, dt.UTC),
        by=_said(note, "by", str),
        reason=_said(note, "reason", str),
        gate=_said(note, "gate", bool),
        as_of=_date(as_of),
        candidate_version=candidate,
        rolled_back_to=rolled_back_to,
        run_id=_said(note, "run_id", str),
    )


def _note(commit: dict) -> dict:
    """What the commit carries as userMetadata; empty where that is missing or no JSON object."""
    try:
        note = json.loads(commit.get("userMetadata") or "{}")
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _said(note: dict, field: str, kind: type):
    """A field of the note; None where it is missing or of another kind."""
    return note[field] if type(note.get(field)) is kind else None


def _date(text: str | None) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _instant(text: str | None) -> dt.datetime | None:
    try:
        instant = dt.datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    if instant is None:
        return None
    return instant.astimezone(dt.UTC) if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
