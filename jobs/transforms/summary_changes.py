"""Summaries that were computed again, beside those that are known: which of them have changed."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

PLACE = ["Key", "WindowStart"]  # identifies a summary
EXACT = ["Count", "Min", "Max", "Bins", "Counts"]  # of a summary; its percentiles follow from these
ROUNDING = 1e-9  # by which average and variance may differ, as parts that are merged in another order do


def beside(found: DataFrame, known: DataFrame) -> DataFrame:
    """Rows with the known summary of the same PLACE as `_known`, or null."""
    return found.join(known.select(*PLACE, F.struct("*").alias("_known")), PLACE, "left")


def differs() -> Column:
    """Whether a row that is `beside` a known summary differs from it; true without one."""
    known, size = F.col("_known"), F.greatest(F.abs("Min"), F.abs("Max"))
    same = F.abs(known["Average"] - F.col("Average")) <= ROUNDING * size
    same &= F.abs(known["Variance"] - F.col("Variance")) <= ROUNDING * size * size
    for name in EXACT:
        same &= known[name] == F.col(name)
    return ~F.coalesce(same, F.lit(False))
