"""Readings beside the baseline. The same function scores a batch of history and a live stream."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.transforms import deviation, local_time

SECONDS_PER_DAY = 86_400


def columns(rule: dict[str, Any]) -> list[str]:
    """What scoring needs of a packed baseline; the robust normal, which is large, only where the rule goes by it."""
    plain = ["ServiceName", "DayType", "Last4Avg", "Spread", "Growth"]
    return [*plain, "Level", "Scale"] if rule["normal"] == "robust" else plain


def score(
    readings: DataFrame,
    baseline: DataFrame,
    timezone: str,
    interval_seconds: int,
    day_types: Mapping[dt.date, int],
    rule: dict[str, Any],
) -> DataFrame:
    """All columns of `readings` (ServiceName, Timestamp, Value and others), one row out for each in, with
    DayType int, Slot int, Last4Avg, Expected, Spread, Level, Scale, PredictedDiff, PredictedPct (double, null without a
    baseline), Anomalous.

    baseline: `columns(rule)` of a packed one, one row per (ServiceName, DayType): Last4Avg, Level and Scale by slot, Spread by
    window of slots, Growth; it is broadcast.
    day_types: of dates that have another one than their weekday, as of `local_time.day_type`.
    rule: `normal`, and percent, spread, minimum as in `deviation.breaks_rule`. Plain: Expected and Spread are judged by; Level
    and Scale are null. Robust: Level and Scale are judged by.
    """
    robust = rule["normal"] == "robust"
    conditions = {name: condition for name, condition in rule.items() if name != "normal"}
    wall = readings.withColumn("_wall", local_time.wall_clock(F.col("Timestamp"), timezone))
    placed = wall.select(
        *readings.columns,
        local_time.day_type(local_time.local_date(F.col("_wall")), day_types).alias("DayType"),
        local_time.slot(F.col("_wall"), interval_seconds).alias("Slot"),
    )
    expected = baseline.select(*(F.col(name).alias(f"_{name}") for name in columns(rule)))
    slots = SECONDS_PER_DAY // interval_seconds
    window = F.call_function("div", F.col("Slot") * F.size("_Spread"), F.lit(slots)).cast("int")
    here = (F.col("ServiceName") == F.col("_ServiceName")) & (F.col("DayType") == F.col("_DayType"))
    average = F.get("_Last4Avg", F.col("Slot"))

    def of_slot(name: str) -> Column:
        """Null where there is no baseline, whatever the robust normal knows."""
        return F.when(average.isNotNull(), F.get(f"_{name}", F.col("Slot"))) if robust else F.lit(None).cast("double")

    joined = placed.join(F.broadcast(expected), on=here, how="left").select(
        *placed.columns,
        average.alias("Last4Avg"),
        deviation.expected(average, F.col("_Growth")).alias("Expected"),
        F.when(average.isNotNull(), F.get("_Spread", window)).alias("Spread"),
        of_slot("Level").alias("Level"),
        of_slot("Scale").alias("Scale"),
    )
    value, normal = F.col("Value"), F.col("Expected")
    center, scale = ("Level", "Scale") if robust else ("Expected", "Spread")
    return joined.select(
        *joined.columns,
        deviation.predicted_diff(value, normal).alias("PredictedDiff"),
        predicted_pct(value, normal).alias("PredictedPct"),
        anomalous(value, F.col(center), F.col(scale), **conditions).alias("Anomalous"),
    )


def predicted_pct(value: Column, expected: Column) -> Column:
    """`deviation.predicted_pct`; null without a baseline or where Expected is zero."""
    return F.when(expected != 0, deviation.predicted_pct(value, expected))


def anomalous(value: Column, expected: Column, scale: Column, **conditions: float | None) -> Column:
    """Whether a reading breaks the rule (boolean, never null). conditions: as in `deviation.breaks_rule`."""
    pct = predicted_pct(value, expected)
    return F.coalesce(deviation.breaks_rule(value, expected, scale, pct, **conditions), F.lit(False))
