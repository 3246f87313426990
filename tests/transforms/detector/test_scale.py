"""How large an error is usual: floors by the kind of numbers, clipping, slow growth."""

import numpy as np
import pytest

from jobs.transforms.detector import kind as kinds
from jobs.transforms.detector import scale
from jobs.transforms.detector.moments import Pace
from tests.transforms.detector.walks import HALF_HOUR, days, walk

OLD = np.array([500.0])


def of(error: float, mean: float = 10.0, spread: float = 0.0) -> scale.Scale:
    return scale.Scale(*map(np.atleast_1d, (error, error / 2, 2 * error, mean, mean**2 + spread**2)))


def usual(of: scale.Scale, kind: kinds.Kind, seen: np.ndarray) -> float:
    return float(scale.usual(of, kind, seen, HALF_HOUR).error[0])


def numbers(whole: bool, quantum: float = np.inf) -> kinds.Kind:
    return kinds.new_kind(1)._replace(whole=np.array([whole]), quantum=np.array([quantum]))


def test_counts_vary_at_least_as_poissons_do():
    assert usual(of(0.4), numbers(whole=True), OLD) == scale.POISSON
    assert usual(of(0.9), numbers(whole=True), OLD) == 0.9
    assert scale.usual(of(0.1), numbers(whole=True), np.array([3.0]), HALF_HOUR).change[0] == scale.POISSON
    assert scale.usual(of(0.9), numbers(whole=True), OLD, HALF_HOUR).change[0] == 1.8


def test_the_mean_of_a_spell_has_less_noise_than_a_reading():
    minutes = Pace(60)
    assert scale.usual(of(0.4), numbers(whole=True), OLD, minutes).spell[0] == pytest.approx(scale.POISSON / np.sqrt(5))
    assert scale.usual(of(2.0), numbers(whole=True), OLD, minutes)[:3] == (2.0, 1.0, 4.0)
    assert scale.usual(of(0.01), numbers(False, quantum=0.5), OLD, minutes).change[0] == pytest.approx(0.25 / np.sqrt(5))
    assert scale.usual(of(0.01, spread=2.0), numbers(False), OLD, minutes).spell[0] == pytest.approx(0.1)


def test_whole_numbers_that_vary_less_are_no_counts():
    assert not scale.counts(of(0.1), numbers(whole=True), OLD)[0]
    assert usual(of(0.1), numbers(whole=True), OLD) == pytest.approx(0.1)
    assert scale.counts(of(0.0), numbers(whole=True), np.array([3.0]))[0]


def test_half_a_step_and_a_twentieth_of_the_spread_are_floors():
    assert usual(of(0.01), numbers(False, quantum=0.5), OLD) == 0.25
    assert usual(of(0.01, spread=2.0), numbers(False), OLD) == pytest.approx(0.1)


def test_errors_are_clipped_once_a_service_is_no_longer_young():
    errors, scales = np.array([50.0, -50.0, 1.0]), np.array([2.0, 2.0, 2.0])
    assert scale.clipped(errors, scales, np.full(3, 100.0)).tolist() == [8, -8, 1]
    assert scale.clipped(errors, scales, np.full(3, 2.0)).tolist() == errors.tolist()
    assert scale.clipped(np.array([[9.0, -9.0]]), np.array([1.0]), OLD).tolist() == [[4, -4]]


def test_an_incident_of_four_hours_leaves_the_band_as_it_was():
    values = days(35)
    broken = values.copy()
    broken[48 * 28 + 20 : 48 * 28 + 28] = 0
    (_, whole), (_, hurt) = walk(values), walk(broken)
    later = slice(48 * 30, None)
    assert np.median(np.abs(hurt.high[later] / whole.high[later] - 1)) < 0.03
    assert np.abs(hurt.high[later] / whole.high[later] - 1).max() < 0.2
    assert np.abs(hurt.expected[later] / whole.expected[later] - 1).mean() < 0.02


def test_a_scale_in_roots_becomes_one_in_the_unit_of_the_readings():
    after = scale.squared(of(0.5, mean=10, spread=0.2), np.array([10.0]), np.array([True]))
    assert (after.error[0], after.spell[0], after.change[0]) == pytest.approx((10, 5, 20))
    assert after.mean[0] == pytest.approx(100.04)
    assert np.sqrt(after.square - after.mean**2)[0] == pytest.approx(4.0)


def test_the_scale_is_a_mean_absolute_error_as_a_standard_deviation():
    found, pace, none = scale.new_scale(1), Pace(1800), np.zeros(1)
    errors = np.random.default_rng(3).normal(0, 2, 300)
    for seen, error in enumerate(errors):
        lessons = scale.Usual(np.array([error]), np.array([error / 2]), none)
        found = scale.widened(found, none, lessons, np.array([float(seen)]), np.array([True]), pace)
    assert found.error[0] == pytest.approx(1.2533 * np.abs(errors).mean(), rel=0.01)
    assert found.error[0] == pytest.approx(2, rel=0.15)
    assert found.spell[0] == pytest.approx(found.error[0] / 2)
