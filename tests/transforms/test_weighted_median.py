import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.weighted_median import weighted_median

NAN = float("nan")


def of(values, weights):
    return float(weighted_median(np.array(values, float), np.array(weights, float)))


def test_each_value_stands_in_the_middle_of_its_weight():
    # Widths 1, 2 and 5 of 8: they stand at 0.5, 2 and 5.5, and the half is at 4: 2/3.5 of the way from 20 to 30.
    assert of([30, 10, 20], [5, 1, 2]) == pytest.approx(20 + 10 * 2 / 3.5)
    assert of([10, 20], [1, 1]) == 15.0
    assert of([10, 20], [3, 1]) == pytest.approx(12.5)


def test_what_counts_nothing_is_as_if_it_were_not_there():
    assert of([7, NAN, 1000, 9], [1, 1, 0, 1]) == 8.0
    assert of([7, 1000], [1, 0]) == 7.0
    assert np.isnan(of([NAN, 5], [1, 0]))
    assert np.isnan(of([], []))


def test_the_median_is_over_the_last_axis():
    found = weighted_median(np.array([[1.0, 2, 9], [4, NAN, 6]]), np.ones((2, 3)))
    assert found.tolist() == [2.0, 5.0]


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=13), st.sampled_from([0.5, 1.0, 4.0]))
def test_with_equal_weights_it_is_the_usual_median(values, weight):
    assert of(values, [weight] * len(values)) == np.median(values)


PAIRS = st.lists(st.tuples(st.integers(-1000, 1000), st.integers(1, 9)), min_size=1, max_size=12, unique_by=lambda pair: pair[0])


@given(PAIRS, st.randoms())
def test_neither_order_nor_unit_of_the_weights_matters(pairs, random):
    values, weights = zip(*pairs, strict=True)
    shuffled = random.sample(pairs, len(pairs))
    median = of(values, weights)
    assert min(values) <= median <= max(values)
    assert of(*zip(*shuffled, strict=True)) == pytest.approx(median, abs=1e-9)
    assert of(values, [weight * 8 for weight in weights]) == pytest.approx(median, abs=1e-9)
