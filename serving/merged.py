"""The merged view of one service: what history holds (batch) and what memory holds of the stream (speed), each reading once.

The seam is no instant: the archive takes readings as the broker took them, so late ones of an archived date are live, too. Where
both hold a reading, the rule of the archive decides: the one that the broker took later is a correction of the other.
"""

from typing import NamedTuple

import numpy as np

from contracts.feeds import Rule
from jobs.transforms import deviation
from serving.archived import Archived
from serving.expectation import Expectation
from serving.scored import Scored


class Readings(NamedTuple):
    """Judged readings as columns, oldest first, one for each time. Doubles are NaN where there is no baseline."""

    at: np.ndarray  # int64, epoch milliseconds
    value: np.ndarray  # int64
    expected: np.ndarray  # double
    spread: np.ndarray  # double
    pct: np.ndarray  # double; NaN also where nothing is expected
    anomalous: np.ndarray  # bool
    baseline_version: np.ndarray  # int64; -1: none


def merged(archived: Archived, live: Scored) -> Scored:
    """Each reading once. An archived one comes without baseline: -1, and NaN."""
    if not len(live.at):
        return _unjudged(archived)
    place = np.searchsorted(live.at, archived.at)
    both = np.flatnonzero(place < len(live.at))
    both = both[live.at[place[both]] == archived.at[both]]
    later = archived.taken[both] > live.taken[place[both]]
    live = Scored(*(np.delete(column, place[both[later]]) for column in live))
    unjudged = _unjudged(Archived(*(np.delete(column, both[~later]) for column in archived)))
    whole = Scored(*(np.concatenate(pair) for pair in zip(unjudged, live, strict=True)))
    if len(live.at) and len(unjudged.at) and unjudged.at[-1] > live.at[0]:
        order = np.argsort(whole.at, kind="stable")
        whole = Scored(*(column[order] for column in whole))
    return whole


def _unjudged(archived: Archived) -> Scored:
    nothing, none = np.full(len(archived.at), np.nan), np.full(len(archived.at), -1)
    verdict = np.zeros(len(archived.at), np.int8)
    return Scored(archived.at, archived.value, nothing, nothing, nothing, verdict, none, archived.taken, none)


def judged(readings: Scored, rule: Rule, beside: Expectation, version: int | None) -> Readings:
    """The verdict of the stream where it scored a reading with a baseline; else the rule's, by the baseline in force.

    beside: what the baseline in force, `version`, expects of each reading.
    """
    scored = ~np.isnan(readings.expected)
    expected = np.where(scored, readings.expected, beside.expected)
    spread = np.where(scored, readings.spread, beside.spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        pct = np.where(expected != 0, deviation.predicted_pct(readings.value, expected), np.nan)
        broken = deviation.breaks_rule(readings.value, expected, spread, pct, **rule.conditions)
    known = scored | ~np.isnan(beside.expected)
    versions = np.where(scored, readings.baseline_version, np.where(known, -1 if version is None else version, -1))
    anomalous = np.where(scored, readings.anomalous != 0, broken)
    return Readings(readings.at, readings.value, expected, spread, np.where(scored, readings.pct, pct), anomalous, versions)
