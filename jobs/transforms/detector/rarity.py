"""How rare an error is among all that the service itself has made: no distribution is assumed."""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector.moments import Bools, Floats

SPANS = (1, 3)  # readings over whose mean an error is judged: one, and the last three
BINS, PER_OCTAVE, LOWEST_OCTAVE = 104, 8, -3  # of errors in scales: from 1/8 to 1,024
SIZE = 1.5  # scales at which an error counts half: what is rare but small wakes nobody


class Past(NamedTuple):
    """recent: the last errors, newest first, shape (services, 3), in the detector's unit. seen: judged errors, (services, spans).
    counts: how many of them by size, (services, spans, BINS); `judge` adds to it in place."""

    recent: Floats
    seen: Floats
    counts: Floats


class Verdict(NamedTuple):
    """One entry per service: the score, and why. size: the larger of the spans' errors, in scales, both tails alike.
    beyond: how many of the `seen` past errors of that span were at least as large."""

    score: Floats
    size: Floats
    beyond: Floats
    seen: Floats


def new_past(services: int) -> Past:
    spans = len(SPANS)
    return Past(np.zeros((services, max(SPANS))), np.zeros((services, spans)), np.zeros((services, spans, BINS)))


def shifted(past: Past, errors: Floats, present: Bools) -> Past:
    """The past with these errors as the newest."""
    moved = np.concatenate([errors[:, None], past.recent[:, :-1]], axis=1)
    return past._replace(recent=np.where(present[:, None], moved, past.recent))


def judge(past: Past, scales: Floats, judged: Bools) -> tuple[Past, Verdict]:
    """(the past with the newest errors counted where `judged`, their verdict).

    The score is the mean over the spans of rarity × weight. Rarity is -log10 of the share of past errors at least as large, the
    new one counted among them: after n errors it is at most log10(n + 1). The weight is size² / (size² + SIZE²).
    """
    sizes = np.stack([np.abs(past.recent[:, :span].sum(axis=1)) / np.sqrt(span) for span in SPANS], axis=1) / scales[:, None]
    octaves = np.log2(np.maximum(sizes, 1e-9)) - LOWEST_OCTAVE
    bins = np.clip((PER_OCTAVE * octaves).astype(np.int64), 0, BINS - 1)
    larger = (past.counts * (np.arange(BINS) > bins[:, :, None])).sum(axis=2)
    alike = np.take_along_axis(past.counts, bins[:, :, None], axis=2)[:, :, 0]
    beyond = larger + alike / 2
    rarity = -np.log10((beyond + 1) / (past.seen + 1))
    squares = np.square(sizes)
    score = (rarity * squares / (squares + SIZE**2)).mean(axis=1)
    rows, widest = np.arange(len(sizes)), np.argmax(sizes, axis=1)
    verdict = Verdict(np.where(judged, score, 0.0), sizes[rows, widest], beyond[rows, widest], past.seen[rows, widest])
    who = np.flatnonzero(judged)
    for span in range(len(SPANS)):
        past.counts[who, span, bins[who, span]] += 1
    return past._replace(seen=past.seen + judged[:, None]), verdict
