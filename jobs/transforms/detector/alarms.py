"""From scores to alarms: one for each incident, and fewer where there were many.

A score stands at the onset. For a while, what follows belongs to the same incident, and its score falls back unless it is
clearly higher. Counts rest for a day, because their bursts go on; other numbers rest for half a day. None of this depends on the
threshold: at any threshold, an incident raises one alarm, seldom a second.
"""

from typing import Any, NamedTuple

import numpy as np

from jobs.transforms.detector.moments import DAY, Bools, Floats, Pace

THRESHOLD = 1.8  # score of an alarm, unless a caller sets another
COUNTS_REST, REST = 1.0, 0.5  # days after a score
HIGHER = 1.1  # times the score that the service rests from: this is news
FALLEN = 0.05  # of its score is left to what follows
HIGH = 2.0  # score that counts against the next ones:
BUDGET_DAYS, BUDGET = 7.0, 0.1  # each of the last days makes them a tenth smaller, for a while


class Alarms(NamedTuple):
    """One entry per service. at, score: epoch seconds and height of the score that it rests from, -inf and 0 before the first.
    load: high scores of the last days, faded."""

    at: Floats
    score: Floats
    load: Floats


class Evidence(NamedTuple):
    """One entry per service. stuck: whose value now repeats itself for longer than ever. counts: whose values are counts."""

    score: Floats
    stuck: Bools
    counts: Bools


class Raised(NamedTuple):
    """One entry per service. score: what is reported. alarm: an alarm is raised now."""

    score: Floats
    alarm: Bools


def new_alarms(services: int) -> Alarms:
    zeros = np.zeros(services)
    return Alarms(np.full(services, -np.inf), zeros, zeros.copy())


def raised(
    alarms: Alarms, evidence: Evidence, present: Bools, time: Any, pace: Pace, threshold: float | Floats = THRESHOLD
) -> tuple[Alarms, Raised]:
    """(alarms after this evidence, what it raises). time: epoch seconds, one for all services or one each."""
    lowered = evidence.score / (1 + BUDGET * alarms.load)
    rested = time - alarms.at >= DAY * np.where(evidence.counts, COUNTS_REST, REST)
    stands = present & (rested | evidence.stuck | (lowered > HIGHER * alarms.score))
    reported = np.where(stands, lowered, FALLEN * lowered)
    alarm = present & (reported >= threshold)
    load = np.where(present, alarms.load * (1 - pace.rate(BUDGET_DAYS)) + (reported >= HIGH), alarms.load)
    return Alarms(np.where(stands, time, alarms.at), np.where(stands, lowered, alarms.score), load), Raised(reported, alarm)
