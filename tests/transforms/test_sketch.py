"""Percentiles are within the sketch's bound of the exact ones, whatever the numbers, and bins are DDSketch's."""

import math
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.transforms import sketch

numbers = st.floats(allow_nan=False, allow_infinity=False)
shares = np.array([0.0, 0.25, 0.5, 0.9, 0.99, 1.0])


def counted(values: list[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(sketch.bins(np.array(values)), return_counts=True)


@given(st.lists(numbers, min_size=1, max_size=200))
@example([sys.float_info.max, -sys.float_info.max, 1.77e308, -1.7e308])
def test_every_percentile_is_within_the_accuracy_of_the_exact_one(values):
    exact = np.percentile(np.array(values), shares * 100, method="lower")
    tiny = np.finfo(float).tiny
    for found, true in zip(sketch.percentiles(*counted(values), shares), exact, strict=True):
        assert math.isclose(found, true, rel_tol=sketch.ACCURACY * (1 + 1e-9), abs_tol=tiny)


@given(st.lists(numbers, min_size=2, max_size=50), st.randoms())
def test_bins_are_in_the_order_of_their_numbers(values, random):
    values.sort()
    assert (np.diff(sketch.bins(np.array(values))) >= 0).all()


@pytest.mark.parametrize(("number", "k"), [(1.0, 0), (1.01, 1), (1.02, 1), (1.03, 2), (0.99, 0), (100.0, 231), (1e-9, -1036)])
def test_bins_are_those_of_the_paper(number, k):
    """Bin k holds (g^(k-1), g^k]."""
    g = 1.01 / 0.99
    assert g ** (k - 1) < number <= g**k
    assert sketch.bins(np.array([number, -number, 0.0])).tolist() == [40_000 + k, -(40_000 + k), 0]
