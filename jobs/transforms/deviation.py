"""How far a reading is from what was to be expected, and whether that breaks the feed's rule. Used by batch and stream alike."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def predicted_diff(value: Column, last4avg: Column) -> Column:
    """Value - Last4Avg, in the unit of Value (double); null without a baseline."""
    return value - last4avg


def predicted_pct(value: Column, last4avg: Column) -> Column:
    """100 * Value / Last4Avg (double); null without a baseline or where Last4Avg is zero."""
    return F.when(last4avg != 0, F.lit(100.0) * value / last4avg)


def anomalous(
    value: Column,
    last4avg: Column,
    spread_value: Column,
    percent: float | None = None,
    spread: float | None = None,
    minimum: float | None = None,
) -> Column:
    """Whether a reading breaks the rule (boolean, never null): every condition that is on must hold.

    percent: abs(PredictedPct - 100) > percent; where Last4Avg is zero, any other value is past every percentage.
    spread:  abs(PredictedDiff) > spread * Spread, Spread being the robust standard deviation; unknown spread: not anomalous.
    minimum: the greater of Value and Last4Avg is at least this.
    """
    conditions = [last4avg.isNotNull()]
    if percent is not None:
        beyond = F.abs(predicted_pct(value, last4avg) - 100) > percent
        conditions.append(F.when(last4avg == 0, value != 0).otherwise(beyond))
    if spread is not None:
        conditions.append(F.abs(predicted_diff(value, last4avg)) > spread * spread_value)
    if minimum is not None:
        conditions.append(F.greatest(value.cast("double"), last4avg) >= minimum)
    holds = conditions[0]
    for condition in conditions[1:]:
        holds = holds & condition
    return F.coalesce(holds, F.lit(False))
