"""Cells of every type that may hold a time or a value."""

import datetime as dt
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T

from contracts import captures
from contracts.time_formats import TimeFormat
from jobs.formats.iso_times import iso_text as spark_text
from jobs.transforms import capture_cells as cells
from sources.columns import iso_text, scaled, text_times

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
    "double": {"12.0": 12, "12.5": None, "1e300": None},
    "decimal(20,0)": {"12": 12, str(2**64 - 1): None},
    "decimal(10,2)": {"12.00": 12, "12.01": None},
    "string": {" +12.00 ": 12, "12.5": None, "1e3": None, "9" * 19: None, "many": None, "-0": None},
}
GAPS = {  # by type: what is no value
    "bigint": ["NULL"],
    "double": ["NULL", "'NaN'"],
    "string": ["NULL", "''", "' '", "'NaN'", "'n/a'", "'NULL'"],
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_value_is_a_whole_number_of_0_or_more(spark, kind):
    values = ", ".join(f"CAST('{value}' AS {kind})" for value in WHOLE[kind])
    rows = spark.range(1).selectExpr(f"explode(array({values})) ValueCell", "'2024-05-01' TimeCell", "'a' ServiceCell", *PLACE)
    read = [(row.Value, row.NoValue) for row in cells.readings(rows, "UTC", None, "UTC").collect()]
    assert read == [(whole, whole is None) for whole in WHOLE[kind].values()]


SCALED = {  # by type: times 1000
    "int": {"7": 7000, "-1": None},
    "double": {"2.5": 2500, "0.0005": 0, "0.0015": 2, "0.0025": 2, "1.005": 1005, "-0.1": None, "1e13": None},
    "decimal(10,4)": {"2.5000": 2500, "1.0005": 1000},
    "string": {" +12.25 ": 12250, ".5": 500, "7.": 7000, "1e-2": 10, "2E3": 2_000_000, "-1": None, "1,5": None, "many": None},
}


@pytest.mark.parametrize("kind", SCALED)
def test_a_value_is_multiplied_and_rounded(spark, kind):
    values = ", ".join(f"CAST('{value}' AS {kind})" for value in SCALED[kind])
    rows = spark.range(1).selectExpr(f"explode(array({values})) ValueCell", "'2024-05-01' TimeCell", "'a' ServiceCell", *PLACE)
    read = [(row.Value, row.NoValue) for row in cells.readings(rows, "UTC", None, "UTC", scale=1000).collect()]
    assert read == [(whole, whole is None) for whole in SCALED[kind].values()]


@pytest.mark.full
@given(
    texts=st.lists(st.from_regex(r"\A[+-]?[0-9]{0,12}\.?[0-9]{0,12}([eE]-?[0-9]{1,2})?\Z"), min_size=1),
    scale=st.integers(1, 10**9),
)
@settings(max_examples=10)
def test_a_replay_multiplies_and_rounds_alike(spark, texts, scale):
    numbers, good = scaled(pa.array(texts), scale)
    schema = (
        "ValueCell string, TimeCell string, ServiceCell string, File string, Block long, Line long, Folder date, Broken string"
    )
    rows = spark.createDataFrame([(text, "2024-05-01", "a", "f", 0, at, None, None) for at, text in enumerate(texts)], schema)
    read = {row.Line: row.Value for row in cells.readings(rows, "UTC", None, "UTC", scale=scale).collect()}
    assert [read[at] for at in range(len(texts))] == [
        int(number) if ok else None for number, ok in zip(numbers, good, strict=True)
    ]


@pytest.mark.parametrize("kind", GAPS)
def test_a_row_without_a_value_is_a_gap_and_no_mistake(spark, kind):
    values = ", ".join(f"CAST({value} AS {kind})" for value in GAPS[kind])
    rows = spark.range(1).selectExpr(f"explode(array({values})) ValueCell", "'2024-05-01' TimeCell", "'a' ServiceCell", *PLACE)
    read = [(row.Gap, row.NoValue, row.Good) for row in cells.readings(rows, "UTC", None, "UTC").collect()]
    assert read == [(True, False, False)] * len(GAPS[kind])


FORMS = {  # by format: times of it, and what only looks so
    "%d.%m.%Y %H:%M": ["31.12.2024 10:00", "1.2.2024 9:05", " 29.02.2024  23:59 ", "29.02.2023 10:00", "31.12.2024 24:00"],
    "%m/%d/%Y %I:%M:%S %p": [
        "10/03/2012 12:00:00 AM",
        "10/03/2012 12:59:59 pm",
        "10/03/2012 13:00:00 PM",
        "10/03/2012 0:00:00 AM",
    ],
    "%d/%b/%Y:%H:%M:%S %z": ["10/Oct/2000:13:55:36 -0700", "10/oct/2000:13:55:36 +05:30", "10/Okt/2000:13:55:36 -0700"],
    "%y-%m-%d": ["90-01-02", "68-01-02", "99-12-31", "1999-12-31"],
    "%Y_%m_%d (%H.%M.%S.%f)": ["2024_05_01 (05.30.00.25)", "2024_05_01 (05.30.00.250999)", "2024_05_01 05.30.00.25"],
    "%b %d, %Y": ["Jul 4, 2020", "JUL 04,  2020", "July 4, 2020", "2020-07-04", "1714539600"],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_time_of_another_format_is_what_a_replay_reads(spark, form):
    texts, written = FORMS[form], TimeFormat.parsed(form)
    rows = spark.createDataFrame([(text,) for text in [*texts, "", None]], "TimeCell string")
    read = cells.readings(
        rows.selectExpr("TimeCell", "'a' ServiceCell", "'1' ValueCell", *PLACE),
        "UTC",
        None,
        "UTC",
        partial(spark_text, form=written),
    )
    stamps, readable, _ = text_times(iso_text(pa.array([*texts, "", None]), written))
    replayed = [int(stamp) if good else None for stamp, good in zip(stamps, readable, strict=True)]
    found = [(row.millis, row.NoTime) for row in read.selectExpr("unix_millis(Timestamp) millis", "NoTime").collect()]
    assert found == [(stamp, stamp is None) for stamp in replayed]
    assert 2 <= sum(stamp is not None for stamp in replayed) < len(texts)


def test_every_unit_that_can_be_named_can_be_counted_in():
    assert tuple(cells.UNITS) == captures.UNITS


def test_what_is_no_value_is_the_same_to_all_that_read_captures():
    assert (cells.MISSING, cells.AMOUNT) == (captures.MISSING, captures.AMOUNT)
