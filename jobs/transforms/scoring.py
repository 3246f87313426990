"""Readings beside the baseline. The same function scores a batch of history and a live stream."""

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.transforms import calendar, deviation


def score(
    readings: DataFrame,
    baseline: DataFrame,
    timezone: str,
    interval_seconds: int,
    holidays: list[dt.date],
    rule: dict[str, float | None],
) -> DataFrame:
    """All columns of `readings` (ServiceName, Timestamp, Value and others), one row out for each in, with
    DayType int, Slot int, Last4Avg, Spread, PredictedDiff, PredictedPct (double, null without a baseline) and Anomalous.

    baseline: packed, one row per (ServiceName, DayType) with Last4Avg and Spread as arrays by slot; small, it is broadcast.
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
    )
    here = (F.col("ServiceName") == F.col("_service")) & (F.col("DayType") == F.col("_day_type"))
    joined = placed.join(F.broadcast(expected), on=here, how="left").select(
        *placed.columns,
        F.get("_averages", F.col("Slot")).alias("Last4Avg"),
        F.get("_spreads", F.col("Slot")).alias("Spread"),
    )
    value, average, spread = F.col("Value"), F.col("Last4Avg"), F.col("Spread")
    return joined.select(
        *joined.columns,
        deviation.predicted_diff(value, average).alias("PredictedDiff"),
        deviation.predicted_pct(value, average).alias("PredictedPct"),
        deviation.anomalous(value, average, spread, **rule).alias("Anomalous"),
    )
