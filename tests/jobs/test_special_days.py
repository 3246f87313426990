"""Nights with special days and a maintenance window: what enters the baseline, what the gate says, what is expected next."""

import datetime as dt
import shutil
from pathlib import Path

import numpy as np
import pytest

from contracts.calendar_entries import Entry
from contracts.feeds import load_feed
from jobs import build_baseline, check_baseline, promote_baseline
from jobs.backends import tables
from jobs.backends.history_table import merge
from jobs.streams import score_query
from tests.jobs.readings import arrived

pytestmark = pytest.mark.full

AS_OF = dt.date(2026, 11, 30)  # a Monday
FIRST = AS_OF - dt.timedelta(weeks=9)
SALE, RELEASE, NEXT = dt.date(2026, 10, 30), dt.date(2026, 11, 29), dt.date(2026, 12, 4)  # Friday, Sunday, Friday
TUESDAYS, NIGHT = [dt.date(2026, 11, day) for day in (3, 10, 17, 24)], slice(2, 4)


def entry(name: str, *dates: dt.date, **fields) -> Entry:
    return Entry(name=name, description=name, feeds=["road-traffic"], dates=dates, **fields)


FEED = load_feed("road-traffic").with_entries(
    [
        entry("sale", SALE, NEXT),
        entry("release", RELEASE, like="sunday"),
        entry("move", *TUESDAYS, times={"begin": "02:00", "end": "04:00"}, services="I-9.*"),
    ]
)


def usual(date: dt.date) -> np.ndarray:
    """Readings by hour: less on a Sunday and on the sale, a Friday. The windows have none, and the release very many."""
    values = np.arange(24) * 10 + 1000 + date.day % 5
    if date == SALE or date.isoweekday() == 7:
        values = values // 3
    if date in TUESDAYS:
        values[NIGHT] = 0
    return values * 9 if date == RELEASE else values


def hours(date: dt.date) -> list:
    at = [dt.datetime.combine(date, dt.time(hour), FEED.zone).astimezone(dt.UTC) for hour in range(24)]
    return [("I-94", when, int(value), 0, 0) for when, value in zip(at, usual(date), strict=True)]


def night(run_job, platform, run_id: str, as_of: dt.date) -> None:
    for job, more in ((build_baseline, ("--as-of", str(as_of))), (check_baseline, ()), (promote_baseline, ("--by", "tests"))):
        run_job(job, platform, "--feed", FEED.name, "--run-id", run_id, *more)


@pytest.fixture(scope="module")
def nights(spark, run_job, prebuilt) -> Path:
    """The nights before and after the release, each of which the gate has passed."""

    def fill(platform) -> None:
        dates = [FIRST + dt.timedelta(days=day) for day in range((AS_OF - FIRST).days)]
        merge(spark, tables.history(platform, FEED), arrived(spark, FEED, [row for date in dates for row in hours(date)]), {})
        night(run_job, platform, "n1", RELEASE)
        night(run_job, platform, "n2", AS_OF)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.backends.settings.load_feed", lambda name: FEED)
        return prebuilt(fill)


@pytest.fixture
def lake(lake_platform, nights):
    shutil.copytree(nights, lake_platform.lake)
    return lake_platform


def test_special_days_are_in_no_average_and_the_window_in_no_robust_normal(spark, lake):
    rows = {row.DayType: row for row in tables.baseline(lake, FEED).read(spark).collect()}
    assert sorted(rows) == list(range(1, 8))
    fridays = [dt.date(2026, 11, day) for day in (6, 13, 20, 27)]
    assert rows[5].Dates == fridays
    assert (SALE in rows[5].NormalDates, len(rows[5].NormalDates)) == (False, 8)
    assert rows[5].Last4Avg == np.mean([usual(date) for date in fridays], axis=0).tolist()
    assert not {SALE, RELEASE} & {*rows[7].Dates, *rows[7].NormalDates}
    sundays = [dt.date(2026, 11, day) for day in (11, 15, 22, 26)]  # Veterans Day and Thanksgiving are holidays
    assert rows[7].Last4Avg == np.mean([usual(date) for date in sundays], axis=0).tolist()
    assert rows[2].Level[2] == pytest.approx(1020, abs=20)
    assert rows[2].Last4Avg[2:4] == [0, 0], "the plain average is of all readings"
    assert set(TUESDAYS) <= set(rows[2].NormalDates)


def test_the_day_after_a_special_day_changes_nothing_and_passes_the_gate(lake):
    first, second = tables.candidate(lake, FEED).commits()[::-1]
    assert first.note["inputs"] == second.note["inputs"]
    assert tables.log_of_baseline(lake, FEED).in_force.run_id == "n2"


def test_the_next_special_day_is_taken_for_what_the_last_one_was_like(lake):
    note = tables.candidate(lake, FEED).newest_commit_with("holidays").note
    like = {day: each["like"] for day, each in note["holidays"].items()}
    assert (like[str(SALE)], like[str(RELEASE)]) == ("sunday", None)
    log = tables.log_of_baseline(lake, FEED)
    assert log.in_force.special_days == dict(score_query._special_days(log)) == {NEXT: "sunday"}
    assert [feed.calendar.day_type(NEXT) for feed in (FEED, FEED.with_found(log.in_force.special_days))] == [5, 7]
