"""The log of a feed's baseline: which version is in force, since when, by whom, from which candidate and as of which date.

It follows from the commits of the table `baseline/<feed>` alone, by what each says of itself. Upkeep of the table changes no row,
so it changes nothing here. Every other commit put its own version in force, also one that no job wrote.
"""

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from contracts.calendar_entries import Kind

# Operations, as Delta names them, that change no row.
UPKEEP = frozenset(
    (
        "OPTIMIZE", "REORG", "VACUUM START", "VACUUM END", "FSCK",
        "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "UPGRADE PROTOCOL", "ADD FEATURE", "DROP FEATURE",
    )
)  # fmt: skip
MAINTAINED = "maintained"  # field of the note of a commit that jobs make for upkeep
DAY_TYPES = range(1, 8)
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One commit that put its version in force; what it does not say of itself is None.

    kind: `write` is neither a promotion nor a rollback: the commit names no candidate, so something other than the jobs wrote it.
    inputs: by day type (as text), a digest of what its rows were made from; None where that is not known.
    note: all that the commit says of itself.
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
    inputs: dict[str, str] | None = field(default=None, hash=False)
    note: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def special_days(self) -> dict[dt.date, Kind]:
        return special_days(self.note)

    @property
    def special_days_why(self) -> dict[dt.date, str]:
        """By date, what decided so, in words."""
        why = _field(self.note, "special_days_why", dict) or {}
        return {date: text for day, text in why.items() if (date := _date(day)) and isinstance(text, str)}


@dataclass(frozen=True)
class BaselineLog:
    """What put each version in force, newest first. table_version: the newest version of the table, -1 while there is none.

    The rows at `table_version` are those of the version in force: only upkeep came after it.
    """

    entries: tuple[Entry, ...] = ()
    table_version: int = -1

    @property
    def in_force(self) -> Entry | None:
        return self.entries[0] if self.entries else None

    @property
    def version_in_force(self) -> int:
        """-1 while there is none."""
        return self.in_force.version if self.in_force else -1

    @property
    def earlier(self) -> list[Entry]:
        """What a rollback can put in force again: all that jobs put in force before the version that is."""
        return [entry for entry in self.entries[1:] if entry.kind != "write"]

    def of_run(self, run_id: str) -> Entry | None:
        """The newest that this run put in force."""
        return next((entry for entry in self.entries if entry.run_id == run_id), None)


def baseline_log(history: Iterable[Mapping[str, Any]]) -> BaselineLog:
    """From the commits of the table as delta-rs gives them, `DeltaTable.history()`: newest first."""
    commits = list(history)
    entries = ((commit, _note(commit)) for commit in commits)
    put_in_force = tuple(_entry(commit, note) for commit, note in entries if not _is_upkeep(commit, note))
    return BaselineLog(put_in_force, commits[0]["version"] if commits else -1)


def special_days(note: Mapping[str, Any]) -> dict[dt.date, Kind]:
    """What a candidate or a baseline takes the public holidays and special days around its as-of date for, by evidence. note: of
    its commit."""
    found = _field(note, "special_days", dict) or {}
    return {date: kind for day, kind in found.items() if kind in get_args(Kind) and (date := _date(day))}


def changed_day_types(inputs: Mapping[str, str], others: Mapping[str, str] | None) -> list[int]:
    """The day types whose rows are made from other inputs than the others; all where the others are not known."""
    if others is None:
        return list(DAY_TYPES)
    return sorted(int(each) for each in inputs.keys() | others.keys() if inputs.get(each) != others.get(each))


def _is_upkeep(commit: Mapping[str, Any], note: dict[str, Any]) -> bool:
    return commit.get("operation") in UPKEEP or MAINTAINED in note


def _entry(commit: Mapping[str, Any], note: dict[str, Any]) -> Entry:
    candidate, rolled_back_to = _field(note, "candidate_version", int), _field(note, "rolled_back_to", int)
    return Entry(
        version=commit["version"],
        kind="write" if candidate is None else "promotion" if rolled_back_to is None else "rollback",
        promoted_at=_instant(_field(note, "at", str)) or dt.datetime.fromtimestamp(commit["timestamp"] / 1000, dt.UTC),
        by=_field(note, "by", str),
        reason=_field(note, "reason", str),
        gate=_field(note, "gate", bool),
        as_of=_date(_field(note, "as_of", str)),
        candidate_version=candidate,
        rolled_back_to=rolled_back_to,
        run_id=_field(note, "run_id", str),
        inputs=_field(note, "inputs", dict),
        note=note,
    )


def _note(commit: Mapping[str, Any]) -> dict[str, Any]:
    """What the commit carries as userMetadata; empty where that is missing or no JSON object."""
    try:
        note = json.loads(commit.get("userMetadata") or "{}")
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _field(note: Mapping[str, Any], name: str, kind: type[T]) -> T | None:
    """A field of the note; None where it is missing or of another type."""
    value = note.get(name)
    return value if type(value) is kind else None


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
