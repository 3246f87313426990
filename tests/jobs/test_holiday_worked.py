"""A capture with a holiday on which people worked as usual, and a surge three weeks later: loaded, judged by the gate, scored."""

import datetime as dt
import shutil
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest

from contracts.feeds import Feed, Rule
from contracts.incidents import Incidents
from jobs import bootstrap, build_baseline, check_baseline, promote_baseline
from jobs.backends import tables
from jobs.formats.wire import Writers
from jobs.streams import score_query
from jobs.transforms import scoring
from stack.backtest.result import backtest, of_capture
from stack.backtest.rows import read_rows
from tests.jobs.captures import table
from tests.transforms.test_holiday_kinds import day_of

pytestmark = pytest.mark.full

FIRST, HOLIDAY, AS_OF = dt.date(2026, 6, 1), dt.date(2026, 10, 12), dt.date(2026, 11, 1)  # Columbus Day; a Sunday
SURGE = range(20, 28)  # half hours
FEED = Feed(
    name="demand",
    description="Demand, every half hour",
    record="service_use_record",
    interval_seconds=1800,
    spread_window_seconds=10800,
    timezone="America/Phoenix",
    holidays={"country": "US"},
)


def values(date: dt.date) -> np.ndarray:
    """Every holiday is as its weekday is."""
    found = day_of("sunday" if date.isoweekday() > 5 else "weekday", date.toordinal())
    if date == AS_OF:
        found[SURGE] = np.rint(found[SURGE] * 1.98)
    return found


def rows(*dates: dt.date) -> list[tuple[dt.datetime, int]]:
    """(time, reading); no clock is changed in Phoenix."""
    half_hour = dt.timedelta(seconds=FEED.interval_seconds)
    begin = {date: dt.datetime.combine(date, dt.time(), FEED.zone) for date in dates}
    return [(begin[date] + slot * half_hour, int(value)) for date in dates for slot, value in enumerate(values(date))]


DATES = [FIRST + dt.timedelta(days=back) for back in range((AS_OF - FIRST).days)]


@pytest.fixture(scope="module")
def capture_of(tmp_path_factory):
    """capture_of(*dates): a CSV file."""

    def write(*dates: dt.date) -> Path:
        return table(tmp_path_factory.mktemp("capture"), *(f"grid,{at.isoformat()},{value}" for at, value in rows(*dates)))

    return write


@pytest.fixture(scope="module")
def night(run_job, prebuilt, capture_of) -> Path:
    """The history of the capture up to the surge, and the baseline of that night, which the gate has passed."""
    capture, of = capture_of(*DATES), ("--feed", FEED.name, "--run-id", "n1")

    def fill(platform) -> None:
        run_job(bootstrap, platform, *of, "--from", str(capture))
        run_job(build_baseline, platform, *of, "--as-of", str(AS_OF))
        run_job(check_baseline, platform, *of)
        run_job(promote_baseline, platform, *of, "--by", "tests")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.backends.settings.load_feed", lambda name: FEED)
        return prebuilt(fill)


@pytest.fixture
def flagged(spark, lake_platform, night):
    """flagged(rule): the half hours of the Sunday of the surge whose reading breaks the rule."""
    shutil.copytree(night, lake_platform.lake)
    log = tables.log_of_baseline(lake_platform, FEED)
    assert log.in_force.run_id == "n1"
    readings = [("grid", at, value) for at, value in rows(AS_OF)]
    sunday = spark.createDataFrame(readings, "ServiceName string, Timestamp timestamp, Value long")

    def of(rule: Rule) -> set[int]:
        feed = FEED.model_copy(update={"rule": rule})
        plan = score_query.Plan(0, frozenset({7}), Writers(f"{FEED.topic}-value", ()), (), table_version=log.in_force.version)
        baseline = score_query.Queries(spark, lake_platform, feed, MagicMock()).baseline(plan)
        scored = scoring.score(sunday, baseline, FEED.timezone, FEED.interval_seconds, {}, rule.model_dump()).collect()
        assert {row.DayType for row in scored} == {7}
        return {row.Slot for row in scored if row.Anomalous}

    return of


def test_the_surge_is_flagged_and_nothing_else(flagged):
    assert flagged(Rule(normal="robust", percent=50, spread=4)) == set(SURGE)


def test_as_the_mean_of_the_last_four_has_it_the_surge_is_hidden(flagged):
    assert not set(SURGE) <= flagged(Rule(percent=50, spread=4))


def test_the_holiday_was_found_to_be_as_its_weekday(lake_platform, night):
    shutil.copytree(night, lake_platform.lake)
    [baseline] = [each for each in tables.baseline(lake_platform, FEED).dataset(0).to_table().to_pylist() if each["DayType"] == 7]
    assert HOLIDAY in baseline["Dates"], "the plain average counts it as it is declared"
    assert HOLIDAY not in baseline["NormalDates"]
    found = tables.candidate(lake_platform, FEED).newest_commit_with("holidays").note["holidays"]
    assert found[str(HOLIDAY)]["like"] == "weekday"


def test_the_detector_opens_one_incident_of_the_surge(capture_of):
    capture = capture_of(*DATES, AS_OF)
    settings = of_capture(FEED.interval_seconds, "US", Incidents())
    result = backtest(read_rows(capture, "Timestamp", "Value", "ServiceName", FEED.timezone), settings, 28 * 86_400)
    of_sunday = len(result.rows.values) - FEED.slots
    [incident] = [each for each in result.incidents if each.rows[-1] >= of_sunday]
    assert incident.rows[0] - of_sunday in SURGE
