"""Competing models of normal: which one is believed, and what it expects."""

import numpy as np
import pytest

from jobs.transforms.detector import seasons
from jobs.transforms.detector.moments import Moment, Pace
from tests.transforms.detector.walks import HALF_HOUR, days, walk

NAMES = list(seasons.NAMES)


def test_slots_of_half_an_hour_are_interpolated_between_their_middles():
    day, week, _ = seasons.slots_of(Moment(0.0, 7 * 1800 + 900 + 450, 2, False), Pace(300))
    assert (int(day.first), int(day.second), float(day.share)) == (7, 8, pytest.approx(0.25))
    assert (int(week.first), int(week.second)) == (2 * 48 + 7, 2 * 48 + 8)


def test_midnight_lies_between_the_last_slot_and_the_first():
    day, week, _ = seasons.slots_of(Moment(0.0, 0, 0, False), Pace(300))
    assert (int(day.first), int(day.second), float(day.share)) == (47, 0, 0.5)
    assert (int(week.first), int(week.second)) == (7 * 48 - 1, 0)


def test_slots_as_long_as_an_interval_stand_for_themselves():
    day, _, _ = seasons.slots_of(Moment(0.0, 3 * 1800, 0, False), HALF_HOUR)
    assert (int(day.first), float(day.share)) == (3, 0.0)


def test_a_holiday_may_be_like_a_sunday():
    _, week, holiday = seasons.slots_of(Moment(0.0, 0, 2, True), HALF_HOUR)
    assert (int(week.first), int(holiday.first)) == (2 * 48, 6 * 48)


def test_level_then_day_then_week_are_believed_as_they_become_known():
    values = days(21, weekend=0.3)
    _, score = walk(values)
    believed = [np.bincount(score.season[48 * day : 48 * (day + 1), 0], minlength=4).argmax() for day in range(21)]
    assert believed[0] == NAMES.index("level")
    assert NAMES.index("day") in believed[1:5]
    assert set(believed[15:]) == {NAMES.index("week")}
    last = slice(48 * 14, None)
    mean = 400 * (1.2 + np.sin(np.arange(48 * 21) / 48 * 2 * np.pi)) * np.where(np.arange(48 * 21) // 48 % 7 >= 5, 0.3, 1)
    assert np.median(np.abs(score.expected[last, 0] / mean[last] - 1)) < 0.06


@pytest.mark.parametrize("like_a_sunday", [True, False])
def test_a_holiday_is_what_its_first_hours_show_it_to_be(like_a_sunday):
    values = days(31, weekend=0.3)
    wednesday = 30
    if like_a_sunday:
        values[48 * wednesday :] = days(28, weekend=0.3, seed=5)[48 * 27 :]
    _, score = walk(values, holidays=(wednesday,))
    afternoon = slice(48 * wednesday + 24, 48 * wednesday + 48)
    ratio = np.median(score.expected[afternoon, 0] / values[afternoon, 0])
    assert ratio == pytest.approx(1, abs=0.1)
    assert (score.season[afternoon, 0] == NAMES.index("holiday")).mean() > 0.8 or not like_a_sunday


@pytest.mark.parametrize("like_a_sunday", [True, False])
def test_the_day_after_a_holiday_is_what_it_always_is(like_a_sunday):
    values = days(33, weekend=0.3)
    thursday = 31
    if like_a_sunday:
        values[48 * thursday : 48 * (thursday + 1)] *= 0.3
    _, score = walk(values, holidays=(thursday,))
    friday = slice(48 * (thursday + 1), 48 * (thursday + 2))
    assert np.median(score.expected[friday, 0] / values[friday, 0]) == pytest.approx(1, abs=0.05)
    assert (score.season[friday, 0] == NAMES.index("week")).all()
    assert not score.alarm[friday].any()


def test_a_holiday_teaches_nothing_of_its_weekday():
    values = days(28, weekend=0.3)
    state, _ = walk(values)
    after, _ = walk(values[:48] * 0, state=state, first=28 * 48, holidays=(28,))
    assert np.array_equal(after.seasons.week.mean, state.seasons.week.mean)
    ordinary, _ = walk(values[:48] * 0, state=state, first=28 * 48)
    assert not np.array_equal(ordinary.seasons.week.mean, state.seasons.week.mean)
