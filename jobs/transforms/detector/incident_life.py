"""From scores to incidents: readings of one service that deviate together are opened, updated and closed as one incident.

A pure fold over readings in the order of time. Each event follows from the readings up to it, so it does not matter into how many
pieces the readings are cut: a backtest, a night and a stream come to the same events.
"""

import datetime as dt
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.moments import Bools, Ints
from jobs.transforms.detector.reasons import reason
from jobs.transforms.detector.rules import TAKEN, USUAL, Marks, Rules, direction, marked
from jobs.transforms.detector.walk import Readings

GROWN = 1.25  # times the largest error so far: this is worth an update
LASTED, FEW = 2, 4  # times as many unusual readings, and at least so many: so is this
NO_INCIDENT = -1  # onset of a reading that belongs to none


@dataclass(frozen=True)
class Incident:
    """What is known of an incident.

    side: that of the score that opened it. Only readings of this side belong to it; of a stuck value, also those of the other.
    onset, last, peak_at: epoch milliseconds of its first, its newest and its most unusual reading. readings: how many were
    unusual; 0 while only a score stands: the next unusual reading, if it comes soon, is the first. led_by: how many of them came
    one after the other up to the first one whose score was high enough; all of them while there is none yet. actual, expected,
    area: their sums of value, of what was expected, and of the absolute difference. size: the largest error to its side, in
    scales. passed: readings from the first with such a score on. usual: one for each usual reading since then, less TAKEN for
    each unusual one, never below 0. reported: the largest error when the last event was emitted; 0 while the incident waits for
    more unusual readings. reported_readings: how many were unusual then.
    """

    service: str
    side: int
    onset: int
    last: int
    readings: int
    actual: float
    expected: float
    area: float
    peak_at: int
    peak: float
    peak_expected: float
    size: float
    score: float
    cause: str
    shifted: bool
    passed: int
    usual: int
    reported: float
    led_by: int = 0
    reported_readings: int = 0

    @property
    def id(self) -> str:
        """Its service and its onset in UTC, e.g. www@1998-06-10T17:30:00Z."""
        return incident_id(self.service, self.onset)

    @property
    def direction(self) -> Literal["high", "low"]:
        return direction(self.side)


class Event(NamedTuple):
    """Something to tell of an incident. at: epoch milliseconds of the reading that made it so."""

    state: Literal["opened", "updated", "closed"]
    at: int
    incident: Incident


def incident_id(service: str, onset: int) -> str:
    """onset: epoch milliseconds."""
    return f"{service}@{dt.datetime.fromtimestamp(onset / 1000, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def followed(
    open_: dict[str, Incident], names: list[str], readings: Readings, score: Score, rules: Rules
) -> tuple[dict[str, Incident], list[Event], Ints]:
    """(incidents that are open afterwards by service, events by time, onset of the incident of each reading or NO_INCIDENT).

    open_: what this returned for the readings before. names: of the services, by number. score: of the readings, as given.
    """
    onsets, events, still_open = np.full(len(readings.value), NO_INCIDENT, np.int64), list[Event](), dict(open_)
    marks = marked(readings, score, rules)
    standing = np.where(marks.stands, marks.side, 0)
    for rows in _by_service(readings):
        number = int(readings.service[rows[0]])
        of_service = Rules(*(each[number] for each in rules))
        service = _Service(names[number], still_open.pop(names[number], None), of_service, readings, score, marks)
        passed, leading = 0, list[int]()  # of rows; unusual ones, one after the other, without an incident so far
        for place in _telling(marks.off[rows], standing[rows]).tolist():
            row = int(rows[place])
            stands = bool(marks.stands[row])
            if place > passed or stands:
                leading.clear()
            service.pass_usual(readings.at[rows[passed : place + stands]])
            if stands:
                service.stand(row)
            elif service.open and not service.takes(row):
                passed = place  # it is usual to the open incident
                continue
            elif not service.open and not marks.opens[row]:
                leading.append(row)
            else:
                service.lead(leading)
                leading.clear()
                service.take(row)
                if service.open and service.open.reported:
                    onsets[row] = service.open.onset
            passed = place + 1
        if passed == len(rows):
            service.lead(leading)
        service.pass_usual(readings.at[rows[passed:]])
        events += service.events
        if left := service.open or service.led:
            still_open[service.name] = left
    return still_open, sorted(events, key=lambda event: event.at), onsets


def in_order(readings: Readings) -> Ints:
    """The numbers of the readings that have a value: by service, those of each in the order of time."""
    known = np.flatnonzero(np.isfinite(readings.value))
    at = readings.at[known]
    if (at[1:] < at[:-1]).any():
        known = known[np.argsort(at, kind="stable")]
    services = readings.service[known]
    few = services.max(initial=0) < 2**16  # then NumPy sorts them by their digits, much faster
    return known[np.argsort(services.astype(np.uint16) if few else services, kind="stable")]


def _telling(off: Bools, standing: Ints) -> Ints:
    """The places of what is unusual, and of the first and the last of the scores of one side that stand in a row.

    standing: the side of the score; 0 where none stands.
    """
    places: Ints = np.flatnonzero(off | (standing != 0))
    kinds = standing[places]
    same = (kinds[1:] == kinds[:-1]) & (kinds[1:] != 0)
    within = np.append(False, same) & np.append(same, False)
    return np.compress(~within[: len(places)], places)


def _by_service(readings: Readings) -> list[Ints]:
    """The numbers of the readings that have a value, for each service in the order of time."""
    order = in_order(readings)
    return [each for each in np.split(order, np.flatnonzero(np.diff(readings.service[order])) + 1) if len(each)]


class _Service:
    """The incident of one service, reading by reading."""

    def __init__(self, name: str, open_: Incident | None, rules: Rules, readings: Readings, score: Score, marks: Marks):
        """rules: those of this service alone. readings, score, marks: of all services, by row."""
        self.name, self._rules = name, rules
        self._readings, self._score, self._marks = readings, score, marks
        only_led = open_ is not None and 0 < open_.readings == open_.led_by
        self.open, self.led = (None, open_) if only_led else (open_, None)
        self.events: list[Event] = []

    def pass_usual(self, times: Ints) -> None:
        """Usual readings at these times."""
        if not len(times):
            return
        self.led = None
        if not self.open:
            return
        many = min(len(times), int(self._rules.gap) - self.open.usual)
        self.open = replace(self.open, usual=self.open.usual + many, passed=self.open.passed + many)
        if self.open.usual == self._rules.gap:
            self._end(int(times[many - 1]))

    def stand(self, row: int) -> None:
        """A score that would open an incident, without an unusual reading of its side: the next such reading opens it."""
        at, side = int(self._readings.at[row]), int(self._marks.side[row])
        if self._makes_way(side):
            self._end(at)
            self.open = _begun(self.name, side, at, float(self._score.score[row]), reason(self._score, row, side))

    def lead(self, rows: list[int]) -> None:
        """Unusual readings, one after the other. If the next one opens an incident of their side, they are its first."""
        for row in rows:
            known = self._led_to(row)
            self.led = replace(self._with(known, row), led_by=known.led_by + 1)

    def takes(self, row: int) -> bool:
        """Whether an unusual reading belongs to the open incident or to one that takes its place."""
        assert self.open
        if self._belongs(row, self.open):
            return True
        # By a rule without a score, what goes up and down would open one incident after the other.
        replaces = not np.isnan(self._rules.score) or not self.open.reported
        return replaces and bool(self._marks.opens[row])

    def take(self, row: int) -> None:
        """An unusual reading that opens an incident or belongs to the open one."""
        at = int(self._readings.at[row])
        if self.open and not self._belongs(row, self.open):
            self._end(at)
        known, self.led = self.open or self._led_to(row), None
        if not known.readings or (not known.reported and known.passed >= self._rules.within):
            known = _begun(self.name, known.side, at, known.score, known.cause)  # its score stands, or too few were unusual
        known = self._with(known, row)
        self.open = replace(known, passed=known.passed + 1, usual=max(0, known.usual - TAKEN))
        high = float(self._score.score[row]) if self._marks.agrees[row] else 0.0
        if high > self.open.score or not self.open.cause:
            self.open = replace(self.open, score=high, cause=reason(self._score, row, self.open.side))
        shifted = bool(self._score.shifted[row]) and not self.open.shifted
        self.open = replace(self.open, shifted=self.open.shifted or shifted)
        largest = max(abs(self.open.size), USUAL)
        if not self.open.reported:
            if self.open.readings - self.open.led_by >= self._rules.needed:
                self._report("opened", at, largest)
        elif shifted or largest > GROWN * self.open.reported or self._lasts(self.open):
            self._report("updated", at, largest)

    @staticmethod
    def _lasts(known: Incident) -> bool:
        return known.readings >= max(FEW, LASTED * known.reported_readings)

    def _makes_way(self, side: int) -> bool:
        """Whether a score of this side takes the place of what is open. What still waits for more unusual readings stays."""
        known = self.open
        waits = known and known.readings and not known.reported and known.passed < self._rules.within
        return not known or not known.readings or (known.side != side and not waits)

    def _belongs(self, row: int, known: Incident) -> bool:
        return bool(known.side == self._marks.side[row] or (self._score.stuck[row] and known.readings))

    def _led_to(self, row: int) -> Incident:
        """What the unusual readings just before this one are the first of, if they are of its side."""
        side = int(self._marks.side[row])
        return self.led if self.led and self.led.side == side else _begun(self.name, side, int(self._readings.at[row]))

    def _end(self, at: int) -> None:
        if self.open and self.open.reported:
            self.events.append(Event("closed", at, self.open))
        self.open = None

    def _report(self, state: Literal["opened", "updated"], at: int, largest: float) -> None:
        assert self.open
        self.open = replace(self.open, reported=largest, reported_readings=self.open.readings)
        self.events.append(Event(state, at, self.open))

    def _with(self, known: Incident, row: int) -> Incident:
        """The incident with one more unusual reading."""
        readings, score = self._readings, self._score
        at, value = int(readings.at[row]), float(readings.value[row])
        expected = float(score.expected[row]) if np.isfinite(score.expected[row]) else value
        size = float(score.size[row]) if np.isfinite(score.size[row]) else 0.0
        more = replace(
            known,
            last=at,
            readings=known.readings + 1,
            actual=known.actual + value,
            expected=known.expected + expected,
            area=known.area + abs(value - expected),
        )
        larger = not known.readings or known.side * size > known.side * known.size
        return replace(more, peak_at=at, peak=value, peak_expected=expected, size=size) if larger else more


def _begun(service: str, side: int, at: int, score: float = 0.0, cause: str = "") -> Incident:
    """Without a reading yet."""
    return Incident(service, side, at, at, 0, 0.0, 0.0, 0.0, at, 0.0, 0.0, 0.0, score, cause, False, 0, 0, 0.0)
