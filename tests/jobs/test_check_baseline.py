"""Build, gate and promotion on real Delta tables; the averages are checked by DuckDB, which shares no code with the jobs."""

import datetime as dt
import json
import math
import shutil
from pathlib import Path

import deltalake
import duckdb
import pytest
from pyspark.sql import functions as F

from contracts.feeds import load_feed
from jobs import build_baseline, check_baseline, promote_baseline
from jobs.backends import tables
from jobs.backends.history_table import merge
from jobs.errors import JobError
from tests.jobs.readings import arrived

FEED = load_feed("road-traffic")
AS_OF = dt.date(2026, 12, 1)


@pytest.fixture(scope="module")
def loaded(spark, prebuilt) -> Path:
    """Nine weeks of hourly readings of two roads, Thanksgiving and Veterans Day among them."""
    return prebuilt(lambda platform: load(spark, platform, days=63))


@pytest.fixture(scope="module")
def checked(run_job, prebuilt, loaded) -> Path:
    """A candidate of these that has passed the gate."""

    def fill(platform) -> None:
        build(run_job, platform)
        check(run_job, platform)

    return prebuilt(fill, loaded)


@pytest.fixture(scope="module")
def promoted(run_job, prebuilt, checked) -> Path:
    """The candidate in force."""
    return prebuilt(lambda platform: promote(run_job, platform), checked)


def load(spark, lake_platform, days: int) -> None:
    """Readings of the days before AS_OF."""
    first = dt.datetime.combine(AS_OF - dt.timedelta(days=days), dt.time(), FEED.zone)
    hours = [first.astimezone(dt.UTC) + dt.timedelta(hours=number) for number in range(days * 24)]
    rows = [
        (road, at, (at.hour * 37 + at.day * 11 + number) % 5000 + 100, 0, number)
        for number, at in enumerate(hours)
        for road in ("I-94", "I-35")
    ]
    merge(spark, tables.history(lake_platform, FEED), arrived(spark, FEED, rows), {})


def build(run_job, platform, run_id="night-1"):
    run_job(build_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--as-of", AS_OF.isoformat())


def check(run_job, platform, run_id="night-1"):
    run_job(check_baseline, platform, "--feed", FEED.name, "--run-id", run_id)


def promote(run_job, platform, run_id="night-1"):
    run_job(promote_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--by", "tests")


def by_duckdb(platform) -> dict:
    """(service, day type, slot) to average, by SQL over the table's Parquet, from the words of the definition alone."""
    readings = deltalake.DeltaTable(tables.history(platform, FEED).path).to_pyarrow_table()
    holidays = "DATE '2026-11-11', DATE '2026-11-26'"  # Veterans Day and Thanksgiving
    rows = duckdb.sql(f"""
        WITH placed AS (
            SELECT ServiceName, Value, Date, hour(timezone('America/Chicago', Timestamp)) AS slot,
                   CASE WHEN Date IN ({holidays}) THEN 7 ELSE isodow(Date) END AS day_type
            FROM readings WHERE Date < DATE '{AS_OF}'
        ), ranked AS (SELECT *, dense_rank() OVER (PARTITION BY day_type ORDER BY Date DESC) AS back FROM placed)
        SELECT ServiceName, day_type, slot, avg(Value) FROM ranked WHERE back <= 4 GROUP BY ALL HAVING count(*) >= 2
    """).fetchall()
    assert readings.num_rows
    return {row[:3]: row[3] for row in rows}


def test_the_promoted_baseline_agrees_with_duckdb_on_every_slot(spark, lake_platform, promoted):
    holidays = FEED.calendar.declared(dt.date(2026, 9, 29), AS_OF)
    assert list(holidays) == [dt.date(2026, 11, 11), dt.date(2026, 11, 26)]
    shutil.copytree(promoted, lake_platform.lake)
    rows = tables.baseline(lake_platform, FEED).read(spark).collect()
    found = {
        (row.ServiceName, row.DayType, slot): average
        for row in rows
        for slot, average in enumerate(row.Last4Avg)
        if average is not None
    }
    assert found == by_duckdb(lake_platform)
    assert len(found) == 2 * 7 * 24


def test_a_promotion_is_one_commit_that_says_who_why_and_from_what(run_job, lake_platform, promoted):
    shutil.copytree(promoted, lake_platform.lake)
    promote(run_job, lake_platform)  # run again: nothing more
    (commit,) = tables.baseline(lake_platform, FEED).commits()
    assert commit.note | {"at": "", "inputs": {}} == {
        "candidate_version": 0,
        "run_id": "night-1",
        "as_of": "2026-12-01",
        "gate": True,
        "by": "tests",
        "reason": "passed the gate",
        "at": "",
        "inputs": {},
        "special_days": {},
        "special_days_why": {},
    }
    assert sorted(commit.note["inputs"]) == list("1234567")


def corrupt(spark, platform, change, run_id):
    """A candidate of that run whose rows went through `change`."""
    table = tables.candidate(platform, FEED)
    rows = spark.createDataFrame(change(table.read(spark)).collect(), table.read(spark).schema)
    newest = table.newest_commit_with("inputs").note
    table.replace(rows, range(1, 8), newest | {"run_id": run_id, "inputs": dict.fromkeys(newest["inputs"], "corrupt")})


CORRUPTIONS = {
    "Lost": lambda rows: rows.where("ServiceName <> 'I-35'"),
    "Finite": lambda rows: rows.withColumn("Last4Avg", F.transform("Last4Avg", lambda _: F.lit(math.nan))),
    "Lowest": lambda rows: rows.withColumn("Last4Avg", F.transform("Last4Avg", lambda x: -x)),
    "CoveredShare": lambda rows: rows.withColumn("Last4Avg", F.transform("Last4Avg", lambda x, i: F.when(i < 20, x))),
    "Slots": lambda rows: rows.withColumn("Last4Avg", F.slice("Last4Avg", 1, 12)),
    "MovedShare": lambda rows: rows.withColumn("Last4Avg", F.transform("Last4Avg", lambda x: x * 3)),
    "Rows": lambda rows: rows.unionAll(rows.limit(1)),
    "HoldoutLoss": lambda rows: rows.withColumn("Last4Avg", F.transform("Last4Avg", lambda x: x * 1.4)),
    "NormalLoss": lambda rows: rows.withColumns({name: F.transform(name, lambda x: x * 3) for name in ("Level", "LevelBefore")}),
    "AgeDays": lambda rows: rows.withColumn("Dates", F.transform("Dates", lambda x: F.date_sub(x, 1))),
}


IN_EACH_RUN = ("MovedShare",)  # each figure is a whole run of the gate


@pytest.mark.parametrize(
    "figure", [pytest.param(each, marks=[] if each in IN_EACH_RUN else pytest.mark.full) for each in CORRUPTIONS]
)
def test_a_corrupt_candidate_is_refused_and_the_baseline_in_force_stays(spark, run_job, lake_platform, promoted, figure, capsys):
    shutil.copytree(promoted, lake_platform.lake)
    corrupt(spark, lake_platform, CORRUPTIONS[figure], "night-2")
    with pytest.raises(JobError, match=rf"gate refused candidate 1 of road-traffic.*{figure}"):
        check(run_job, lake_platform, "night-2")
    assert "FAILED" in capsys.readouterr().out
    with pytest.raises(JobError, match="the gate refused candidate 1"):
        promote(run_job, lake_platform, "night-2")
    assert tables.baseline(lake_platform, FEED).version() == 0
    results = tables.gate_results(lake_platform).read(spark).where("RunId = 'night-2'").collect()
    assert [row.Success for row in results] == [False]
    failed = [each for each in json.loads(results[0].Results) if not each["success"]]
    assert [each for each in failed if figure in each["expectation"]]
    assert "road-traffic" in (Path(results[0].DocsPath) / "index.html").read_text()


@pytest.mark.full
def test_a_verdict_on_another_baseline_than_the_one_in_force_promotes_nothing(run_job, lake_platform, checked):
    """Two runs at once: what the slower one's gate compared with is no longer in force."""
    shutil.copytree(checked, lake_platform.lake)
    build(run_job, lake_platform, "night-2")
    check(run_job, lake_platform, "night-2")
    promote(run_job, lake_platform, "night-2")
    stale = (
        "the gate compared candidate 0 with version -1, but version 0 was put in force by tests since then; clear check_baseline"
    )
    with pytest.raises(JobError, match=stale):
        promote(run_job, lake_platform)
    assert tables.baseline(lake_platform, FEED).version() == 0
    check(run_job, lake_platform)
    promote(run_job, lake_platform)
    assert tables.baseline(lake_platform, FEED).newest_commit_with("inputs").note["candidate_version"] == 0


@pytest.mark.full
def test_kinds_of_day_without_a_baseline_are_not_counted(spark, run_job, lake_platform, capsys):
    """A week of history with a holiday on Thursday: two dates of the Sunday's kind, one of each other."""
    load(spark, lake_platform, days=7)
    build(run_job, lake_platform)
    with pytest.raises(JobError, match="gate refused candidate 0"):
        check(run_job, lake_platform)
    told = capsys.readouterr().out
    assert "Coverage: every kind of day has a baseline. Observed: 1" in told


def test_a_run_without_a_candidate_or_without_a_check_is_told_so(run_job, lake_platform, loaded):
    shutil.copytree(loaded, lake_platform.lake)
    with pytest.raises(JobError, match=r"holds none of run night-9; run jobs/build_baseline\.py first"):
        check(run_job, lake_platform, "night-9")
    with pytest.raises(JobError, match="no candidate of road-traffic was ever checked"):
        promote(run_job, lake_platform, "night-9")


def test_a_history_that_is_not_there_is_told_so(run_job, lake_platform):
    with pytest.raises(JobError, match="history/road_traffic does not exist; archive the feed first"):
        build(run_job, lake_platform)
