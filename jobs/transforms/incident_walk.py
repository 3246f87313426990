"""One piece of a feed's readings on its way to incidents: the same for a batch of the stream and for a day of history."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jobs.transforms import excluded, incident_rows, maintenance
from jobs.transforms.detector import layout
from jobs.transforms.detector.detector import new_state
from jobs.transforms.detector.incident_life import Event, Incident, followed
from jobs.transforms.detector.moments import Bools, Floats, Ints, Pace
from jobs.transforms.detector.rules import Rules, gap_of
from jobs.transforms.detector.silence import Heard, Silence, listened
from jobs.transforms.detector.walk import Readings, walked
from jobs.transforms.excluded import Range
from jobs.transforms.incident_groups import GroupRule, Groups, grouped
from jobs.transforms.maintenance import Window
from jobs.transforms.public_holidays import on_holiday


@dataclass(frozen=True)
class Settings:
    """What is to be known of a feed. interval: milliseconds. holidays: a calendar (see `public_holidays`). rules: each with a
    pattern; the first whose pattern matches a service's whole name is its rule. group: of incidents; None for no groups.
    retired: patterns of services without incidents. forget: milliseconds without a reading after which a service is forgotten.
    special: of special days, whether the detector takes them for public holidays. windows: of maintenance, by their start;
    readings in them are left out, and their time does not count for a silence."""

    interval: int
    holidays: str | None
    rules: tuple[tuple[re.Pattern[str], dict[str, Any]], ...]
    group: GroupRule | None
    retired: tuple[re.Pattern[str], ...]
    forget: int
    special: Mapping[dt.date, bool] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()

    @classmethod
    def of(cls, feed: dict[str, Any]) -> "Settings":
        """feed: as `contracts.incident_queries.settings_of` gives it."""
        interval, group = feed["interval"], feed["group"]
        # A name may have a line break, and the last rule is for every name.
        rules = tuple((re.compile(each["services"], re.DOTALL), each) for each in feed["rules"])
        group_rule = GroupRule(group["services"], group["within"] * interval) if group else None
        retired = tuple(re.compile(each) for each in feed["retired"])
        silent = interval * (2 + max(rule["silence"] or 0 for rule in feed["rules"]))  # nothing is forgotten before it is silent
        special = {dt.date.fromisoformat(day): off for day, off in feed["special_days"].items()}
        windows = tuple((pattern, start, end) for pattern, start, end in feed["windows"])
        return cls(interval, feed["holidays"], rules, group_rule, retired, max(feed["forget"], silent), special, windows)

    @property
    def pace(self) -> Pace:
        return Pace(self.interval // 1000)

    def rules_of(self, names: list[str]) -> Rules:
        declared = [self._rule(name) for name in names]
        kinds = {"score": float, "percent": float, "spread": float, "minimum": float, "needed": np.int64, "within": np.int64}
        conditions = [[np.nan if each[name] is None else each[name] for each in declared] for name in kinds]
        columns = [np.array(column, kind) for column, kind in zip(conditions, kinds.values(), strict=True)]
        return Rules(*[*columns, np.full(len(names), gap_of(self.interval))])

    def patience_of(self, names: list[str]) -> Ints:
        """Of each service, so many intervals without a reading make a silence; 0 for never."""
        return np.array([self._rule(name)["silence"] or 0 for name in names], np.int64)

    def left_out(self, names: list[str], readings: Readings, ranges: Sequence[Range]) -> Bools:
        """Which readings are in maintenance windows or in ranges to leave out. names: of the readings' services, by number."""
        windows = maintenance.inside(self.windows, names, readings.service, readings.at)
        return windows | excluded.inside(ranges, names, readings)

    def resumed(self, name: str, at: int, milliseconds: int) -> int:
        """When so much time has passed for a service since `at`, that of maintenance windows not counted."""
        return maintenance.resumed(self.windows, name, at, milliseconds)

    def is_retired(self, name: str) -> bool:
        return any(pattern.fullmatch(name) for pattern in self.retired)

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
    return Readings(of, at, wall, on_holiday(wall, settings.holidays, settings.special), values)


def followed_through(
    settings: Settings, known: Known, names: list[str], readings: Readings, clock: int, ranges: Sequence[Range] = ()
) -> tuple[Known, list[dict[str, Any]]]:
    """(what is known afterwards, the services being those with readings alone; events by time, as `incident_rows.COLUMNS`).

    A service that was known before, and is not in `heard` afterwards, is forgotten. known: its services are needed only if they
    have readings, or are forgotten. names: of the readings' services, by number. clock: epoch milliseconds, at least that of the
    newest reading. ranges: readings to leave out, beside those in maintenance windows; their service was heard, so it is not
    silent because of them.
    """
    changed, silent = dict[str, Service](), dict[int, tuple[int, int]]()
    heard = {name: each for name, each in known.heard.items() if not settings.is_retired(name)}

    def stored(names: Iterable[str]) -> dict[str, Service]:
        return {name: each for name in names if (each := changed.get(name) or known.services.get(name))}

    gone = known.heard.keys() - heard.keys()
    found = _closed(settings, stored(gone), clock)
    found += [
        incident_rows.of_silence(Silence("closed", clock, name, last.at + settings.interval, last, 0, 0))
        for name in gone
        if (last := known.heard[name]).silent
    ]
    for of_piece, piece, until in _pieces(settings, heard, names, readings, clock):
        before = stored(name for name in of_piece if name in heard)
        counting = piece.only(~settings.left_out(of_piece, piece, ranges))
        services, events = _judged(settings, before, of_piece, counting)
        changed |= services
        everyone = [*of_piece, *sorted(heard.keys() - set(of_piece))]
        patience = settings.patience_of(everyone)
        heard, silences = listened(heard, everyone, piece, until, settings.interval, patience, settings.forget, settings.resumed)
        silent |= {event.at: (event.silent, event.known) for event in silences}
        found += [incident_rows.of_deviation(event, settings.interval) for event in events]
        found += [incident_rows.of_silence(event) for event in silences]
        found += _closed(settings, stored(name for name in everyone if name not in heard), until)
    groups, rows = grouped(known.groups, found, silent, settings.group)
    return Known({name: each for name, each in changed.items() if name in heard}, heard, groups), rows


def _pieces(
    settings: Settings, heard: Mapping[str, Heard], names: list[str], readings: Readings, clock: int
) -> Iterator[tuple[list[str], Readings, int]]:
    """The readings of services that are not retired, cut when a service is forgotten: (names, readings, time of the cut)."""
    retired = np.array([settings.is_retired(name) for name in names], bool)
    readings = readings.only(~retired[readings.service])
    ends = [*_forgettings(settings.forget, heard, names, readings, clock), clock]
    begin = np.iinfo(np.int64).min
    for number, end in enumerate(ends, 1):
        rows = np.flatnonzero((readings.at >= begin) & ((readings.at < end) | (number == len(ends))))
        used, of_piece = np.unique(readings.service[rows], return_inverse=True)
        yield [names[each] for each in used.tolist()], readings.only(rows)._replace(service=of_piece), end
        begin = end


def _forgettings(age: int, heard: Mapping[str, Heard], names: list[str], readings: Readings, clock: int) -> list[int]:
    """The times up to `clock` at which services are forgotten, whether they come again or not."""
    newest, found = {name: each.at for name, each in heard.items()}, set[int]()
    if clock - min(newest.values(), default=clock) < age and clock - readings.at.min(initial=clock) < age:
        return []
    for row in np.argsort(readings.at, kind="stable").tolist():
        name, at = names[readings.service[row]], int(readings.at[row])
        if at - newest.get(name, at) >= age:
            found.add(newest[name] + age)
        newest[name] = at
    return sorted(found | {each + age for each in newest.values() if each + age <= clock})


def _closed(settings: Settings, services: Mapping[str, Service], at: int) -> list[dict[str, Any]]:
    """The ends of what deviates when services are forgotten."""
    open_ = [each.open for each in services.values() if each.open and each.open.reported]
    return [incident_rows.of_deviation(Event("closed", at, each), settings.interval) for each in open_]


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
