"""History: one row for each reading, (ServiceName, Timestamp), with the local date and slot that it belongs to."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.transforms import calendar

COLUMNS = {
    "ServiceName": "string",
    "Timestamp": "timestamp",
    "Value": "long",
    "KafkaPartition": "int",
    "KafkaOffset": "long",
    "Slot": "int",
    "Date": "date",
}


def placed(readings: DataFrame, timezone: str, interval_seconds: int) -> DataFrame:
    """Readings (ServiceName, Timestamp, Value, KafkaPartition, KafkaOffset) as rows of history: COLUMNS, with Date and Slot."""
    known = readings.withColumn("_wall", calendar.wall_clock(F.col("Timestamp"), timezone))
    wall = F.col("_wall")
    there = known.withColumn("Date", calendar.local_date(wall)).withColumn("Slot", calendar.slot(wall, interval_seconds))
    return there.select(*(F.col(name).cast(kind) for name, kind in COLUMNS.items()))


def latest(rows: DataFrame, files: int) -> DataFrame:
    """One row for each reading, that of the highest offset, as it is a correction of the others; laid out in about that many
    partitions, each holding whole services of a date, sorted by Date, ServiceName and Timestamp.
    """
    same = Window.partitionBy("Date", "ServiceName", "Timestamp").orderBy(F.col("KafkaOffset").desc(), F.col("Value"))
    laid_out = rows.repartitionByRange(files, "Date", "ServiceName")
    return laid_out.withColumn("_rank", F.row_number().over(same)).where("_rank = 1").drop("_rank")
