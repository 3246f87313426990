"""From scores to alarms: one for each incident, and fewer where there were many.

An alarm stands at the onset. Until its service has been quiet again, or REST_DAYS have passed, what follows belongs to the same
incident and its score falls back, unless it is much larger than what raised the alarm.
"""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.moments import DAY, Bools, Floats, Pace

THRESHOLD = 2.0  # score of an alarm
REST_DAYS = 1.0  # one alarm in so many days
LARGER = 2.0  # times the size that raised the alarm: this is news
FALLEN = 0.05  # of its score is left to what follows an alarm
BUDGET_DAYS, BUDGET = 7.0, 0.1  # each alarm of the last days makes the next score a tenth smaller, for a while
STILL = 2.0  # scales: within them a reading is back to normal
GAP = 3  # normal readings, one after the other, that end an incident
NEVER = -np.inf


class Alarms(NamedTuple):
    """One entry per service. at: epoch seconds of the last alarm, -inf before the first. size: of what raised it, in scales.
    load: alarms of the last days, faded. open: whether its incident goes on. normal: readings within STILL since."""

    at: Floats
    size: Floats
    load: Floats
    open: Bools
    normal: Floats


def new_alarms(services: int) -> Alarms:
    zeros = np.zeros(services)
    return Alarms(np.full(services, NEVER), zeros, zeros.copy(), np.zeros(services, bool), zeros.copy())


def raised(
    alarms: Alarms, scores: Floats, sizes: Floats, stuck: Bools, present: Bools, time: Floats, pace: Pace
) -> tuple[Alarms, Floats, Bools, Bools]:
    """(alarms, the scores to be reported, who raises an alarm now, whose reading belongs to an open incident).

    sizes: the readings' errors in scales, both tails alike. stuck: for them, size says nothing. time: epoch seconds.
    """
    lowered = scores / (1 + BUDGET * alarms.load)
    resting = (time - alarms.at < REST_DAYS * DAY) & ~(sizes > LARGER * alarms.size) & ~stuck
    reported = np.where(resting, FALLEN * lowered, lowered)
    alarm = present & (reported >= THRESHOLD)
    off = stuck | (sizes >= STILL)
    normal = np.where(present, np.where(off | alarm, 0, alarms.normal + 1), alarms.normal)
    still_open = (alarms.open & (normal < GAP)) | alarm
    load = np.where(present, alarms.load * (1 - pace.rate(BUDGET_DAYS)) + alarm, alarms.load)
    after = Alarms(np.where(alarm, time, alarms.at), np.where(alarm, sizes, alarms.size), load, still_open, normal)
    return after, reported, alarm, present & still_open & (off | alarm)
