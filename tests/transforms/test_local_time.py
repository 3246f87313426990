"""Local date, slot and day type of instants, against Python's own zoneinfo, daylight saving included."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from jobs.transforms import local_time

INSTANTS = st.datetimes(dt.datetime(1960, 1, 1), dt.datetime(2037, 12, 31), timezones=st.just(dt.UTC))
ZONES = ["UTC", "America/New_York", "Europe/Paris", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns"]


def placed(spark, instants, timezone, interval_seconds, others=None):
    rows = spark.createDataFrame([(each,) for each in instants], "at timestamp")
    wall = local_time.wall_clock(F.col("at"), timezone)
    date = local_time.local_date(wall)
    found = rows.select(date, local_time.slot(wall, interval_seconds), local_time.day_type(date, others or {})).collect()
    return [tuple(row) for row in found]


def expected(instant, timezone, interval_seconds):
    local = instant.astimezone(ZoneInfo(timezone))
    second = local.hour * 3600 + local.minute * 60 + local.second
    return local.date(), second // interval_seconds, local.isoweekday()


@pytest.mark.parametrize("timezone", ZONES)
@settings(max_examples=6 + settings.default.max_examples // 25)  # each is a job of Spark
@given(instants=st.lists(INSTANTS, min_size=50, max_size=200), interval=st.sampled_from([1, 10, 60, 900, 3600, 86400]))
def test_agrees_with_zoneinfo_at_any_instant(spark, timezone, instants, interval):
    assert placed(spark, instants, timezone, interval) == [expected(each, timezone, interval) for each in instants]


def test_the_hour_that_spring_skips_has_no_slot(spark):
    """New York, 8 March 2026: 01:59:50 is followed by 03:00:00."""
    first = dt.datetime(2026, 3, 8, 6, 59, 50, tzinfo=dt.UTC)
    found = placed(spark, [first, first + dt.timedelta(seconds=10)], "America/New_York", 10)
    assert found == [(dt.date(2026, 3, 8), 719, 7), (dt.date(2026, 3, 8), 1080, 7)]


def test_the_hour_that_autumn_repeats_has_its_slots_twice(spark):
    """New York, 1 November 2026: 01:30 comes at 05:30 and again at 06:30 UTC."""
    once, again = (dt.datetime(2026, 11, 1, hour, 30, tzinfo=dt.UTC) for hour in (5, 6))
    assert placed(spark, [once, again], "America/New_York", 10) == [(dt.date(2026, 11, 1), 540, 7)] * 2


def test_midnight_belongs_to_the_new_local_day(spark):
    midnight = dt.datetime(2026, 11, 21, 5, 0, tzinfo=dt.UTC)
    before = midnight - dt.timedelta(microseconds=1)
    found = placed(spark, [before, midnight], "America/New_York", 10)
    assert found == [(dt.date(2026, 11, 20), 8639, 5), (dt.date(2026, 11, 21), 0, 6)]


def test_a_date_has_the_day_type_that_is_declared_else_that_of_its_weekday(spark):
    noons = [dt.datetime(2026, 11, day, 17, tzinfo=dt.UTC) for day in (26, 27, 28, 29)]
    others = {dt.date(2026, 11, 26): 7, dt.date(2026, 11, 27): 0, dt.date(2026, 11, 29): 7}
    assert [row[2] for row in placed(spark, noons, "America/New_York", 3600, others)] == [7, 0, 6, 7]
    assert [row[2] for row in placed(spark, noons, "America/New_York", 3600)] == [4, 5, 6, 7]
