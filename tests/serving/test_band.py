"""The band is exactly what the rule lets pass."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contracts.feeds import Rule
from jobs.transforms.deviation import breaks_rule, predicted_pct
from serving.band import band


@pytest.mark.parametrize(
    ("rule", "average", "spread", "expected"),
    [
        (Rule(percent=5), 100.0, np.nan, (95.0, 105.0)),
        (Rule(percent=None, spread=3), 100.0, 4.0, (88.0, 112.0)),
        (Rule(percent=5, spread=3), 100.0, 4.0, (88.0, 112.0)),  # both must be broken: the wider one counts
        (Rule(percent=20, spread=3), 100.0, 4.0, (80.0, 120.0)),
        (Rule(percent=5, minimum=20), 10.0, np.nan, (0.0, 20.0)),  # a reading below the minimum is never flagged
        (Rule(percent=300, minimum=20), 10.0, np.nan, (0.0, 40.0)),
        (Rule(percent=5, minimum=20), 20.0, np.nan, (19.0, 21.0)),  # the average reaches the minimum: it asks nothing more
        (Rule(percent=5, spread=6), 1.0, 1.0, (0.0, 7.0)),  # counts end at zero
        (Rule(percent=5), 0.0, np.nan, (0.0, 0.0)),
    ],
)
def test_band_is_the_widest_that_a_condition_lets_pass(rule, average, spread, expected):
    assert band(rule, average, spread) == pytest.approx(expected)


def test_there_is_no_band_where_nothing_can_be_flagged():
    assert np.isnan(band(Rule(percent=5, minimum=20), np.nan, np.nan)).all()
    unknown_spread = band(Rule(percent=5, spread=6, minimum=200), np.array([100.0]), np.array([np.nan]))
    assert np.isnan(unknown_spread).all(), "the spread condition never holds"


def flagged(rule: Rule, value: int, average: float, spread: float) -> bool:
    """The rule as declared, condition by condition."""
    beyond = value != 0 if average == 0 else abs(100 * value / average - 100) > (rule.percent or 0)
    return (
        (rule.percent is None or beyond)
        and (rule.spread is None or abs(value - average) > rule.spread * spread)
        and (rule.minimum is None or max(value, average) >= rule.minimum)
    )


numbers = st.floats(0, 1e6, allow_subnormal=False)


@given(
    percent=st.none() | st.floats(0, 500),
    spread=st.none() | st.floats(0.1, 20),
    minimum=st.none() | st.integers(0, 1000),
    value=st.integers(0, 2_000_000),
    average=numbers,
    deviation=numbers,
)
def test_a_value_is_flagged_exactly_outside_the_band(percent, spread, minimum, value, average, deviation):
    assume(percent is not None or spread is not None)
    rule = Rule(percent=percent, spread=spread, minimum=minimum)
    low, high = band(rule, average, deviation)
    assume(
        abs(value - low) > 1e-6 * max(low, 1) and abs(value - high) > 1e-6 * max(high, 1)
    )  # beside the edges, where rounding decides
    assert flagged(rule, value, average, deviation) == (value < low or value > high)


@given(
    percent=st.none() | st.floats(0, 500),
    spread=st.none() | st.floats(0.1, 20),
    minimum=st.none() | st.integers(0, 1000),
    value=st.integers(0, 2_000_000),
    average=st.just(0.0) | numbers,
    deviation=numbers,
)
def test_arrays_are_judged_by_the_formula_of_the_streams(percent, spread, minimum, value, average, deviation):
    assume(percent is not None or spread is not None)
    rule = Rule(percent=percent, spread=spread, minimum=minimum)
    values, averages, deviations = (np.array([each, each]) for each in (value, average, deviation))
    averages[1] = np.nan
    with np.errstate(all="ignore"):
        pct = np.where(averages != 0, predicted_pct(values, averages), np.nan)
        broken = breaks_rule(values, averages, deviations, pct, **rule.conditions)
    assert broken.tolist() == [flagged(rule, value, average, deviation), False]
