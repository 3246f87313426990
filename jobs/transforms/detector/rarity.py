"""How rare a deviation is among all that the service itself has made: no distribution is assumed.

Readings are judged by the spell: those of the last five minutes, or one reading if the interval is longer. So what is unusual
does not depend on how often a service reports, and the noise of single readings raises nothing.

A deviation is measured in three ways: the mean error of the spell, that of the last three spells, the change since the spell
before. A score that goes by all of them sees a small error that lasts, and a sudden step of a series that wanders.
"""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.moments import Bools, Floats, Ints, Pace
from jobs.transforms.detector.scale import Usual

MEASURES = ("error", "error of three", "change")
EACH = np.arange(len(MEASURES))
TOGETHER = 3  # spells whose errors are judged together
BEFORE = 2  # spells of a change
BINS, PER_OCTAVE, LOWEST_OCTAVE = 52, 4, -3  # of deviations in scales: from 1/8 to 1,024
# Row b: how much a past reading of each bin counts among those that deviated at least as much as one of bin b.
BEYOND = np.triu(np.ones((BINS, BINS)), 1) + np.eye(BINS) / 2
SIZE = 1.5  # scales at which a deviation counts half: what is rare but small wakes nobody
LARGEST = 0.5  # share of the measure with the highest score; the rest is the mean of all


class Past(NamedTuple):
    """errors, values: of the last readings, newest first, in the detector's unit; shape (services, readings of TOGETHER and of
    BEFORE spells). seen: judged readings. counts: how many of them by size, (services, measures, BINS); `judge` adds to it in
    place."""

    errors: Floats
    values: Floats
    seen: Floats
    counts: Floats


class Verdict(NamedTuple):
    """One entry per service: the score, and why. measure: the one with the highest score, a number into MEASURES. deviation: by
    this measure, in scales. beyond: how many of the `seen` past readings deviated at least as much by it, to either side."""

    score: Floats
    measure: Ints
    deviation: Floats
    beyond: Floats
    seen: Floats


class Spell(NamedTuple):
    """One entry per service, in the detector's unit. error: mean error of the newest spell. three: of the last TOGETHER spells.
    change: the mean of the newest spell's values less that of the spell before; 0 before there are two."""

    error: Floats
    three: Floats
    change: Floats


def new_past(services: int, pace: Pace) -> Past:
    def recent(spells: int) -> Floats:
        return np.zeros((services, spells * pace.spell))

    return Past(recent(TOGETHER), recent(BEFORE), np.zeros(services), np.zeros((services, len(MEASURES), BINS)))


def shifted(past: Past, errors: Floats, values: Floats, present: Bools) -> Past:
    """The past with these readings as the newest."""

    def newest(recent: Floats, new: Floats) -> Floats:
        found = np.empty_like(recent)
        found[:, 0], found[:, 1:] = new, recent[:, :-1]
        return np.where(present[:, None], found, recent)

    return past._replace(errors=newest(past.errors, errors), values=newest(past.values, values))


def spell(past: Past, seen: Floats, pace: Pace) -> Spell:
    """The newest spells. seen: readings of each service before the newest."""
    of, values = pace.spell, past.values
    change = (values[:, :of].sum(axis=1) - values[:, of:].sum(axis=1)) / of
    known = seen + 1 >= BEFORE * of
    newest, three = past.errors[:, :of].sum(axis=1) / of, past.errors.sum(axis=1) / (TOGETHER * of)
    return Spell(newest, three, np.where(known, change, 0.0))


def measured(newest: Spell, usual: Usual) -> Floats:
    """The newest spells by each of MEASURES, in scales, negative if they are too low: shape (services, measures)."""
    found = np.empty((len(newest.error), len(MEASURES)))
    found[:, 0] = newest.error / usual.spell
    found[:, 1] = np.sqrt(TOGETHER) * newest.three / usual.spell
    found[:, 2] = newest.change / usual.change
    return found


def judge(past: Past, deviations: Floats, judged: Bools, pace: Pace) -> tuple[Past, Verdict]:
    """(the past with the newest readings counted where `judged`, their verdict). deviations: as of `measured`.

    A measure's score is rarity * weight. Rarity is -log10 of the share of past spells that deviated at least as much, the new one
    counted among them: after n spells it is at most log10(n + 1). The weight is size² / (size² + SIZE²).
    """
    sizes = np.abs(deviations)
    octaves = np.log2(np.maximum(sizes, 1e-9)) - LOWEST_OCTAVE
    bins = np.minimum(np.maximum(PER_OCTAVE * octaves, 0), BINS - 1).astype(np.int64)
    beyond = np.einsum("smb,smb->sm", past.counts, np.take(BEYOND, bins, axis=0))  # sums of halves: exact in whatever order
    squares = np.square(sizes)
    scores = -np.log10((beyond + pace.spell) / (past.seen[:, None] + pace.spell)) * squares / (squares + SIZE**2)
    score = LARGEST * scores.max(axis=1) + (1 - LARGEST) * (scores.sum(axis=1) / len(MEASURES))
    highest = np.argmax(scores, axis=1)
    by_it = np.arange(len(sizes)), highest
    verdict = Verdict(np.where(judged, score, 0.0), highest, deviations[by_it], beyond[by_it], past.seen)
    who = np.flatnonzero(judged)
    cells = past.counts.reshape(-1, copy=False)  # one index costs less than three
    cells[(who[:, None] * len(MEASURES) + EACH) * BINS + bins[who]] += 1
    return past._replace(seen=past.seen + judged), verdict
