"""Cells of a capture as readings: their values where they can be read, and a mark for each kind of mistake where they can't.

Cells are the columns ServiceCell, TimeCell and ValueCell as a file holds them, each of a type that READABLE names, and where they
stand: File string, Block long and Line long, which order them as the files do; Folder date, that of the folder Date=… that they
are in; Broken string, the line of a CSV that has too few or too many fields. All need a session whose time zone is UTC.
"""

import datetime as dt
from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.transforms import local_time

NUMBERS = (T.IntegralType, T.DecimalType, T.FloatType, T.DoubleType)
INSTANTS = (T.TimestampType, *NUMBERS)
TIMES = (T.TimestampType, T.TimestampNTZType, T.DateType)
READABLE = {
    "ServiceCell": (T.StringType, T.IntegralType),
    "TimeCell": (*TIMES, *NUMBERS, T.StringType),
    "ValueCell": (*NUMBERS, T.StringType),
}
UNITS = {"s": "1000", "ms": "1", "us": "0.001", "ns": "0.000001"}  # milliseconds in one
FIRST_YEAR, LAST_YEAR = 1990, 2100
FIRST, END = (int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()) * 1000 for year in (FIRST_YEAR, LAST_YEAR + 1))
MILLIS_PER_DAY = 86_400_000
MISTAKES = ("BrokenRow", "NoService", "NoTime", "NoUnit", "Outside", "Skipped", "NoValue", "OtherDate")

_ISO = (
    r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d{1,9})?)?\s*(Z|[+-](0\d|1[0-4]):?[0-5]\d)?)?$"
)
_OFFSET = r"\s*(Z|[+-]\d\d:?\d\d)$"
_NUMBER = r"^[+-]?\d{1,20}(\.\d*)?$"
_EXACT = 2.0**53  # whole numbers below are exact as doubles
_COUNT = r"^\+?\d{1,18}(\.0*)?$"
_BLANKS = " \t\r\n"
MISSING = r"(?i)^\s*(nan|null|none|na|n/a)?\s*$"  # a cell of a row without a value
# A number of 0 or more whose decimals are wanted.
AMOUNT = r"^\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?\s*$"
_DECIMAL = "decimal(29,9)"


def readings(
    cells: DataFrame,
    clock: str,
    unit: str | None,
    timezone: str,
    as_iso: Callable[[Column], Column] | None = None,
    scale: int | None = None,
) -> DataFrame:
    """Cells, with what they say and what is wrong with them:

    ServiceName string, without blanks around it; null: none. Value long; null: no whole number of 0 or more. Gap boolean: a row
      without a value, which is no reading.
    Timestamp, to the millisecond as in a topic; null: not known. Repeated: a wall-clock time in the hour that daylight
      saving repeats; Timestamp is then that of the first pass, Second that of the second, and `in_file_order` decides.
    Number decimal: a time that is a number.
    MISTAKES, boolean: BrokenRow (then no other), NoService, NoTime (null or unreadable), NoUnit (a number, and no unit given),
      Outside of the years FIRST_YEAR to LAST_YEAR, Skipped (a wall-clock time in the hour that daylight saving skips, and
      no Gap), NoValue (something that is none), OtherDate than that of the folder Date=… that the file is in. Good: none of them,
      and no Gap.

    clock: the zone whose wall clock times without an offset are of; unit: that of times that are numbers; timezone: the feed's;
    as_iso: makes ISO 8601 of times that are text of another format; scale: what values are multiplied by. Then Value is rounded,
    half way between two whole numbers to the even one, and null: no number of 0 or more.
    """
    named = cells.withColumn("ServiceName", F.nullif(_text("ServiceCell"), F.lit("")))
    value, kind = F.col("ValueCell"), cells.schema["ValueCell"].dataType
    number = _scaled(value, kind, scale) if scale else _whole_number(value, kind)
    counted = named.withColumns({"Value": number, "Gap": _missing(value, kind) & F.col("Broken").isNull()})
    read = _times(counted, unit, as_iso)
    exactly = F.when(_within(F.col("Exact")), F.timestamp_millis("Exact"))
    on_clock = F.when(~F.col("Never"), F.col("First"))
    timed = _passes(read, clock).withColumns(
        {"Timestamp": F.coalesce(exactly, on_clock), "Repeated": F.col("Second").isNotNull()}
    )
    sound = F.col("Broken").isNull()
    marked = timed.withColumns({name: sound & mark for name, mark in _marks(unit, timezone).items()} | {"BrokenRow": ~sound})
    return marked.withColumn("Good", ~F.greatest(*MISTAKES, "Gap")).drop("Exact", "First", "Never")


def in_file_order(repeated: DataFrame, interval_seconds: int) -> DataFrame:
    """Repeated readings on the pass that they are of: the first, until the times of their service step back within that hour,
    from there on the second. Equal times don't step back: they are one reading, written twice. But if the interval is as long as
    the repeated hour, each pass has one reading, so equal times with different values are the two passes.
    """
    day = F.call_function("div", F.col("Wall"), F.lit(MILLIS_PER_DAY))
    so_far = Window.partitionBy("ServiceName", day).orderBy("File", "Block", "Line")
    before, value = F.lag("Wall").over(so_far), F.lag("Value").over(so_far)
    alone = F.unix_millis("Second") - F.unix_millis("Timestamp") == 1000 * interval_seconds
    other = alone & (F.col("Wall") == before) & (F.col("Value") != value)
    stepped = repeated.withColumn("_back", F.coalesce((F.col("Wall") < before) | other, F.lit(False)))
    until_here = so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    later = stepped.withColumn("_later", F.max("_back").over(until_here))
    timestamp = F.when(F.col("_later"), F.col("Second")).otherwise(F.col("Timestamp"))
    return later.withColumn("Timestamp", timestamp).drop("_back", "_later")


def fits(unit: str) -> Column:
    """Whether the time, a number, is one of the years that count if it is of that unit."""
    return F.coalesce(_within(_milliseconds(F.col("Number"), unit)), F.lit(False))


def distinct(readings: DataFrame) -> DataFrame:
    """One row for each (ServiceName, Timestamp): its Value, and Highest, which is another where rows contradict each other."""
    return readings.groupBy("ServiceName", "Timestamp").agg(F.min("Value").alias("Value"), F.max("Value").alias("Highest"))


def _marks(unit: str | None, timezone: str) -> dict[str, Column]:
    moment = F.coalesce("Exact", "Wall")
    unit_missing = F.col("Number").isNotNull() & F.lit(unit is None)
    date = local_time.local_date(local_time.wall_clock(F.col("Timestamp"), timezone))
    return {
        "NoService": F.col("ServiceName").isNull(),
        "NoTime": moment.isNull() & ~unit_missing,
        "NoUnit": unit_missing,
        "Outside": F.coalesce(~_within(moment), F.lit(False)),
        "Skipped": F.col("Never") & ~F.col("Gap"),
        "NoValue": F.col("Value").isNull() & ~F.col("Gap"),
        # the date of a repeated reading is not known before its pass is
        "OtherDate": F.coalesce(F.col("Folder") != date, F.lit(False)) & ~F.col("Repeated"),
    }


def _text(cell: str) -> Column:
    return F.btrim(F.col(cell).cast("string"), F.lit(_BLANKS))


def _within(milliseconds: Column) -> Column:
    return (milliseconds >= FIRST) & (milliseconds < END)


def _times(rows: DataFrame, unit: str | None, as_iso: Callable[[Column], Column] | None) -> DataFrame:
    """Rows with Exact, milliseconds; Wall, milliseconds as if the wall clock were UTC's; Number decimal, a time that is a number.
    Exact or Wall is not null where the time can be read; both are null for a number without a unit.
    """
    cell, kind, nothing = F.col("TimeCell"), rows.schema["TimeCell"].dataType, F.lit(None).cast("long")
    if isinstance(kind, T.StringType) and not unit:
        return _from_text(rows, as_iso)
    if isinstance(kind, T.TimestampType):
        return rows.withColumns({"Exact": F.unix_millis(cell), "Wall": nothing, "Number": nothing})
    if isinstance(kind, TIMES):
        return rows.withColumns({"Exact": nothing, "Wall": F.unix_millis(cell.cast("timestamp")), "Number": nothing})
    number = rows.withColumn("Number", _number(_text("TimeCell")) if isinstance(kind, T.StringType) else cell.try_cast(_DECIMAL))
    return number.withColumns({"Exact": _milliseconds(F.col("Number"), unit) if unit else nothing, "Wall": nothing})


def _from_text(rows: DataFrame, as_iso: Callable[[Column], Column] | None) -> DataFrame:
    """As `_times`. One step after the other, so that Spark computes none of them twice."""
    text = rows.withColumn("_text", as_iso(_text("TimeCell")) if as_iso else _text("TimeCell"))
    iso = text.withColumn("_iso", F.when(F.col("_text").rlike(_ISO), F.translate("_text", ",", ".")))
    # the offset is looked for behind the minutes, where there is little to look through
    zoned = iso.withColumn("_offset", F.regexp_extract(F.substring("_iso", 17, 50), _OFFSET, 1))
    local = F.when(F.col("_offset") == "", F.col("_iso")).otherwise(F.regexp_replace("_iso", _OFFSET, ""))
    shown = zoned.withColumn("_shown", F.unix_millis(local.try_cast("timestamp_ntz").cast("timestamp")))
    offset = F.col("_offset")
    times = {
        "Exact": F.when(offset != "", F.col("_shown") - _offset_milliseconds(offset)),
        "Wall": F.when(offset == "", F.col("_shown")),
        "Number": F.when(F.col("_iso").isNull(), _number(F.col("_text"))),
    }
    return shown.withColumns(times).drop("_text", "_iso", "_offset", "_shown")


def _number(text: Column) -> Column:
    return F.when(text.rlike(_NUMBER), text).try_cast(_DECIMAL)


def _offset_milliseconds(offset: Column) -> Column:
    """Of 'Z', '+05:30' or '-0500'."""
    minutes = F.substring(offset, 2, 2).try_cast("int") * 60 + F.substring(offset, -2, 2).try_cast("int")
    return F.when(offset == "Z", F.lit(0)).when(offset.startswith("-"), -minutes).otherwise(minutes) * 60_000


def _milliseconds(number: Column, unit: str) -> Column:
    """Of a number of that unit; one that is far off is brought near, as it need not fit into a long."""
    exact = F.floor(number * F.lit(UNITS[unit]).cast("decimal(10,6)"))
    near = F.least(F.greatest(exact, F.lit(FIRST - MILLIS_PER_DAY)), F.lit(END + MILLIS_PER_DAY))
    return F.when(number.isNotNull(), near).cast("long")


def _passes(rows: DataFrame, zone: str) -> DataFrame:
    """Rows with First, the instant at which the clocks of the zone showed Wall, and Second, not null in the hour that daylight
    saving repeats: the other one. Never: the clocks never showed it.
    """
    wall = rows.withColumn("_wall", F.when(_within(F.col("Wall")), F.timestamp_millis("Wall")))
    first = wall.withColumn("First", F.to_utc_timestamp("_wall", zone))
    day_later = F.unix_millis("First") + MILLIS_PER_DAY
    offset = F.unix_millis(F.from_utc_timestamp(F.timestamp_millis(day_later), zone)) - day_later
    # Converting costs: where the clocks don't change within a day, First is the instant by that offset too, and no more is asked.
    later = first.withColumn("_later", F.timestamp_millis(F.unix_millis("_wall") - offset))
    shows = {name: F.from_utc_timestamp(name, zone) == F.col("_wall") for name in ("First", "_later")}
    changes = {
        "Second": F.when(F.col("_later") > F.col("First"), F.when(shows["_later"], F.col("_later"))),
        "Never": F.when(F.col("_later") < F.col("First"), ~shows["First"]).otherwise(F.lit(False)),
    }
    return later.withColumns(changes).drop("_wall", "_later")


def _missing(cell: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.StringType):
        return F.coalesce(cell.rlike(MISSING), F.lit(True))
    return cell.isNull() | F.isnan(cell) if isinstance(kind, T.FloatType | T.DoubleType) else cell.isNull()


def _whole_number(cell: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.StringType):
        text = F.btrim(cell, F.lit(_BLANKS))
        return F.when(text.rlike(_COUNT), F.regexp_replace(text, r"^\+|\.0*$", "")).try_cast("long")
    if isinstance(kind, T.FloatType | T.DoubleType):
        return F.when((cell >= 0) & (cell < _EXACT) & (F.rint(cell) == cell), cell).try_cast("long")
    return F.when((cell >= 0) & (cell % 1 == 0), cell).try_cast("long")


def _scaled(cell: Column, kind: T.DataType, scale: int) -> Column:
    """As doubles have it (IEEE 754): `sources.columns.scaled` computes the same for a replay."""
    text = F.when(cell.rlike(AMOUNT), F.btrim(cell, F.lit(_BLANKS))) if isinstance(kind, T.StringType) else cell
    number = text.try_cast("double")
    whole = F.rint(number * F.lit(float(scale)))
    return F.when((number >= 0) & (whole < _EXACT), whole).try_cast("long")
