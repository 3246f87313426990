"""The plain figures of a packed baseline against their definition, computed in Python from the same readings."""

import datetime as dt
import statistics
from collections import defaultdict
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.transforms import baseline, growth, history_rows, normal, packed
from jobs.transforms.packed import How, Source

HOUR = 3600
SLOTS = 24
WINDOW = 6
CHICAGO = ZoneInfo("America/Chicago")
READING = "ServiceName string, Timestamp timestamp, Value long, KafkaPartition int, KafkaOffset long, KafkaTimestamp timestamp"
MONDAY = dt.date(2026, 6, 1)


def reading(service="www", date=MONDAY, hour=9, value=100, fold=0):
    local = dt.datetime.combine(date, dt.time(hour), CHICAGO).replace(fold=fold)
    return service, local.astimezone(dt.UTC), value


def built(spark, readings, holidays=(), grows=False):
    """By service and day type, its row. Every date that there is counts."""
    rows = [(*reading, 0, 0, None) for reading in readings]
    placed = history_rows.placed(spark.createDataFrame(rows, READING), "America/Chicago", HOUR)
    runs = placed.select("ServiceName", "Date", "Slot", "Value").mapInArrow(baseline.to_runs, baseline.RUNS)
    of_types = packed.by_day_type(runs, dict.fromkeys(holidays, 7)).toArrow()
    how, found = How(CHICAGO, HOUR, SLOTS // WINDOW, grows), {}
    for key in {(each["ServiceName"], each["DayType"]) for each in of_types.to_pylist()}:
        here = of_types.filter((pc.field("ServiceName") == key[0]) & (pc.field("DayType") == key[1]))
        dates = sorted(set(here.column("Date").to_pylist()))
        (found[key],) = packed.row(key[0], here, Source(key[1], dates, dates[-normal.DATES :]), how).to_pylist()
    return found


def plain(readings):
    """(Last4Avg, Samples) by (service, day type) and slot, and Spread by window, by the words of their definition."""
    values = defaultdict(list)
    for service, at, value in readings:
        local = at.astimezone(CHICAGO)
        values[service, local.isoweekday(), local.hour].append(value)
    known = {key: found for key, found in values.items() if len(found) >= 2}
    pooled = defaultdict(list)
    for (service, day_type, slot), found in known.items():
        mean = sum(found) / len(found)
        scale = (len(found) / (len(found) - 1)) ** 0.5
        pooled[service, day_type, slot // WINDOW] += [abs(value - mean) * scale for value in found]
    cells, spreads = defaultdict(dict), defaultdict(dict)
    for (service, day_type, slot), found in known.items():
        cells[service, day_type][slot] = (sum(found) / len(found), len(found))
    for (service, day_type, window), residuals in pooled.items():
        spreads[service, day_type][window] = baseline.MAD_TO_SIGMA * statistics.median(residuals)
    return cells, spreads


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


@settings(max_examples=settings.default.max_examples // 4)  # each is a job of Spark
@given(readings=READINGS)
def test_equals_the_plain_definition(spark, readings):
    found, (cells, spreads) = built(spark, readings), plain(readings)
    assert set(found) == {(service, at.astimezone(CHICAGO).isoweekday()) for service, at, _ in readings}
    for key, row in found.items():
        slots = list(zip(row["Last4Avg"], row["Samples"], strict=True))
        assert slots == [cells[key].get(slot, (None, None)) for slot in range(SLOTS)]
        assert row["Spread"] == [
            spreads[key].get(window) and pytest.approx(spreads[key][window], rel=1e-12) for window in range(SLOTS // WINDOW)
        ]
        assert row["Growth"] == 1.0


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


def test_growth_is_the_slope_of_the_four_weeks_and_a_gap_is_no_shrinking(spark):
    weeks = [
        reading(date=MONDAY + dt.timedelta(7 * week), hour=hour, value=100 + 10 * week) for week in range(4) for hour in (3, 4)
    ]
    assert built(spark, weeks)["www", 1]["Growth"] == 1.0
    growing = 1 + 2.5 * 10 / 115
    assert built(spark, weeks, grows=True)["www", 1]["Growth"] == pytest.approx(growing)
    assert built(spark, weeks[:-1], grows=True)["www", 1]["Growth"] == pytest.approx(growing)
    assert built(spark, weeks[:-2], grows=True)["www", 1]["Growth"] == 1.0


@given(st.floats(1, 1e6), st.floats(-0.1, 0.1), st.integers(0, 3), st.floats(0, 3))
def test_growth_follows_a_line_and_hardly_one_odd_week(level, slope, odd, times):
    line = level * (1 + slope * np.arange(1, 5))
    assert growth.factor(line) == pytest.approx(np.clip((1 + 5 * slope) / (1 + 2.5 * slope), 0.5, 2))
    outlier = line.copy()
    outlier[odd] *= times
    assert 0.5 <= growth.factor(outlier) <= 2


def test_without_four_weeks_of_traffic_nothing_grows():
    assert growth.factor(np.array([1.0, 2.0, 3.0])) == growth.factor(np.zeros(4)) == 1.0
