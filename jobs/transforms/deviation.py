"""How far a reading is from what was to be expected, and whether that breaks the feed's rule. Used by batch and stream alike."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def expected(last4avg: Column, growth: Column) -> Column:
    """Last4Avg * Growth, in the unit of Value (double). Where the feed does not grow, Growth is 1: Last4Avg, bit for bit."""
    return last4avg * growth


def predicted_diff(value: Column, expected: Column) -> Column:
    """Value - Expected, in the unit of Value (double); null without a baseline."""
    return value - expected


def predicted_pct(value: Column, expected: Column) -> Column:
    """100 * Value / Expected (double); null without a baseline or where Expected is zero."""
    return F.when(expected != 0, F.lit(100.0) * value / expected)


def anomalous(
    value: Column,
    expected: Column,
    spread_value: Column,
    percent: float | None = None,
    spread: float | None = None,
    minimum: float | None = None,
) -> Column:
    """Whether a reading breaks the rule (boolean, never null): every condition that is on must hold.

    percent: abs(100 * Value / Expected - 100) > percent; where Expected is zero, any other value is past every percentage.
    spread:  abs(PredictedDiff) > spread * Spread, Spread being the robust standard deviation; unknown spread: not anomalous.
    minimum: the greater of Value and Expected is at least this.
    """
    conditions = [expected.isNotNull()]
    if percent is not None:
        beyond = F.abs(predicted_pct(value, expected) - 100) > percent
        conditions.append(F.when(expected == 0, value != 0).otherwise(beyond))
    if spread is not None:
        conditions.append(F.abs(predicted_diff(value, expected)) > spread * spread_value)
    if minimum is not None:
        conditions.append(F.greatest(value.cast("double"), expected) >= minimum)
    holds = conditions[0]
    for condition in conditions[1:]:
        holds = holds & condition
    return F.coalesce(holds, F.lit(False))
