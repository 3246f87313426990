"""What the gate looks at: each figure from rows whose answer is known."""

import datetime as dt
import math

import numpy as np
import pytest

from jobs.transforms import baseline
from jobs.transforms import packed as packed_rows
from jobs.transforms.profile import profile

READINGS = "ServiceName string, Date date, Slot int, Value long"
AS_OF = dt.date(2026, 6, 9)  # a Tuesday
MONDAYS = [dt.date(2026, 6, 8) - dt.timedelta(weeks=week) for week in range(4, -1, -1)]


def packed(
    service="www",
    day_type=1,
    averages=(100.0, 100.0, 100.0, 100.0),
    spread=(1.0,),
    dates=MONDAYS[:4],
    growth=1.0,
    level=(90.0, 90.0, 90.0, 90.0),
    scale=(10.0, 10.0, 10.0, 10.0),
    before=(80.0, 80.0, 80.0, 80.0),
):
    samples = [None if average is None else len(dates) for average in averages]
    robust = [each and list(each) for each in (level, scale, before)]
    return service, day_type, list(averages), samples, list(spread), growth, list(dates), *robust, list(dates)


def profiled(spark, candidate, in_force=(), readings=(), left_out=()):
    new, old = (spark.createDataFrame(list(rows), packed_rows.PACKED) for rows in (candidate, in_force))
    runs = spark.createDataFrame(list(readings), READINGS).mapInArrow(baseline.to_runs, baseline.RUNS)
    last_day = packed_rows.by_day_type(runs, {})
    rows = profile(new, old, last_day, AS_OF, 4, 50.0, left_out).collect()
    return {(row.ServiceName, row.DayType): row.asDict() for row in rows}


def test_figures_of_a_candidate(spark):
    found = profiled(
        spark,
        [packed(averages=(100.0, 151.0, None, 40.0), spread=(1.0, -1.0)), packed("login", averages=(math.nan, 1.0, 1.0, 1.0))],
        [packed(), packed("search", 2)],
    )
    assert found["search", 2] | {"ServiceName": None, "DayType": None} == dict.fromkeys(found["search", 2]) | {"Lost": True}
    assert found["www", 1] == {
        "ServiceName": "www",
        "DayType": 1,
        "Lost": False,
        "Rows": 1,
        "Slots": 4,
        "CoveredShare": 0.75,
        "Finite": True,
        "Lowest": 40.0,
        "Highest": 151.0,
        "LowestSpread": -1.0,
        "AgeDays": 8,
        "MovedShare": 2 / 3,
        "HoldoutLoss": None,
        "NormalLoss": None,
    }
    assert (found["login", 1]["Finite"], found["login", 1]["MovedShare"]) == (False, None)


def test_a_new_service_is_not_covered_yet_rather_than_badly(spark):
    unknown = dict.fromkeys(("averages", "level", "scale", "before"), (None,) * 4)
    found = profiled(spark, [packed(spread=(None,), dates=MONDAYS[:1], **unknown)])
    assert (found["www", 1]["CoveredShare"], found["www", 1]["Lowest"]) == (None, None)


def test_two_rows_for_one_service_and_day_type_are_counted(spark):
    assert profiled(spark, [packed(), packed()])["www", 1]["Rows"] == 2


def by_slot(*values, date=MONDAYS[4], service="www"):
    return [(service, date, slot, value) for slot, value in enumerate(values)]


@pytest.mark.full
def test_holdout_compares_how_both_predict_a_day_that_neither_has_seen(spark):
    # In force 100 everywhere, last Monday 110: off by 10. The candidate: three dates at 120, and 110, of which 117.5 is the mean.
    candidate = [packed(averages=(117.5,) * 4, dates=MONDAYS[1:])]
    worse = profiled(spark, candidate, [packed()], by_slot(110, 110, 110, 110))
    assert worse["www", 1]["HoldoutLoss"] == pytest.approx(0.0)  # 120 is off by 10 as well
    farther = [packed(averages=(120.0,) * 4, dates=MONDAYS[1:])]  # without the 110: 370 / 3
    assert profiled(spark, farther, [packed()], by_slot(110, 110, 110, 110))["www", 1]["HoldoutLoss"] == pytest.approx(1 / 3)
    # One in force that has seen the day (it was promoted after it) does not gain by that.
    seen = [packed(averages=(102.5,) * 4, dates=MONDAYS[1:])]
    assert profiled(spark, farther, seen, by_slot(110, 110, 110, 110))["www", 1]["HoldoutLoss"] == pytest.approx(1 / 3)


def test_levels_and_scales_are_figures_of_a_candidate_too(spark):
    odd = [packed(level=(7.0, 8.0, 500.0, None), scale=(0.5, 2.0, 2.0, None)), packed("login", scale=(math.inf, 1.0, 1.0, 1.0))]
    found = profiled(spark, [*odd, packed("short", level=(9.0,) * 3)])
    assert [found["www", 1][name] for name in ("Lowest", "Highest", "LowestSpread", "Finite")] == [7.0, 500.0, 0.5, True]
    assert [found[service, 1]["Finite"] for service in ("login", "short")] == [False, True]
    assert [found[service, 1]["Slots"] for service in ("www", "short")] == [4, 3]


@pytest.mark.full
def test_holdout_of_the_normal_is_without_the_day_where_it_was_made_from_it(spark):
    day = by_slot(110, 110, 110, 110)
    candidate = [packed(dates=MONDAYS[1:])]  # 90, and without the last day 80: off by 30
    assert profiled(spark, candidate, [packed()], day)["www", 1]["NormalLoss"] == pytest.approx(0.5)  # in force: off by 20
    seen = [packed(dates=MONDAYS[1:], level=(110.0,) * 4, before=(95.0,) * 4)]  # off by 15, although it has seen the day
    assert profiled(spark, candidate, seen, day)["www", 1]["NormalLoss"] == pytest.approx(1.0)
    of_before = [packed(level=None, scale=None, before=None)]  # of a release without a normal
    found = profiled(spark, candidate, of_before, day)["www", 1]
    assert (found["NormalLoss"], found["HoldoutLoss"] is None) == (None, False)


@pytest.mark.full
def test_holdout_says_nothing_where_nothing_can_be_compared(spark):
    assert profiled(spark, [packed()], [], by_slot(1, 1, 1, 1))["www", 1]["HoldoutLoss"] is None
    assert profiled(spark, [packed()], [packed()])["www", 1]["HoldoutLoss"] is None
    assert profiled(spark, [packed()], [packed()], by_slot(1, service="login"))["www", 1]["HoldoutLoss"] is None


def test_a_perfect_prediction_is_no_ground_to_call_a_good_one_bad(spark):
    candidate = [packed(averages=(100.5,) * 4)]
    assert profiled(spark, candidate, [packed()], by_slot(100, 100, 100, 100))["www", 1]["HoldoutLoss"] == pytest.approx(0.5)


def test_what_lies_in_a_maintenance_window_is_not_predicted(spark):
    """Two slots were an outage, of this service or of another; the readings still leave the averages that they are in."""
    day = by_slot(0, 0, 110, 110)
    candidate = [packed(averages=(93.0, 93.0, 120.0, 120.0), dates=MONDAYS[1:])]  # without the day: 124, 124, 370 / 3, 370 / 3
    outage = np.array([True, True, False, False])
    found = profiled(spark, candidate, [packed()], day, [("w.*", outage)])["www", 1]
    assert found["HoldoutLoss"] == pytest.approx(1 / 3)
    assert found["NormalLoss"] == pytest.approx(0.5)
    other = profiled(spark, candidate, [packed()], day, [("login", outage)])["www", 1]
    assert other["HoldoutLoss"] == pytest.approx((124 * 2 + 40 / 3 * 2) / 220 - 1)
