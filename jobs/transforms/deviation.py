"""How far a reading is from what was to be expected, and whether that breaks the feed's rule. Used by batch and stream alike."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.transforms import rule


def expected(last4avg: Column, growth: Column) -> Column:
    """Last4Avg * Growth, in the unit of Value (double). Where the feed does not grow, Growth is 1: Last4Avg, bit for bit."""
    return last4avg * growth


def predicted_diff(value: Column, expected: Column) -> Column:
    """Value - Expected, in the unit of Value (double); null without a baseline."""
    return value - expected


def predicted_pct(value: Column, expected: Column) -> Column:
    """100 * Value / Expected (double); null without a baseline or where Expected is zero."""
    return F.when(expected != 0, rule.percent_of(value, expected))


def anomalous(
    value: Column,
    expected: Column,
    spread_value: Column,
    percent: float | None = None,
    spread: float | None = None,
    minimum: float | None = None,
) -> Column:
    """Whether a reading breaks the rule (boolean, never null): every condition that is on must hold, as `rule.broken` says."""
    holds = rule.broken(value, expected, spread_value, predicted_pct(value, expected), percent, spread, minimum)
    return F.coalesce(holds, F.lit(False))
