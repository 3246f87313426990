"""Readings beside the baseline. The same function scores a batch of history and a live stream."""

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.transforms import calendar, deviation

SECONDS_PER_DAY = 86_400


def score(
    readings: DataFrame,
    baseline: DataFrame,
    timezone: str,
    interval_seconds: int,
    holidays: list[dt.date],
    rule: dict[str, float | None],
) -> DataFrame:
    """All columns of `readings` (ServiceName, Timestamp, Value and others), one row out for each in, with
    DayType int, Slot int, Last4Avg, Expected, Spread, PredictedDiff, PredictedPct (double, null without a baseline), Anomalous.

    baseline: packed, one row per (ServiceName, DayType): Last4Avg by slot, Spread by window of slots, Growth; it is broadcast.
    rule: percent, spread, minimum as in `deviation.anomalous`.
    """
    wall = readings.withColumn("_wall", calendar.wall_clock(F.col("Timestamp"), timezone))
    placed = wall.select(
        *readings.columns,
        calendar.day_type(calendar.local_date(F.col("_wall")), holidays).alias("DayType"),
        calendar.slot(F.col("_wall"), interval_seconds).alias("Slot"),
    )
    expected = baseline.select(
        F.col("ServiceName").alias("_service"),
        F.col("DayType").alias("_day_type"),
        F.col("Last4Avg").alias("_averages"),
        F.col("Spread").alias("_spreads"),
        F.col("Growth").alias("_growth"),
    )
    slots = SECONDS_PER_DAY // interval_seconds
    window = F.call_function("div", F.col("Slot") * F.size("_spreads"), F.lit(slots)).cast("int")
    here = (F.col("ServiceName") == F.col("_service")) & (F.col("DayType") == F.col("_day_type"))
    joined = placed.join(F.broadcast(expected), on=here, how="left").select(
        *placed.columns,
        F.get("_averages", F.col("Slot")).alias("Last4Avg"),
        deviation.expected(F.get("_averages", F.col("Slot")), F.col("_growth")).alias("Expected"),
        F.when(F.get("_averages", F.col("Slot")).isNotNull(), F.get("_spreads", window)).alias("Spread"),
    )
    value, normal, spread = F.col("Value"), F.col("Expected"), F.col("Spread")
    return joined.select(
        *joined.columns,
        deviation.predicted_diff(value, normal).alias("PredictedDiff"),
        deviation.predicted_pct(value, normal).alias("PredictedPct"),
        deviation.anomalous(value, normal, spread, **rule).alias("Anomalous"),
    )
