"""The packed baseline against the plain definition, computed in Python from the same readings."""

import datetime as dt
import statistics
from collections import defaultdict
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.transforms import baseline
from jobs.transforms.profile import profile

HOUR = 3600
SLOTS = 24
WINDOW = 6
CHICAGO = ZoneInfo("America/Chicago")
HISTORY = "ServiceName string, Timestamp timestamp, Value long, Date date"
MONDAY = dt.date(2026, 6, 1)


def reading(service="www", date=MONDAY, hour=9, value=100, fold=0):
    local = dt.datetime.combine(date, dt.time(hour), CHICAGO).replace(fold=fold)
    return service, local.astimezone(dt.UTC), value, date


def built(spark, readings, holidays=()):
    placed = baseline.readings_by_slot(spark.createDataFrame(readings, HISTORY), "America/Chicago", HOUR, list(holidays))
    rows = baseline.build(placed, SLOTS, WINDOW).collect()
    return {(row.ServiceName, row.DayType): row.asDict() for row in rows}


def plain(readings):
    """Last4Avg, Samples and Spread by (service, day type) and slot, by the words of their definition."""
    values = defaultdict(list)
    for service, at, value, date in readings:
        values[service, date.isoweekday(), at.astimezone(CHICAGO).hour].append(value)
    known = {key: found for key, found in values.items() if len(found) >= 2}
    pooled = defaultdict(list)
    for (service, day_type, slot), found in known.items():
        mean = sum(found) / len(found)
        scale = (len(found) / (len(found) - 1)) ** 0.5
        pooled[service, day_type, slot // WINDOW] += [abs(value - mean) * scale for value in found]
    result = defaultdict(dict)
    for (service, day_type, slot), found in known.items():
        spread = baseline.MAD_TO_SIGMA * statistics.median(pooled[service, day_type, slot // WINDOW])
        result[service, day_type][slot] = (sum(found) / len(found), len(found), spread)
    return result


READINGS = st.lists(
    st.builds(
        reading,
        service=st.sampled_from(["www", "login"]),
        date=st.integers(0, 27).map(lambda days: MONDAY + dt.timedelta(days=days)),
        hour=st.integers(0, 23),
        value=st.integers(0, 10_000),
    ),
    min_size=1,
    max_size=150,
    unique_by=lambda each: each[:2],
)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(readings=READINGS)
def test_equals_the_plain_definition(spark, readings):
    found, expected = built(spark, readings), plain(readings)
    assert set(found) == {(service, date.isoweekday()) for service, _, _, date in readings}
    for key, row in found.items():
        assert len(row["Last4Avg"]) == len(row["Samples"]) == len(row["Spread"]) == SLOTS
        for slot in range(SLOTS):
            average, samples, spread = expected[key].get(slot, (None, None, None))
            assert (row["Last4Avg"][slot], row["Samples"][slot]) == (average, samples)
            assert row["Spread"][slot] == (spread if spread is None else pytest.approx(spread, rel=1e-12))


def test_fewer_than_two_samples_are_no_baseline(spark):
    row = built(spark, [reading(hour=9), reading(hour=10), reading(date=MONDAY + dt.timedelta(7), hour=10, value=200)])
    assert row["www", 1]["Last4Avg"][9:11] == [None, 150.0]
    assert row["www", 1]["Samples"][9:11] == [None, 2]
    assert row["www", 1]["Dates"] == [MONDAY, MONDAY + dt.timedelta(7)]


def test_a_holiday_is_a_source_of_the_sundays(spark):
    memorial_day, sunday = dt.date(2026, 5, 25), dt.date(2026, 5, 31)
    row = built(spark, [reading(date=memorial_day, value=10), reading(date=sunday, value=30)], holidays=[memorial_day])
    assert list(row) == [("www", 7)]
    assert row["www", 7]["Last4Avg"][9] == 20.0


def test_the_skipped_hour_has_a_sample_fewer_and_the_repeated_hour_counts_twice(spark):
    sundays = [dt.date(2026, 3, 1), dt.date(2026, 3, 8), dt.date(2026, 3, 15)]  # clocks go forward on the 8th, at 02:00
    spring = [reading(date=day, hour=hour) for day in sundays for hour in (1, 2) if (day, hour) != (sundays[1], 2)]
    assert built(spark, spring)["www", 7]["Samples"][1:3] == [3, 2]
    autumn = dt.date(2026, 11, 1)  # clocks go back at 02:00, so 01:00 comes twice
    twice = [reading(date=autumn, hour=1, value=10), reading(date=autumn, hour=1, value=20, fold=1)]
    found = built(spark, [*twice, reading(date=dt.date(2026, 11, 8), hour=1, value=60)])["www", 7]
    assert (found["Last4Avg"][1], found["Samples"][1]) == (30.0, 3)


PACKED = "ServiceName string, DayType int, Last4Avg array<double>, Spread array<double>"


def test_profile_says_what_was_lost_moved_or_is_not_a_number(spark):
    candidate = spark.createDataFrame(
        [("www", 1, [100.0, 151.0, None, 40.0], [1.0, 1.0, None, -1.0]), ("login", 1, [float("nan"), 1.0], [0.0, 0.0])], PACKED
    )
    in_force = spark.createDataFrame([("www", 1, [100.0, 100.0, 100.0, 100.0], [1.0] * 4), ("search", 2, [1.0], [1.0])], PACKED)
    rows = {row.ServiceName: row.asDict() for row in profile(candidate, in_force, 50.0).collect()}
    assert (rows["search"]["Lost"], rows["search"]["Slots"]) == (True, None)
    assert rows["www"] == {
        "ServiceName": "www",
        "DayType": 1,
        "Lost": False,
        "Slots": 4,
        "CoveredShare": 0.75,
        "Finite": True,
        "Lowest": 40.0,
        "LowestSpread": -1.0,
        "MovedShare": 2 / 3,
    }
    assert (rows["login"]["Finite"], rows["login"]["MovedShare"]) == (False, None)
