"""What the gate looks at: a few figures for each (ServiceName, DayType) of a candidate, beside the baseline in force."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def profile(candidate: DataFrame, in_force: DataFrame, moved_percent: float) -> DataFrame:
    """One row for each (ServiceName, DayType) of either packed baseline:

    Lost boolean: in force, but not in the candidate. And of the candidate, null where lost:
    Slots int: length of the arrays. CoveredShare double: share of the slots with a baseline, 0 to 1.
    Finite boolean: no average or spread is NaN or infinite. Lowest double: least average. LowestSpread double: least spread.
    MovedShare double: share of the slots with a baseline in both whose average moved by more than `moved_percent` %; null where
      there is none in force to compare with.
    """
    new, old = F.col("new.Last4Avg"), F.col("old.Last4Avg")
    same = ["ServiceName", "DayType"]
    both = candidate.withColumn("Present", F.lit(True)).alias("new").join(in_force.alias("old"), on=same, how="full")
    compared = F.zip_with(new, old, lambda after, before: _moved(after, before, moved_percent))
    return both.select(
        *same,
        F.col("Present").isNull().alias("Lost"),
        F.size(new).alias("Slots"),
        (_count(new, F.isnotnull) / F.size(new)).alias("CoveredShare"),
        (_finite(new) & _finite(F.col("new.Spread"))).alias("Finite"),
        F.array_min(new).alias("Lowest"),
        F.array_min("new.Spread").alias("LowestSpread"),
        F.try_divide(_count(compared, lambda moved: moved), _count(compared, F.isnotnull)).alias("MovedShare"),
    )


def _moved(after: Column, before: Column, percent: float) -> Column:
    return F.abs(after - before) > percent / 100 * F.abs(before)


def _count(array: Column, holds) -> Column:
    return F.size(F.filter(array, holds))


def _finite(array: Column) -> Column:
    return F.forall(array, lambda x: x.isNull() | (~F.isnan(x) & (F.abs(x) < float("inf"))))
