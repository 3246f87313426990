"""Local date, day type and slot of an instant: the one definition in Spark, used by batch and stream alike. Outside Spark,
`contracts.calendar.Calendar.day_types` is the same.

All take instants (Spark timestamps) and need a session whose time zone is UTC. Daylight saving follows from working on the wall
clock: the hour that spring skips has no reading on that date, so its slots have one sample fewer; the hour that autumn repeats
gives its slots two readings on that date, and both count.
"""

import datetime as dt
from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

MICROS_PER_DAY = 86_400_000_000


def wall_clock(instant: Column, timezone: str) -> Column:
    """Microseconds since 1970-01-01T00:00 as the clocks of that zone showed them (long)."""
    if timezone == "UTC":
        return F.unix_micros(instant)
    return F.unix_micros(F.from_utc_timestamp(instant, timezone))


def local_date(wall: Column) -> Column:
    """Date of a wall-clock reading."""
    return F.date_from_unix_date(_days(wall).cast("int"))


def slot(wall: Column, interval_seconds: int) -> Column:
    """0-based index of the reporting interval within the local day (int): second of day / interval."""
    return F.call_function("div", _time_of_day(wall), F.lit(interval_seconds * 1_000_000)).cast("int")


def day_type(date: Column, others: Mapping[dt.date, int]) -> Column:
    """ISO day of week, 1 Monday to 7 Sunday (int). others: the day types of dates that have another one, such as holidays."""
    weekday = F.weekday(date) + 1
    for found in sorted(set(others.values())):
        weekday = F.when(date.isin([day for day, each in others.items() if each == found]), F.lit(found)).otherwise(weekday)
    return weekday


def _time_of_day(wall: Column) -> Column:
    return F.pmod(wall, F.lit(MICROS_PER_DAY))


def _days(wall: Column) -> Column:
    # Integer division truncates towards zero; taking the time of day off first makes it a floor, before 1970 too.
    return F.call_function("div", wall - _time_of_day(wall), F.lit(MICROS_PER_DAY))
