"""Many services at once: incidents of one feed whose onsets lie close together become one group.

A pure fold over the events of a feed's incidents in the order of time. All events of one time are one step, so it does not matter
into how many pieces the events are cut between two times: a night and a stream come to the same groups.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobs.transforms.detector.incident_life import incident_id

NEARLY_ALL = 0.9  # share of the services that can be silent: if so many are, the feed is silent
FEW = 2  # silent services that are a group if the feed is silent, however many the rule asks for
MOST_MEMBERS = 100  # that the event of a group names
EVERY = "*"  # instead of a group's service

Row = dict[str, Any]  # an event, as `incident_rows.COLUMNS`


class GroupRule(NamedTuple):
    """services: so many are a group if their onsets lie within so many milliseconds."""

    services: int
    within: int


@dataclass(frozen=True)
class Groups:
    """What is known between two steps, all of it as JSON has it. incidents: by Id, the last event of each open incident, and of
    each closed one in an open group. groups: by Id, the last event of each open group. silent: so many of so many services."""

    incidents: Mapping[str, Row] = field(default_factory=dict)
    groups: Mapping[str, Row] = field(default_factory=dict)
    silent: tuple[int, int] = (0, 0)


def grouped(
    known: Groups, events: list[Row], silent: Mapping[int, tuple[int, int]], rule: GroupRule | None
) -> tuple[Groups, list[Row]]:
    """(what is known afterwards, by time the events with their groups, those of groups, and of incidents that became members).

    events: of incidents, those of one incident in their order. silent: by the time of each event of a silence, how many services
    are silent then, and how many can be. rule: None for no new groups.
    """
    by_time, found = dict[int, list[Row]](), list[Row]()
    for row in sorted(events, key=lambda row: (row["At"], row["Id"])):
        by_time.setdefault(row["At"], []).append(row)
    for at, came in by_time.items():
        step = _Step(known, at, came, silent.get(at, known.silent))
        if rule and any(row["State"] == "opened" for row in came):
            step.form(rule)
        found += step.emitted()
        known = step.after()
    return known, found


class _Step:
    """The events of one time."""

    def __init__(self, known: Groups, at: int, came: list[Row], silent: tuple[int, int]):
        self._at, self._came, self._silent = at, came, silent
        self._before, self._groups = known.groups, dict(known.groups)
        of_group = {name: row["Group"] for name, row in known.incidents.items()}
        self._incidents = {**known.incidents, **{row["Id"]: row | {"Group": of_group.get(row["Id"])} for row in came}}
        self._joined: dict[str, list[str]] = {}  # by the group's Id, the Ids of those that became members

    def form(self, rule: GroupRule) -> None:
        """Incidents that stand alone join an open group, or become a new one."""
        for name in sorted(self._groups, key=lambda name: (self._groups[name]["Start"], name)):
            self._take(name, _near(self._members(name), self._alone(), rule.within))
        while first := _together(self._alone(), rule.services, rule.within) or self._feeds_silence(rule):
            members = [*first, *_near(first, self._alone(), rule.within)]
            self._take(incident_id(EVERY, min(row["Start"] for row in members)), members)

    def emitted(self) -> Iterator[Row]:
        """What became of groups, then of their members and of the others."""
        for name in sorted(self._groups.keys() | self._joined.keys()):
            members = self._members(name)
            if name in self._joined:
                state = "updated" if name in self._before else "opened"
                yield self._group(name, state, members, _cause(members, self._feed_is_silent))
            if all(row["State"] == "closed" for row in members):
                yield self._group(name, "closed", members, self._groups[name]["Cause"])
        came = {row["Id"] for row in self._came}
        for name in sorted(each for names in self._joined.values() for each in names if each not in came):
            self._incidents[name] = self._incidents[name] | {"State": "updated", "At": self._at}
            yield self._incidents[name]
        for row in self._came:
            yield row | {"Group": self._incidents[row["Id"]]["Group"]}

    def after(self) -> Groups:
        groups = {name: row for name, row in self._groups.items() if row["State"] != "closed"}
        kept = {name: row for name, row in self._incidents.items() if row["State"] != "closed" or row["Group"] in groups}
        return Groups(kept, groups, self._silent)

    @property
    def _feed_is_silent(self) -> bool:
        silent, known = self._silent
        return silent >= FEW and silent >= NEARLY_ALL * known

    def _feeds_silence(self, rule: GroupRule) -> list[Row]:
        """The silences that are that of the feed, by onset."""
        silences = [row for row in self._alone() if row["Kind"] == "silence"]
        return _together(silences, min(FEW, rule.services), rule.within) if self._feed_is_silent else []

    def _alone(self) -> list[Row]:
        return _by_onset(row for row in self._incidents.values() if row["Group"] is None)

    def _members(self, name: str) -> list[Row]:
        return _by_onset(row for row in self._incidents.values() if row["Group"] == name)

    def _take(self, name: str, rows: list[Row]) -> None:
        for row in rows:
            self._incidents[row["Id"]] = row | {"Group": name}
            self._joined.setdefault(name, []).append(row["Id"])

    def _group(self, name: str, state: str, members: list[Row], cause: str) -> Row:
        directions = {row["Direction"] for row in members}
        nothing = dict.fromkeys(members[0], None)
        self._groups[name] = nothing | {
            "Id": name,
            "ServiceName": EVERY,
            "Kind": "group",
            "State": state,
            "Start": members[0]["Start"],
            "Last": max(row["Last"] for row in members),
            "At": self._at,
            "End": max(row["End"] for row in members) if state == "closed" else None,
            "Score": max(row["Score"] for row in members),
            "Cause": cause,
            "LevelShift": any(row["LevelShift"] for row in members),
            "Readings": sum(row["Readings"] for row in members),
            "Direction": directions.pop() if len(directions) == 1 else None,
            "Services": len({row["ServiceName"] for row in members}),
            "Members": [row["Id"] for row in members[:MOST_MEMBERS]],
        }
        return self._groups[name]


def _by_onset(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["Start"], row["Id"]))


def _together(rows: list[Row], services: int, within: int) -> list[Row]:
    """The first of these rows, given by onset, that are of so many services and whose onsets lie within so many milliseconds."""
    end = 0
    for begin, first in enumerate(rows):
        while end < len(rows) and rows[end]["Start"] < first["Start"] + within:
            end += 1
        if len({row["ServiceName"] for row in rows[begin:end]}) >= services:
            return rows[begin:end]
    return []


def _near(members: list[Row], others: list[Row], within: int) -> list[Row]:
    """The others that begin less than `within` before the first member, after the last, or beside one that is near.

    Both are given by onset.
    """
    ids = {row["Id"] for row in members}
    others = [row for row in others if row["Id"] not in ids]
    first, last, found = members[0]["Start"], members[-1]["Start"], list[Row]()
    for row in others:
        if first <= row["Start"] < last + within:
            last = max(last, row["Start"])
            found.append(row)
    for row in reversed(others):
        if first - within < row["Start"] < first:
            first = row["Start"]
            found.append(row)
    return found


def _cause(members: list[Row], feed_is_silent: bool) -> str:
    """Why, in words. members: by onset."""
    silences = [row for row in members if row["Kind"] == "silence"]
    kinds = [f"too {row['Direction']}" if row["Kind"] == "deviation" else "silent" for row in members]
    how_many = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    what = "the feed is silent" if feed_is_silent and silences else f"{members[0]['ServiceName']} is the first"
    if not silences:
        return f"{what}: {how_many}"
    last = max(silences, key=lambda row: (row["Last"], row["Id"]))
    return f"{what}: {how_many}; last of all {last['ServiceName']}: {last['Cause']}"
