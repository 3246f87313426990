"""The baseline of normal: Last4Avg and a robust spread by service, day type and slot, packed as arrays by slot."""

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.transforms import calendar

MINIMUM_SAMPLES = 2
COLUMNS = {"Last4Avg": "double", "Samples": "int", "Spread": "double"}
# Median absolute deviation to standard deviation for normally distributed residuals: 1 / quantile(3/4) of the standard
# normal distribution (Rousseeuw and Croux 1993, "Alternatives to the Median Absolute Deviation").
MAD_TO_SIGMA = 1.4826022185056018


def readings_by_slot(history: DataFrame, timezone: str, interval_seconds: int, holidays: list[dt.date]) -> DataFrame:
    """History (ServiceName, Timestamp, Value, Date) with DayType int and Slot int; Date is already the local date."""
    wall = calendar.wall_clock(F.col("Timestamp"), timezone)
    return history.select(
        "ServiceName",
        "Date",
        "Value",
        calendar.day_type(F.col("Date"), holidays).alias("DayType"),
        calendar.slot(wall, interval_seconds).alias("Slot"),
    )


def build(placed: DataFrame, slots: int, spread_window: int) -> DataFrame:
    """One row per (ServiceName, DayType) from the readings of the dates that count (see `readings_by_slot`).

    Last4Avg[slot]: mean of the values; Samples[slot]: how many; both null below two samples: no baseline.
    Spread[slot]: 1.4826 x median of the residuals abs(Value - Last4Avg) * sqrt(n / (n - 1)), pooled over the
      `spread_window` slots of its window, so that four samples a slot suffice; the root undoes the mean's own fit.
    Dates: the local dates that contributed, ascending.
    """
    per_slot = placed.groupBy("ServiceName", "DayType", "Slot").agg(
        F.avg("Value").alias("Last4Avg"),
        F.count("Value").cast("int").alias("Samples"),
        F.collect_list("Value").alias("_values"),
    )
    known = per_slot.where(F.col("Samples") >= MINIMUM_SAMPLES).withColumn(
        "_window", F.call_function("div", F.col("Slot"), F.lit(spread_window))
    )
    packed = _pack(known.join(_spread(known), on=["ServiceName", "DayType", "_window"], how="left"), slots)
    dates = placed.groupBy("ServiceName", "DayType").agg(F.array_sort(F.collect_set("Date")).alias("Dates"))
    return dates.join(packed, on=["ServiceName", "DayType"], how="left").select(
        "ServiceName", "DayType", *(_or_empty(name, slots) for name in COLUMNS), "Dates"
    )


def _spread(known: DataFrame) -> DataFrame:
    residual = F.abs(F.col("_value") - F.col("Last4Avg")) * F.sqrt(F.col("Samples") / (F.col("Samples") - 1))
    return (
        known.select("ServiceName", "DayType", "_window", "Last4Avg", "Samples", F.explode("_values").alias("_value"))
        .groupBy("ServiceName", "DayType", "_window")
        .agg((F.lit(MAD_TO_SIGMA) * F.median(residual)).alias("Spread"))
    )


def _pack(known: DataFrame, slots: int) -> DataFrame:
    """Rows by slot to arrays by slot; a slot without a row becomes a null element."""
    cell = F.struct(F.col("Slot").cast("int").alias("Slot"), "Last4Avg", "Samples", "Spread")
    found = known.groupBy("ServiceName", "DayType").agg(F.collect_list(cell).alias("_found"))
    empty = F.array_except(F.sequence(F.lit(0), F.lit(slots - 1)), F.col("_found.Slot"))
    nothing = (F.lit(None).cast(kind).alias(name) for name, kind in COLUMNS.items())
    gaps = F.transform(empty, lambda slot: F.struct(slot.alias("Slot"), *nothing))
    cells = found.select("ServiceName", "DayType", F.array_sort(F.concat("_found", gaps)).alias("_cells"))
    return cells.select("ServiceName", "DayType", *(F.col("_cells")[name].alias(name) for name in COLUMNS))


def _or_empty(name: str, slots: int):
    return F.coalesce(F.col(name), F.array_repeat(F.lit(None).cast(COLUMNS[name]), slots)).alias(name)
