"""Taxi rides counted and summed in tumbling windows."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def rides_per_vendor_minute(inputs: dict[str, DataFrame]) -> DataFrame:
    """VendorID int, WindowStart timestamp, Rides long, TotalAmount double (dollars) of each vendor and minute of RowTime."""
    windows = inputs["rides"].groupBy("VendorID", F.window("RowTime", "1 minute").alias("Window"))
    # As decimals, so that the sum does not depend on the order in which the rides came.
    total = F.sum(F.col("total_amount").cast("decimal(12,2)")).cast("double")
    summed = windows.agg(F.count(F.lit(1)).alias("Rides"), total.alias("TotalAmount"))
    return summed.select("VendorID", F.col("Window.start").alias("WindowStart"), "Rides", "TotalAmount")
