"""How far a reading is from what was expected, and whether that breaks the feed's rule: the one definition of an anomaly.

Written with operators alone, so it takes columns of Spark (`scoring`) and arrays of NumPy (serving, for readings that only
history has). Unknown is null in a column, NaN in an array.
"""

from typing import Any


def expected(last4avg: Any, growth: Any) -> Any:
    """Last4Avg * Growth, in the unit of Value (double). Where the feed does not grow, Growth is 1: Last4Avg, bit for bit."""
    return last4avg * growth


def predicted_diff(value: Any, expected: Any) -> Any:
    """Value - Expected, in the unit of Value (double); unknown without a baseline."""
    return value - expected


def predicted_pct(value: Any, expected: Any) -> Any:
    """100 * Value / Expected, in percent (double). Where Expected is zero, the caller has to make it unknown."""
    return 100.0 * value / expected


def breaks_rule(
    value: Any,
    expected: Any,
    spread_value: Any,
    pct: Any,
    percent: float | None = None,
    spread: float | None = None,
    minimum: float | None = None,
) -> Any:
    """Whether every condition that is on holds. Where it cannot be known: false in an array, null in a column.

    value: whole numbers. expected, spread_value: doubles. pct: `predicted_pct` of them, unknown where Expected is zero.
    percent: abs(pct - 100) > percent; where Expected is zero, any other value is past every percentage.
    spread:  abs(Value - Expected) > spread * Spread, Spread being the robust standard deviation; unknown spread: does not hold.
    minimum: the greater of Value and Expected is at least this.
    """
    conditions = [expected == expected]  # NaN does not equal itself, and null is null
    if percent is not None:
        off = pct - 100
        conditions.append((off > percent) | (off < -percent) | ((expected == 0) & (value != 0)))
    if spread is not None:
        off = value - expected
        conditions.append((off > spread * spread_value) | (off < -spread * spread_value))
    if minimum is not None:
        conditions.append((value >= minimum) | (expected >= minimum))
    holds = conditions[0]
    for condition in conditions[1:]:
        holds = holds & condition
    return holds
