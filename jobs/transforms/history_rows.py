"""History: one row for each reading, (ServiceName, Timestamp), with the local date and slot that it belongs to."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.transforms import local_time

COLUMNS = {
    "ServiceName": "string",
    "Timestamp": "timestamp",
    "Value": "long",
    "KafkaPartition": "int",
    "KafkaOffset": "long",
    "KafkaTimestamp": "timestamp",
    "Slot": "int",
    "Date": "date",
}


def placed(readings: DataFrame, timezone: str, interval_seconds: int) -> DataFrame:
    """Readings (ServiceName, Timestamp, Value, KafkaPartition, KafkaOffset, KafkaTimestamp) as rows of history: COLUMNS, that is
    with Date and Slot."""
    known = readings.withColumn("_wall", local_time.wall_clock(F.col("Timestamp"), timezone))
    wall = F.col("_wall")
    there = known.withColumn("Date", local_time.local_date(wall)).withColumn("Slot", local_time.slot(wall, interval_seconds))
    return there.select(*(F.col(name).cast(kind) for name, kind in COLUMNS.items()))


def latest(rows: DataFrame, files: int) -> DataFrame:
    """One row for each reading, the one that the broker took last, as it is a correction of the others; laid out in about that
    many partitions, each holding whole services of a date, sorted by Date, ServiceName and Timestamp.

    The broker's time comes first, as offsets compare within one partition of one topic only: a key changes its partition when
    partitions are added, and a topic that is made anew counts from 0. Captures have no time, nor have rows of older releases.
    """
    newest = F.col("KafkaTimestamp").desc_nulls_last(), F.col("KafkaOffset").desc(), F.col("Value")
    same = Window.partitionBy("Date", "ServiceName", "Timestamp").orderBy(*newest)
    laid_out = rows.repartitionByRange(files, "Date", "ServiceName")
    return laid_out.withColumn("_rank", F.row_number().over(same)).where("_rank = 1").drop("_rank")
