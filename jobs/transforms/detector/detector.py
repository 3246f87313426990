"""The detector: one step from (state, readings of one interval) to (state, score), for all services of a feed at once.

It is strictly causal: a reading is judged by what came before it. Each part of the state has arrays with one entry per service.
"""

from typing import NamedTuple

import numpy as np

from jobs.transforms.detector import alarms as alarming
from jobs.transforms.detector import kind as kinds
from jobs.transforms.detector import rarity, scale, seasons, shift, stuck
from jobs.transforms.detector.moments import Bools, Floats, Ints, Moment, Pace

BAND = 3.0  # scales around the expected value within which a reading is usual
LOW_MIDDLE_HIGH = np.array([[-BAND], [0.0], [BAND]])


class State(NamedTuple):
    """All that the detector knows: nested tuples of arrays whose first axis is the service."""

    kind: kinds.Kind
    seasons: seasons.Seasons
    scale: scale.Scale
    past: rarity.Past
    runs: stuck.Runs
    side: shift.Side
    alarms: alarming.Alarms


class Score(NamedTuple):
    """One entry per service. Without a reading: score 0, False and NaN, but for expected, low and high.

    expected, low, high: in the unit of the readings; NaN before a service's second reading.
    score: for one common threshold. alarm: it reaches the threshold.
    shifted: the level has changed for good.

    And why. season: a number into seasons.NAMES. size: the error of the reading in scales. measure: the one that made the
    score, a number into rarity.MEASURES. deviation: of the reading's spell by this measure, in its scales; negative if too low.
    Of `seen` past spells, `beyond` deviated by it at least as much; each reading ends a spell, so these are counts of readings.
    stuck: the value repeats itself for longer than ever.
    """

    expected: Floats
    low: Floats
    high: Floats
    score: Floats
    alarm: Bools
    shifted: Bools
    season: Ints
    size: Floats
    measure: Ints
    deviation: Floats
    beyond: Floats
    seen: Floats
    stuck: Bools


def new_state(services: int, pace: Pace) -> State:
    """Of services that have no past."""
    return State(
        kinds.new_kind(services),
        seasons.new_seasons(services, pace),
        scale.new_scale(services),
        rarity.new_past(services, pace),
        stuck.new_runs(services),
        shift.new_side(services),
        alarming.new_alarms(services),
    )


def step(
    state: State, values: Floats, moment: Moment, pace: Pace, threshold: float | Floats = alarming.THRESHOLD
) -> tuple[State, Score]:
    """Judges one reading of each service, NaN where it has none; the state that was given stays as it is.

    threshold: the score of an alarm, of all services or one entry each.
    """
    return advance(_copied(state), values, moment, pace, threshold)


def advance(
    state: State, values: Floats, moment: Moment, pace: Pace, threshold: float | Floats = alarming.THRESHOLD
) -> tuple[State, Score]:
    """As `step`, but the state that was given is used up: its tables go over to the new one. For walks through long histories."""
    present = np.isfinite(values)
    values = np.where(present, values, 0.0)
    kind, ceased = kinds.looked_at(state.kind, values, present)
    if ceased.any():
        state = _without_root(state, ceased)
    inner = kinds.inward(kind, values)
    known = state.seasons
    slots = seasons.slots_of(moment, pace)
    expected, competing = seasons.models(known, slots)
    season = seasons.believed(known, competing)
    best = expected[np.arange(len(values)), season]
    usual = scale.usual(state.scale, kind, known.seen, pace)
    old = known.seen > 0
    measured = present & old
    errors = np.where(measured, inner - best, 0.0)
    sizes = errors / usual.error

    past = rarity.shifted(state.past, errors, inner, present)
    spell = rarity.spell(past, known.seen, pace)
    measures = rarity.measured(spell, usual)
    past, verdict = rarity.judge(past, measures, present & (known.seen >= scale.YOUNG), pace)
    runs, is_stuck, sticks = stuck.followed(state.runs, kind, inner, known.seen, present)
    side, moved = shift.leaned(state.side, spell.error, spell.error / usual.spell, known.seen > pace.per_day, present, pace)
    raw = np.where(sticks, np.maximum(verdict.score, stuck.SCORE), verdict.score)
    counts = scale.counts(state.scale, kind, known.seen)
    evidence = alarming.Evidence(raw, sticks, counts)
    alarms, found = alarming.raised(state.alarms, evidence, present, moment.time, pace, threshold)

    lesson = scale.clipped(errors, usual.error, known.seen)
    of_spell = scale.clipped(spell.error, usual.spell, known.seen)
    change = scale.clipped(spell.change, usual.change, known.seen)
    lessons = scale.clipped(inner[:, None] - expected, usual.error, known.seen)
    everyday = ~np.asarray(moment.holiday, bool)
    learned = seasons.learn(known, slots, inner, lessons, best + lesson, competing, present, everyday, pace)
    new = State(
        kinds.remembered(kind, inner, present),
        seasons.moved(learned, moved),
        scale.widened(state.scale, inner, scale.Usual(lesson, of_spell, change), known.seen, present, pace),
        past,
        runs,
        side,
        alarms,
    )
    low, middle, high = np.where(old, kinds.outward(kind, best + LOW_MIDDLE_HIGH * usual.error), np.nan)
    middle = np.minimum(middle + np.where(kind.root, np.square(usual.error), 0.0), high)  # E[X] = E[root X]² + Var[root X]
    why = seasons.named(season, moment), np.where(measured, sizes, np.nan), *verdict[1:], is_stuck
    score = np.where(present, found.score, 0.0)
    return new, Score(middle, low, high, score, found.alarm, moved != 0, *why)


def _without_root(state: State, who: Bools) -> State:
    """The state after some services turned out to go below zero: theirs in the unit of the readings, with nothing recent."""
    level, past = state.seasons.level, state.past
    return state._replace(
        seasons=seasons.squared(state.seasons, who),
        scale=scale.squared(state.scale, level, who),
        past=past._replace(
            errors=np.where(who[:, None], 0.0, past.errors), values=np.where(who[:, None], np.square(past.values), past.values)
        ),
        side=shift.Side(np.where(who, 0.0, state.side.side), np.where(who, 0.0, state.side.off)),
    )


def _copied(state: State) -> State:
    """With tables of its own."""
    day, week = (seasons.Profile(each.mean.copy(), each.seen.copy()) for each in (state.seasons.day, state.seasons.week))
    counts = state.past.counts.copy()
    return state._replace(seasons=state.seasons._replace(day=day, week=week), past=state.past._replace(counts=counts))
