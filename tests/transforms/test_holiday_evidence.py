"""What a holiday was like, from runs: each date in its place, and the verdict that follows."""

import datetime as dt
import math
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from jobs.transforms import baseline
from jobs.transforms.holiday_evidence import Compared, evidence, of_service
from jobs.transforms.holiday_kinds import KINDS, of_feed, unlikeness, unlikeness_to_itself, was_like
from jobs.transforms.packed import How
from tests.transforms.test_holiday_kinds import SLOTS, WINDOWS, day_of

HOW = How(ZoneInfo("America/New_York"), 1800, WINDOWS)
HOLIDAY, BEFORE = dt.date(2026, 10, 12), dt.date(2025, 10, 13)
WEEKS = [dt.timedelta(weeks=week) for week in range(12, 0, -1)]
COMPARED = Compared(
    HOLIDAY,
    [HOLIDAY - dt.timedelta(days=1) - weeks for weeks in WEEKS],
    [HOLIDAY - weeks for weeks in WEEKS],
    BEFORE,
    [BEFORE - weeks for weeks in WEEKS[-5:]],
)


def days(shape):
    """By date, its values; the holiday has that shape, and had that of Christmas the year before."""
    found = {date: day_of("sunday" if date in COMPARED.sundays else "weekday", date.toordinal()) for date in COMPARED.dates}
    return found | {HOLIDAY: day_of(shape, HOLIDAY.toordinal()), BEFORE: day_of("christmas", BEFORE.toordinal())}


def runs(of_days, service="www"):
    slots = np.arange(SLOTS, dtype=np.int32).tobytes()
    return pa.table(
        {
            "ServiceName": [service] * len(of_days),
            "Date": pa.array(list(of_days), pa.date32()),
            "Slots": pa.array([slots] * len(of_days), pa.binary()),
            "Values": pa.array([values.astype(np.int64).tobytes() for values in of_days.values()], pa.binary()),
        }
    )


@pytest.mark.parametrize(
    ("shape", "like"), [("weekday", "weekday"), ("sunday", "sunday"), ("christmas", "itself")], ids=lambda each: each
)
def test_a_holiday_is_like_what_it_was(shape, like):
    assert was_like(of_feed([of_service(runs(days(shape)), COMPARED, HOW)])) == like


def test_each_date_is_compared_as_what_it_is():
    here = days("christmas")
    sundays, weekdays, weekdays_before = (
        np.array([here[date] for date in dates]) for dates in (COMPARED.sundays, COMPARED.weekdays, COMPARED.weekdays_before)
    )
    assert of_service(runs(here), COMPARED, HOW) == {
        "sunday": unlikeness(here[HOLIDAY], sundays, WINDOWS),
        "weekday": unlikeness(here[HOLIDAY], weekdays, WINDOWS),
        "itself": unlikeness_to_itself(here[HOLIDAY], here[BEFORE], weekdays, weekdays_before, WINDOWS),
    }


def test_what_history_does_not_have_is_no_evidence():
    here = days("weekday")
    without = {date: values for date, values in here.items() if date > BEFORE}
    found = of_service(runs(without), COMPARED, HOW)
    assert math.isnan(found["itself"])
    assert found["weekday"] == of_service(runs(here), COMPARED, HOW)["weekday"]
    assert all(map(math.isnan, of_service(runs({HOLIDAY: here[HOLIDAY]}), COMPARED, HOW).values()))
    assert all(map(math.isnan, of_service(runs({COMPARED.weekdays[0]: here[HOLIDAY]}), COMPARED, HOW).values()))


def test_one_job_of_spark_finds_the_evidence_of_all_services(spark):
    here = days("sunday")
    both = pa.concat_tables([runs(here), runs(here, "login")])
    rows = evidence(spark.createDataFrame(both, baseline.RUNS), COMPARED, HOW).collect()
    expected = of_service(runs(here), COMPARED, HOW)
    assert {row.ServiceName: {kind: row[kind] for kind in KINDS} for row in rows} == {"www": expected, "login": expected}
