"""One piece of a feed's readings on its way to incidents: the same for a batch of the stream and for a day of history."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jobs.transforms import incident_rows
from jobs.transforms.detector import layout, silence
from jobs.transforms.detector.detector import new_state
from jobs.transforms.detector.incidents import Event, Incident, Rules, followed
from jobs.transforms.detector.moments import Floats, Ints, Pace
from jobs.transforms.detector.silence import Heard
from jobs.transforms.detector.walk import Readings, walked
from jobs.transforms.incident_groups import GroupRule, Groups, grouped
from jobs.transforms.public_holidays import on_holiday


@dataclass(frozen=True)
class Settings:
    """What is to be known of a feed. interval: milliseconds. holidays: a calendar (see `public_holidays`). rules: each with a
    pattern; the first whose pattern matches a service's whole name is its rule. group: of incidents; None for no groups."""

    interval: int
    holidays: str | None
    rules: tuple[tuple[re.Pattern[str], dict[str, Any]], ...]
    group: GroupRule | None

    @classmethod
    def of(cls, feed: dict[str, Any]) -> "Settings":
        """feed: as `contracts.incident_queries.settings_of` gives it."""
        interval, group = feed["interval"], feed["group"]
        rules = tuple((re.compile(each["services"]), each) for each in feed["rules"])
        group_rule = GroupRule(group["services"], group["within"] * interval) if group else None
        return cls(interval, feed["holidays"], rules, group_rule)

    @property
    def pace(self) -> Pace:
        return Pace(self.interval // 1000)

    def rules_of(self, names: list[str]) -> Rules:
        declared = [self._rule(name) for name in names]
        conditions = [[np.nan if each[name] is None else each[name] for each in declared] for name in Rules._fields]
        kinds = (float, float, float, float, np.int64, np.int64)
        return Rules(*(np.array(column, kind) for column, kind in zip(conditions, kinds, strict=True)))

    def patience_of(self, names: list[str]) -> Ints:
        """Of each service, so many intervals without a reading make a silence; 0 for never."""
        return np.array([self._rule(name)["silence"] or 0 for name in names], np.int64)

    def _rule(self, name: str) -> dict[str, Any]:
        return next(rule for pattern, rule in self.rules if pattern.fullmatch(name))


@dataclass(frozen=True)
class Service:
    """What is known of a service between two pieces. state: a row of `layout.packed`."""

    state: Floats
    open: Incident | None = None


@dataclass(frozen=True)
class Known:
    """What is known of a feed between two pieces. services: by name, of those that had readings. heard: the newest reading of
    each."""

    services: Mapping[str, Service] = field(default_factory=dict)
    heard: Mapping[str, Heard] = field(default_factory=dict)
    groups: Groups = field(default_factory=Groups)


def readings_of(settings: Settings, names: list[str], services: list[str], at: Ints, wall: Ints, values: Floats) -> Readings:
    """names: of all services. services: of each reading. at, wall: epoch and local milliseconds."""
    number = {name: place for place, name in enumerate(names)}
    of = np.array([number[name] for name in services], np.int64)
    return Readings(of, at, wall, on_holiday(wall, settings.holidays), values)


def followed_through(
    settings: Settings, known: Known, names: list[str], readings: Readings, clock: int
) -> tuple[Known, list[dict[str, Any]]]:
    """(what is known afterwards, the services being those with readings alone; events by time, as `incident_rows.COLUMNS`).

    known: its services are needed only if they have readings. names: of the readings' services, by number. clock: epoch
    milliseconds, at least that of the newest reading.
    """
    services, events = _judged(settings, known.services, names, readings)
    everyone = [*names, *sorted(known.heard.keys() - set(names))]
    patience = settings.patience_of(everyone)
    heard, silences = silence.listened(dict(known.heard), everyone, readings, clock, settings.interval, patience)
    found = [incident_rows.of_deviation(event, settings.interval) for event in events]
    found += [incident_rows.of_silence(event) for event in silences]
    silent = {event.at: (event.silent, event.known) for event in silences}
    groups, rows = grouped(known.groups, found, silent, settings.group)
    return Known(services, heard, groups), rows


def _judged(
    settings: Settings, known: Mapping[str, Service], names: list[str], readings: Readings
) -> tuple[dict[str, Service], list[Event]]:
    """(what is known of these services afterwards, events by time).

    known: of the services that had readings before. names: of the readings' services, by number.
    """
    if not names:
        return {}, []
    pace, rules = settings.pace, settings.rules_of(names)
    fresh = layout.packed(new_state(1, pace))[0]
    state = layout.unpacked(np.stack([known[name].state if name in known else fresh for name in names]), pace)
    open_ = {name: each for name in names if name in known and (each := known[name].open)}
    state, score = walked(state, readings, pace, np.where(np.isnan(rules.score), np.inf, rules.score))
    open_, events, _ = followed(open_, names, readings, score, rules)
    rows = layout.packed(state)
    return {name: Service(row, open_.get(name)) for name, row in zip(names, rows, strict=True)}, events
