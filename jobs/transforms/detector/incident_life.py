"""From scores to incidents: readings of one service that deviate together are opened, updated and closed as one incident.

A pure fold over readings in the order of time. Each event follows from the readings up to it, so it does not matter into how many
pieces the readings are cut: a backtest, a night and a stream come to the same events.
"""

import datetime as dt
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from jobs.transforms.detector import alarms
from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.moments import Bools, Floats, Ints
from jobs.transforms.detector.reasons import reason
from jobs.transforms.detector.walk import Readings

USUAL = 2.0  # scales: a smaller error is usual, whatever else a rule asks for
GAP, GAP_MS = 3, 1_800_000  # so many usual readings, over at least so many milliseconds, close an incident
TAKEN = 4  # from the usual readings by an unusual one: what is unusual by chance now and then must not keep an incident open
GROWN = 1.25  # times the largest error so far: this is worth an update
NO_INCIDENT = -1  # onset of a reading that belongs to none


class Rules(NamedTuple):
    """What makes a reading unusual and opens an incident: one entry per service; NaN switches a condition off.

    score: of the first reading, at least. percent: abs(100 * value / expected - 100) is greater. spread: the error in scales, at
    least. minimum: of value or expected, at least one is as high. needed: so many of the first `within` readings are unusual.
    gap: so many usual readings close an incident; each unusual one takes TAKEN of them away.
    """

    score: Floats
    percent: Floats
    spread: Floats
    minimum: Floats
    needed: Ints
    within: Ints
    gap: Ints


def default_rules(services: int) -> Rules:
    """The score alone, for intervals that are not short."""
    off, one = np.full(services, np.nan), np.ones(services, np.int64)
    return Rules(np.full(services, alarms.THRESHOLD), off, np.full(services, USUAL), off.copy(), one, one.copy(), GAP * one)


def gap_of(interval: int) -> int:
    """Usual readings that close an incident. interval: milliseconds."""
    return max(GAP, -(-GAP_MS // interval))


@dataclass(frozen=True)
class Incident:
    """What is known of an incident.

    onset, last, peak_at: epoch milliseconds of its first, its newest and its most unusual reading. readings: how many were
    unusual; 0 while only a score stands: the next unusual reading, if it comes soon, is the first. led_by: how many of them came
    one after the other up to the first one whose score was high enough; all of them while there is none yet. actual, expected,
    area: their sums of value, of what was expected, and of the absolute difference. size: the largest error, in scales. passed:
    readings from the first with such a score on. usual: one for each usual reading since then, less TAKEN for each unusual one,
    never below 0. reported: the largest error when the last event was emitted; 0 while the incident waits for more unusual
    readings.
    """

    service: str
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

    @property
    def id(self) -> str:
        """Its service and its onset in UTC, e.g. www@1998-06-10T17:30:00Z."""
        return incident_id(self.service, self.onset)

    @property
    def direction(self) -> Literal["high", "low"]:
        return direction(self.size, self.actual, self.expected)


class Event(NamedTuple):
    """Something to tell of an incident. at: epoch milliseconds of the reading that made it so."""

    state: Literal["opened", "updated", "closed"]
    at: int
    incident: Incident


def incident_id(service: str, onset: int) -> str:
    """onset: epoch milliseconds."""
    return f"{service}@{dt.datetime.fromtimestamp(onset / 1000, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def direction(size: float, actual: float, expected: float) -> Literal["high", "low"]:
    """The side of the most unusual reading. size: its error in scales; where it has none (a stuck value), the sums decide."""
    return "high" if size > 0 or (not size and actual >= expected) else "low"


def unusual(readings: Readings, score: Score, rules: Rules) -> Bools:
    """Which readings a rule takes for unusual, scores aside. A stuck value always is; a service's first reading never."""
    of = readings.service
    value, expected, size = readings.value, score.expected, np.abs(score.size)

    def holds(limit: Floats, reached: Bools) -> Bools:
        return np.isnan(limit[of]) | reached

    with np.errstate(divide="ignore", invalid="ignore"):
        percent = np.abs(100 * value / expected - 100)
    large = size >= np.where(np.isnan(rules.spread[of]), USUAL, rules.spread[of])
    high = np.maximum(value, expected) >= rules.minimum[of]
    off = large & holds(rules.percent, percent > rules.percent[of]) & holds(rules.minimum, high)
    return np.isfinite(value) & (off | score.stuck)


def followed(
    open_: dict[str, Incident], names: list[str], readings: Readings, score: Score, rules: Rules
) -> tuple[dict[str, Incident], list[Event], Ints]:
    """(incidents that are open afterwards by service, events by time, onset of the incident of each reading or NO_INCIDENT).

    open_: what this returned for the readings before. names: of the services, by number. score: of the readings, as given.
    """
    onsets, events, still_open = np.full(len(readings.value), NO_INCIDENT, np.int64), list[Event](), dict(open_)
    off = unusual(readings, score, rules)
    limit = rules.score[readings.service]
    alarming = off & ~(score.score < limit)  # NaN: a rule without a score
    stands = ~off & (score.score >= limit)  # the detector rests after it, so what follows has no score that opens anything
    for rows in _by_service(readings):
        number = int(readings.service[rows[0]])
        persistence, open_before = (int(rules.needed[number]), int(rules.within[number])), still_open.pop(names[number], None)
        service = _Service(names[number], open_before, *persistence, int(rules.gap[number]))
        passed, leading = 0, list[int]()  # of rows; unusual ones, one after the other, without an incident so far
        for place in _newest_of(off[rows], stands[rows]).tolist():
            row = int(rows[place])
            if place > passed or stands[row]:
                leading.clear()
            service.pass_usual(readings.at[rows[passed : place + stands[row]]])
            if stands[row]:
                service.stand(row, readings, score)
            elif not service.open and not alarming[row]:
                leading.append(row)
            else:
                service.lead(leading, readings, score)
                leading.clear()
                service.take(row, readings, score, bool(alarming[row]))
                if service.open and service.open.reported:
                    onsets[row] = service.open.onset
            passed = place + 1
        if passed == len(rows):
            service.lead(leading, readings, score)
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


def _newest_of(off: Bools, stands: Bools) -> Ints:
    """The places of what is unusual, and of the newest score that stands before each of them and at the end."""
    places: Ints = np.flatnonzero(off | stands)
    return np.compress(off[places] | np.append(off[places[1:]], True)[: len(places)], places)


def _by_service(readings: Readings) -> list[Ints]:
    """The numbers of the readings that have a value, for each service in the order of time."""
    order = in_order(readings)
    return [each for each in np.split(order, np.flatnonzero(np.diff(readings.service[order])) + 1) if len(each)]


class _Service:
    """The incident of one service, reading by reading."""

    def __init__(self, name: str, open_: Incident | None, needed: int, within: int, gap: int):
        self.name, self._needed, self._within, self._gap = name, needed, within, gap
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
        many = min(len(times), self._gap - self.open.usual)
        self.open = replace(self.open, usual=self.open.usual + many, passed=self.open.passed + many)
        if self.open.usual == self._gap:
            if self.open.reported:
                self.events.append(Event("closed", int(times[many - 1]), self.open))
            self.open = None

    def stand(self, row: int, readings: Readings, score: Score) -> None:
        """A usual reading whose score would open an incident: it opens one with the next unusual reading."""
        if not self.open or not self.open.readings:
            self.open = _begun(self.name, int(readings.at[row]), float(score.score[row]), reason(score, row))

    def lead(self, rows: list[int], readings: Readings, score: Score) -> None:
        """Unusual readings, one after the other. If the next one opens an incident, they are its first."""
        for row in rows:
            known = self.led or _begun(self.name, int(readings.at[row]))
            self.led = replace(self._with(known, row, readings, score), led_by=known.led_by + 1)

    def take(self, row: int, readings: Readings, score: Score, alarming: bool) -> None:
        """An unusual reading."""
        if not self.open and not alarming:
            return
        at = int(readings.at[row])
        known, self.led = self.open or self.led or _begun(self.name, at), None
        if not known.readings or (not known.reported and known.passed >= self._within):
            known = _begun(self.name, at, known.score, known.cause)  # of a score that stands, or too few others were unusual
        known = self._with(known, row, readings, score)
        self.open = replace(known, passed=known.passed + 1, usual=max(0, known.usual - TAKEN))
        if score.score[row] > self.open.score or not self.open.cause:
            self.open = replace(self.open, score=float(score.score[row]), cause=reason(score, row))
        shifted = bool(score.shifted[row]) and not self.open.shifted
        self.open = replace(self.open, shifted=self.open.shifted or shifted)
        largest = max(abs(self.open.size), USUAL)
        if not self.open.reported:
            if self.open.readings - self.open.led_by >= self._needed:
                self._report("opened", at, largest)
        elif shifted or largest > GROWN * self.open.reported:
            self._report("updated", at, largest)

    def _report(self, state: Literal["opened", "updated"], at: int, largest: float) -> None:
        assert self.open
        self.open = replace(self.open, reported=largest)
        self.events.append(Event(state, at, self.open))

    @staticmethod
    def _with(known: Incident, row: int, readings: Readings, score: Score) -> Incident:
        """The incident with one more unusual reading."""
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
        larger = not known.readings or abs(size) > abs(known.size)
        return replace(more, peak_at=at, peak=value, peak_expected=expected, size=size) if larger else more


def _begun(service: str, at: int, score: float = 0.0, cause: str = "") -> Incident:
    """Without a reading yet."""
    return Incident(service, at, at, 0, 0.0, 0.0, 0.0, at, 0.0, 0.0, 0.0, score, cause, False, 0, 0, 0.0)
