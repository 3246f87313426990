"""What a rule makes of scored readings: which are unusual, to which side, and whose score opens an incident."""

from typing import Literal, NamedTuple

import numpy as np

from jobs.transforms.detector import alarms
from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.moments import Bools, Floats, Ints
from jobs.transforms.detector.walk import Readings

USUAL = 2.0  # scales: a smaller error is usual, whatever else a rule asks for
GAP, GAP_MS = 3, 1_800_000  # so many usual readings, over at least so many milliseconds, close an incident
TAKEN = 4  # from the usual readings by an unusual one: what is unusual by chance now and then must not keep an incident open
HIGH, LOW = 1, -1  # sides


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


class Marks(NamedTuple):
    """One entry per reading. off: it is unusual. opens: it is, and opens an incident by itself. stands: its score is high enough,
    but it is usual itself, or deviates to the other side than the measure that made the score; so it is not off. side: of the
    score where it stands, of the reading otherwise. agrees: reading and score have the same side."""

    off: Bools
    opens: Bools
    stands: Bools
    side: Ints
    agrees: Bools


def default_rules(services: int) -> Rules:
    """The score alone, for intervals that are not short."""
    off, one = np.full(services, np.nan), np.ones(services, np.int64)
    return Rules(np.full(services, alarms.THRESHOLD), off, np.full(services, USUAL), off.copy(), one, one.copy(), GAP * one)


def gap_of(interval: int) -> int:
    """Usual readings that close an incident. interval: milliseconds."""
    return max(GAP, -(-GAP_MS // interval))


def direction(side: int) -> Literal["high", "low"]:
    return "high" if side == HIGH else "low"


def sides(score: Score) -> tuple[Ints, Ints]:
    """(side of each reading, side of the measure that made its score). The score of a stuck value has the side of the reading."""
    of_reading = np.where(score.size < 0, LOW, HIGH)
    return of_reading, np.where(score.stuck, of_reading, np.where(score.deviation < 0, LOW, HIGH))


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


def marked(readings: Readings, score: Score, rules: Rules) -> Marks:
    off, limit = unusual(readings, score, rules), rules.score[readings.service]
    of_reading, of_score = sides(score)
    agrees, high = of_reading == of_score, score.score >= limit
    opens = off & (np.isnan(limit) | (high & agrees))
    stands = high & ~opens
    return Marks(off & ~stands, opens, stands, np.where(stands, of_score, of_reading), agrees)
