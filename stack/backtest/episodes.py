"""Episodes: the runs of unusual readings of which a rule makes an incident, or none, by its score.

An episode has a side, as an incident has: it has readings that are too high, or too low. What is unusual does not depend on the
score, and at most one incident is opened in each run: one that is opened within a run is closed when the run ends, or later. So
one walk tells for every score how many incidents it would open at most. Only where a high score on the other side ends an
incident within its run may there be another.
"""

from typing import Any, NamedTuple

import numpy as np

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incident_life import in_order
from jobs.transforms.detector.moments import Bools, Floats, Ints
from jobs.transforms.detector.rules import HIGH, LOW, TAKEN, Rules, sides, unusual
from jobs.transforms.detector.walk import Readings


class Episodes(NamedTuple):
    """One entry per episode. last: epoch milliseconds of its last unusual reading. score: the highest at which the rule opens an
    incident in it; it may be less where a reading before it began to wait for more unusual ones in vain, or where a score that
    would stand belongs to the end of the incident before."""

    service: Ints
    last: Ints
    score: Floats


class Unusual(NamedTuple):
    """One entry per unusual reading. number: of the reading among its service's. score: the highest that stands then, its own
    included."""

    service: Ints
    number: Ints
    at: Ints
    score: Floats


class EpisodeWalk:
    """Episodes of readings that come piece by piece, in the order of time. They may go on from piece to piece."""

    def __init__(self, gap: int) -> None:
        """gap: usual readings that end an episode, as `rules.gap_of` counts them."""
        self._sides = [_OfSide(side, gap) for side in (HIGH, LOW)]

    def ended(self, readings: Readings, score: Score, rules: Rules, last: bool = False) -> Episodes:
        """The episodes that end within these readings, those apart in which no score opens an incident. rules: of all services so
        far. last: nothing follows, so every episode ends."""
        columns: Any = zip(*(each.ended(readings, score, rules, last) for each in self._sides), strict=True)
        return Episodes(*map(np.concatenate, columns))

    def forget(self, services: Ints) -> None:
        """What comes of these services belongs to no episode of before."""
        for each in self._sides:
            each.forget(services)


class _OfSide:
    """The episodes of one side."""

    def __init__(self, side: int, gap: int) -> None:
        self._side, self._gap = side, gap
        self._read = np.zeros(0, np.int64)  # readings so far, by service
        self._scores = np.zeros((0, gap))  # those of the newest readings of each service, oldest first
        none = np.zeros(0, np.int64)
        self._open = Unusual(none, none, none, np.zeros(0))

    def ended(self, readings: Readings, score: Score, rules: Rules, last: bool) -> Episodes:
        new = len(rules.needed) - len(self._read)
        self._read = np.concatenate([self._read, np.zeros(new, np.int64)])
        self._scores = np.concatenate([self._scores, np.full((new, self._gap), -np.inf)])
        columns: Any = zip(self._open, self._unusual(readings, score, rules), strict=True)
        found = _by_time(Unusual(*map(np.concatenate, columns)))
        if not len(found.at):
            return Episodes(found.service, found.at, found.score)
        usual, begins = _passed(found, self._gap)
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(found.at)) - 1
        stands = np.concatenate([np.maximum.accumulate(each) for each in np.split(found.score, starts[1:])])
        opens = np.maximum.reduceat(np.where(_enough(found, begins, rules), stands, -np.inf), starts)
        still = (self._read[found.service[ends]] - 1 - found.number[ends] + usual[ends] < self._gap) & (not last)
        waiting = np.repeat(still, ends - starts + 1)
        self._open = Unusual(found.service[waiting], found.number[waiting], found.at[waiting], found.score[waiting])
        kept = ~still & (opens > -np.inf)
        return Episodes(found.service[ends[kept]], found.at[ends[kept]], opens[kept])

    def forget(self, services: Ints) -> None:
        self._read[services] += self._gap + 1
        self._scores[services] = -np.inf

    def _unusual(self, readings: Readings, score: Score, rules: Rules) -> Unusual:
        order = in_order(readings)
        services = readings.service[order]
        counts = np.bincount(services, minlength=len(self._read))
        number = np.arange(len(order)) - (np.cumsum(counts) - counts - self._read)[services]
        self._read = self._read + counts
        of_reading, of_score = sides(score)
        off = (unusual(readings, score, rules) & (of_reading == self._side))[order]
        scores = np.where(of_score == self._side, score.score, -np.inf)
        return Unusual(services[off], number[off], readings.at[order[off]], self._standing(scores[order], counts)[off])

    def _standing(self, scores: Floats, counts: Ints) -> Floats:
        """The highest among the score of each reading and those of the readings just before it, of the same service.

        counts: of readings, by service; the scores are given in this order.
        """
        wide, ends = self._scores.shape[1], np.cumsum(counts + self._scores.shape[1])
        old = np.arange(wide) - wide + (ends - counts)[:, None]
        new = np.arange(len(scores)) + np.repeat(wide * np.arange(1, len(counts) + 1), counts)
        every = np.empty(len(scores) + self._scores.size)
        every[old], every[new] = self._scores, scores
        self._scores = every[np.arange(wide) - wide + ends[:, None]]
        highest, span = every, 1
        while span <= wide:
            step = min(span, wide + 1 - span)
            highest = np.maximum(highest, np.concatenate([np.full(step, -np.inf), highest[:-step]]))
            span += step
        return highest[new]


def _by_time(found: Unusual) -> Unusual:
    order = np.lexsort((found.number, found.service))
    columns: Any = found
    return Unusual(*(column[order] for column in columns))


def _passed(found: Unusual, gap: int) -> tuple[Ints, Bools]:
    """(usual readings that count after each unusual one, whether an episode begins with it)."""
    between = np.append(gap, np.where(np.diff(found.service) == 0, np.diff(found.number) - 1, gap))
    counts, usual = np.empty(len(between), np.int64), 0
    begins = np.empty(len(between), bool)
    for row, passed in enumerate(between.tolist()):
        usual += passed
        begins[row] = usual >= gap
        counts[row] = usual = 0 if begins[row] else max(usual - TAKEN, 0)
    return counts, begins


def _enough(found: Unusual, begins: Bools, rules: Rules) -> Bools:
    """Whether enough of the first readings from this one on are unusual, all of one episode."""
    ahead = np.arange(len(found.at)) + rules.needed[found.service] - 1
    there = np.minimum(ahead, len(found.at) - 1)
    episode = np.cumsum(begins)
    near = found.number[there] - found.number < rules.within[found.service]
    return (ahead == there) & (episode[there] == episode) & near
