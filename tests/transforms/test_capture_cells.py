"""Cells of every type that may hold a time or a value."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import types as T

from contracts import captures
from jobs.transforms import capture_cells as cells

PLACE = ["'' File", "0L Block", "0L Line", "CAST(NULL AS string) Broken", "CAST(NULL AS date) Folder"]
HALF_PAST = dt.datetime(2024, 5, 1, 5, 30, 0, 250_000)


@pytest.mark.parametrize(
    ("kind", "unit", "time"),
    [
        (T.LongType(), "s", 1714541400),
        (T.DoubleType(), "s", 1714541400.2501),
        (T.StringType(), "s", " 1714541400.25 "),
        (T.IntegerType(), "s", 1714541400),
        (T.LongType(), "ms", 1714541400250),
        (T.DecimalType(20, 0), "us", Decimal(1714541400250999)),
        (T.LongType(), "ns", 1714541400250999999),
        (T.TimestampType(), None, HALF_PAST),
        (T.TimestampNTZType(), None, HALF_PAST - dt.timedelta(hours=5)),
    ],
)
def test_a_time_is_one_instant_in_every_type_and_unit(spark, kind, unit, time):
    schema = T.StructType([T.StructField("TimeCell", kind)])
    rows = spark.createDataFrame([(time,), (None,)], schema).selectExpr("TimeCell", "'a' ServiceCell", "'1' ValueCell", *PLACE)
    good, null = cells.readings(rows, "America/Chicago", unit, "UTC").collect()
    expected = HALF_PAST.replace(microsecond=0) if time == 1714541400 else HALF_PAST
    assert (good.Timestamp, good.Good) == (expected, True)
    assert (null.Timestamp, null.NoTime, null.Good) == (None, True, False)


WHOLE = {  # by type: what stands there, and what it is read as
    "smallint": {"7": 7, "0": 0, "-1": None},
    "bigint": {str(2**62): 2**62},
    "double": {"12.0": 12, "12.5": None, "NaN": None, "1e300": None},
    "decimal(20,0)": {"12": 12, str(2**64 - 1): None},
    "decimal(10,2)": {"12.00": 12, "12.01": None},
    "string": {" +12.00 ": 12, "12.5": None, "1e3": None, "9" * 19: None, "": None, "-0": None},
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_value_is_a_whole_number_of_0_or_more(spark, kind):
    values = ", ".join(f"CAST('{value}' AS {kind})" for value in WHOLE[kind])
    rows = spark.range(1).selectExpr(f"explode(array({values})) ValueCell", "'2024-05-01' TimeCell", "'a' ServiceCell", *PLACE)
    read = [(row.Value, row.NoValue) for row in cells.readings(rows, "UTC", None, "UTC").collect()]
    assert read == [(whole, whole is None) for whole in WHOLE[kind].values()]


def test_every_unit_that_can_be_named_can_be_counted_in():
    assert tuple(cells.UNITS) == captures.UNITS
