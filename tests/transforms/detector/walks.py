"""Walks of the detector over a few days, for the tests of this folder."""

import numpy as np

from jobs.transforms.detector import detector
from jobs.transforms.detector.moments import DAY, Moment, Pace

HALF_HOUR = Pace(1800)


def moment(row: int, pace: Pace = HALF_HOUR, holiday: bool = False) -> Moment:
    """The interval number `row`, counted from a Monday's midnight."""
    time = row * pace.interval
    return Moment(float(time), time % DAY, time // DAY % 7, holiday)


def walk(values: np.ndarray, pace: Pace = HALF_HOUR, state: detector.State | None = None, first: int = 0, holidays=()):
    """(state, scores) after readings of shape (rows, services): each of the scores' arrays has that shape too."""
    state = detector.new_state(values.shape[1], pace) if state is None else state
    scores = []
    for row, readings in enumerate(values, first):
        at = moment(row, pace, row * pace.interval // DAY in holidays)
        state, score = detector.step(state, readings, at, pace)
        scores.append(score)
    return state, detector.Score(*(np.array(column) for column in zip(*scores, strict=True)))


def days(number: int, services: int = 1, seed: int = 1, level: float = 400.0, weekend: float = 1.0) -> np.ndarray:
    """Counts of half hours with a daily wave, shape (rows, services); on Saturdays and Sundays `weekend` times as many."""
    row = np.arange(48 * number)
    mean = level * (1.2 + np.sin(row / 48 * 2 * np.pi)) * np.where(row // 48 % 7 >= 5, weekend, 1.0)
    return np.random.default_rng(seed).poisson(mean[:, None], (len(row), services)).astype(float)


def leaves(state) -> list[np.ndarray]:
    """All arrays of a state."""
    return [leaf for each in state for leaf in leaves(each)] if isinstance(state, tuple) else [state]
