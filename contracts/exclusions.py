"""What people said of incidents and of readings: the rows of the table exclusions/<feed>, and which of them are in force."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Kind = Literal["acknowledge", "false", "exclude", "note", "take_back"]


@dataclass(frozen=True)
class Statement:
    """One row of the table, which only grows.

    kind: `acknowledge`: the person `by` looks after the incident. `false`: the incident is a false alarm, its readings are
    normal. `exclude`: the readings from start to end (excluded) are not normal. `note`: the reason is a text about the incident;
    nothing follows from it. `take_back`: the statement with the id `takes_back` no longer counts.
    service: None: all services of the feed. start, end: UTC; of an incident that was open, the end is None.
    incident: the id of the incident that the statement is about; None: of a range that a person gave.
    run_id: of the run that wrote it; each run writes one.
    """

    id: int
    kind: Kind
    service: str | None
    start: dt.datetime | None
    end: dt.datetime | None
    takes_back: int | None
    incident: str | None
    by: str
    reason: str
    at: dt.datetime
    run_id: str


# By field, its column in the table.
COLUMNS = {
    "id": "Id",
    "kind": "Kind",
    "service": "ServiceName",
    "start": "Start",
    "end": "End",
    "takes_back": "TakesBack",
    "incident": "IncidentId",
    "by": "By",
    "reason": "Reason",
    "at": "At",
    "run_id": "RunId",
}


class Excluded(NamedTuple):
    """Readings that are not normal. service: None: those of all services. start, end: UTC; the end is excluded."""

    service: str | None
    start: dt.datetime
    end: dt.datetime


def statements(rows: Iterable[Mapping[str, Any]]) -> list[Statement]:
    """From the rows of the table, in the order in which they were made."""
    found = (Statement(**{field: row[column] for field, column in COLUMNS.items()}) for row in rows)
    return sorted(found, key=lambda each: each.id)


def in_force(log: Iterable[Statement]) -> list[Statement]:
    """The statements of the log that say something and were not taken back, in its order."""
    log = list(log)
    taken_back = {each.takes_back for each in log if each.kind == "take_back"}
    return [each for each in log if each.kind != "take_back" and each.id not in taken_back]


def excluded(log: Iterable[Statement]) -> list[Excluded]:
    """What the log excludes as a whole, in its order."""
    return [
        Excluded(each.service, each.start, each.end)
        for each in in_force(log)
        if each.kind == "exclude" and each.start is not None and each.end is not None
    ]


def verdict(valid: Sequence[Statement], incident: str, service: str, start: dt.datetime, group: str | None) -> Statement | None:
    """The newest statement that judges the incident or its group, or that excludes its first reading; None if there is no such
    statement.

    valid: the statements in force. service, start: of the incident. group: the id of the group that it is a member of.
    """
    named = (incident, group)
    return next((each for each in reversed(valid) if _judges(each, named) or _excludes(each, service, start)), None)


def acknowledgement(valid: Sequence[Statement], incident: str) -> Statement | None:
    """Who looks after the incident: the newest of the statements in force that acknowledges it; None if there is none."""
    return next((each for each in reversed(valid) if each.kind == "acknowledge" and each.incident == incident), None)


def notes(valid: Sequence[Statement], incident: str) -> list[Statement]:
    """The notes about the incident among the statements in force, oldest first."""
    return [each for each in valid if each.kind == "note" and each.incident == incident]


def attended(valid: Sequence[Statement], incident: str, service: str, start: dt.datetime, group: str | None) -> bool:
    """Whether a person acknowledged or judged the incident, so nobody needs a reminder. Arguments as of `verdict`."""
    return acknowledgement(valid, incident) is not None or verdict(valid, incident, service, start, group) is not None


def _judges(statement: Statement, named: tuple[str, str | None]) -> bool:
    return statement.kind in ("false", "exclude") and statement.incident is not None and statement.incident in named


def _excludes(statement: Statement, service: str, at: dt.datetime) -> bool:
    if statement.kind != "exclude" or statement.start is None or statement.end is None:
        return False
    return statement.service in (None, service) and statement.start <= at < statement.end
