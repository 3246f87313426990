"""How rare a deviation is among all that the service itself has made: no distribution is assumed.

A deviation is measured in three ways: the error of the reading, the errors of the last three together, the change since the
reading before. A score that goes by all of them sees a small error that lasts, and a sudden step of a series that wanders.
"""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.moments import Bools, Floats

MEASURES = ("error", "error of three", "change")
EACH = np.arange(len(MEASURES))
TOGETHER = 3  # readings whose errors are judged together
BINS, PER_OCTAVE, LOWEST_OCTAVE = 52, 4, -3  # of deviations in scales: from 1/8 to 1,024
# Row b: how much a past reading of each bin counts among those that deviated at least as much as one of bin b.
BEYOND = np.triu(np.ones((BINS, BINS)), 1) + np.eye(BINS) / 2
SIZE = 1.5  # scales at which a deviation counts half: what is rare but small wakes nobody
LARGEST = 0.5  # share of the measure with the highest score; the rest is the mean of all


class Past(NamedTuple):
    """recent: the last errors, newest first, shape (services, TOGETHER), in the detector's unit. seen: judged readings.
    counts: how many of them by size, (services, measures, BINS); `judge` adds to it in place."""

    recent: Floats
    seen: Floats
    counts: Floats


class Verdict(NamedTuple):
    """One entry per service: the score, and why. beyond: how many of the `seen` past readings deviated at least as much, by the
    measure with the highest score."""

    score: Floats
    beyond: Floats
    seen: Floats


def new_past(services: int) -> Past:
    return Past(np.zeros((services, TOGETHER)), np.zeros(services), np.zeros((services, len(MEASURES), BINS)))


def shifted(past: Past, errors: Floats, present: Bools) -> Past:
    """The past with these errors as the newest."""
    recent = np.empty_like(past.recent)
    recent[:, 0], recent[:, 1:] = errors, past.recent[:, :-1]
    return past._replace(recent=np.where(present[:, None], recent, past.recent))


def measured(past: Past, scales: Floats, changes: Floats, change_scales: Floats) -> Floats:
    """The newest readings by each of MEASURES, in scales: shape (services, measures)."""
    found = np.empty((len(scales), len(MEASURES)))
    found[:, 0] = past.recent[:, 0] / scales
    found[:, 1] = past.recent.sum(axis=1) / (np.sqrt(TOGETHER) * scales)
    found[:, 2] = changes / change_scales
    return np.abs(found)


def judge(past: Past, sizes: Floats, judged: Bools) -> tuple[Past, Verdict]:
    """(the past with the newest readings counted where `judged`, their verdict). sizes: as of `measured`.

    A measure's score is rarity * weight. Rarity is -log10 of the share of past readings that deviated at least as much, the new
    one counted among them: after n readings it is at most log10(n + 1). The weight is size² / (size² + SIZE²).
    """
    octaves = np.log2(np.maximum(sizes, 1e-9)) - LOWEST_OCTAVE
    bins = np.minimum(np.maximum(PER_OCTAVE * octaves, 0), BINS - 1).astype(np.int64)
    beyond = np.einsum("smb,smb->sm", past.counts, np.take(BEYOND, bins, axis=0))  # sums of halves: exact in whatever order
    squares = np.square(sizes)
    scores = -np.log10((beyond + 1) / (past.seen[:, None] + 1)) * squares / (squares + SIZE**2)
    score = LARGEST * scores.max(axis=1) + (1 - LARGEST) * (scores.sum(axis=1) / len(MEASURES))
    highest = np.argmax(scores, axis=1)
    verdict = Verdict(np.where(judged, score, 0.0), beyond[np.arange(len(sizes)), highest], past.seen)
    who = np.flatnonzero(judged)
    cells = past.counts.reshape(-1, copy=False)  # one index costs less than three
    cells[(who[:, None] * len(MEASURES) + EACH) * BINS + bins[who]] += 1
    return past._replace(seen=past.seen + judged), verdict
