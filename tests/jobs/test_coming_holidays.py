"""Nights of a feed on whose holidays people always worked: what the next one is scored by, and what the gate says afterwards."""

import datetime as dt
import shutil
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from contracts.feeds import Rule
from jobs import build_baseline, check_baseline, promote_baseline
from jobs.backends import tables
from jobs.backends.history_table import merge
from jobs.formats.wire import Writers
from jobs.streams import score_query
from jobs.transforms import scoring
from tests.jobs.readings import arrived
from tests.jobs.test_holiday_worked import FEED, FIRST, rows

pytestmark = pytest.mark.full

VETERANS_DAY, WEDNESDAY = dt.date(2026, 11, 11), 3
N1, N2 = dt.date(2026, 11, 2), dt.date(2026, 11, 12)
RULE = Rule(normal="robust", percent=50, spread=4)


@pytest.fixture(scope="module")
def nights(spark, run_job, prebuilt) -> Path:
    """The night of before the holiday, in force; and a candidate of the night after it."""

    def fill(platform) -> None:
        dates = [FIRST + dt.timedelta(days=day) for day in range((N2 - FIRST).days)]
        history = arrived(spark, FEED, [("grid", at, value, 0, 0) for at, value in rows(*dates)])
        merge(spark, tables.history(platform, FEED), history, {})
        for run_id, as_of in (("n1", N1), ("n2", N2)):
            run_job(build_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--as-of", str(as_of))
            if run_id == "n1":
                run_job(check_baseline, platform, "--feed", FEED.name, "--run-id", run_id)
                run_job(promote_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--by", "tests")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.backends.settings.load_feed", lambda name: FEED)
        return prebuilt(fill)


@pytest.fixture
def lake(lake_platform, nights):
    shutil.copytree(nights, lake_platform.lake)
    return lake_platform


def test_the_coming_holiday_is_taken_for_what_all_others_were_like(lake):
    in_force = tables.log_of_baseline(lake, FEED).in_force
    assert (in_force.run_id, in_force.special_days) == ("n1", {VETERANS_DAY: "weekday"})
    why = "all 4 holidays from 2026-06-19 to 2026-10-12 were like its weekday"
    assert in_force.special_days_why == {VETERANS_DAY: why}


def test_the_stream_scores_it_by_its_weekday(spark, lake):
    found = dict(score_query._special_days(tables.log_of_baseline(lake, FEED)))
    plan = score_query.Plan(0, frozenset({WEDNESDAY, 7}), Writers(f"{FEED.topic}-value", ()), (), table_version=0)
    baseline = score_query.Queries(spark, lake, FEED.model_copy(update={"rule": RULE}), MagicMock()).baseline(plan)
    readings = spark.createDataFrame(
        [("grid", *row) for row in rows(VETERANS_DAY)], "ServiceName string, Timestamp timestamp, Value long"
    )

    def scored(feed) -> tuple[set[int], int]:
        others = feed.calendar.other_day_types(VETERANS_DAY, VETERANS_DAY)
        each = scoring.score(readings, baseline, FEED.timezone, FEED.interval_seconds, others, RULE.model_dump()).collect()
        return {row.DayType for row in each}, sum(row.Anomalous for row in each)

    assert scored(FEED.with_found(found)) == ({WEDNESDAY}, 0)
    day_types, anomalies = scored(FEED)
    assert (day_types, anomalies > 8) == ({7}, True), "as declared, office hours are anomalies"


def test_the_gate_predicts_it_by_its_weekday(lake):
    candidate = tables.candidate_of(lake, FEED, "n2")
    figures = check_baseline.profiled(lake, FEED, candidate, tables.log_of_baseline(lake, FEED))
    predicted = figures[figures["HoldoutLoss"].notna()]
    assert predicted["DayType"].tolist() == [WEDNESDAY]
