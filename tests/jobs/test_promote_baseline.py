"""A promotion copies what changed, one commit that is not made over another baseline; approval and backfill."""

import datetime as dt

import pytest

from jobs import check_baseline
from jobs.backends import tables
from jobs.errors import JobError
from tests.jobs.nights import AS_OF, FEED, arrive, build, night, promote, readings, roll_back, rows_of


@pytest.mark.full
def test_a_run_under_way_promotes_nothing_over_a_rollback(run_job, lake_platform, after_n2):
    build(run_job, lake_platform, "n3", AS_OF + dt.timedelta(days=1))
    run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "n3")
    roll_back(run_job, lake_platform, "r1", 0)
    with pytest.raises(JobError, match="compared candidate 2 with version 1, but version 2 was put in force by mara since then"):
        promote(run_job, lake_platform, "n3")


@pytest.mark.full
def test_a_promotion_writes_what_changed_and_is_the_candidate_row_for_row(spark, lake_platform, after_n2):
    before, after = (tables.baseline(lake_platform, FEED).fingerprints(version) for version in (0, 1))
    assert {day_type for day_type in after if after[day_type] != before[day_type]} == {"1"}
    assert rows_of(spark, lake_platform, tables.baseline) == rows_of(spark, lake_platform)


@pytest.mark.full
def test_a_refused_candidate_can_be_approved_by_a_person_with_a_reason(spark, run_job, lake_platform, after_n1):
    arrive(spark, lake_platform, readings(AS_OF, value=5000))
    build(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    with pytest.raises(JobError, match="gate refused candidate 1"):
        run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "n2")
    with pytest.raises(JobError, match="--approved-by needs a --reason"):
        promote(run_job, lake_platform, "n2", "--approved-by", "mara", "--reason", " ")
    with pytest.raises(JobError, match="a person may approve it"):
        promote(run_job, lake_platform, "n2")
    with pytest.raises(JobError, match="candidate 0 was approved, and candidate 1 was built since"):
        promote(run_job, lake_platform, "n2", "--approved-by", "mara", "--reason", "x", "--approved-candidate", "0")
    approved = ("--approved-by", "mara", "--reason", "the road was widened", "--approved-candidate", "1")
    promote(run_job, lake_platform, "n2", *approved)
    note = tables.baseline(lake_platform, FEED).commits(1)[0].note
    assert (note["gate"], note["by"], note["reason"], note["candidate_version"]) == (False, "mara", "the road was widened", 1)
    assert rows_of(spark, lake_platform, tables.baseline) == rows_of(spark, lake_platform)


@pytest.mark.full
def test_a_verdict_on_an_earlier_candidate_of_the_run_promotes_nothing(run_job, lake_platform, after_n1):
    """The run was cleared and built again, and the gate has not judged that yet."""
    build(run_job, lake_platform, "n2", AS_OF)
    run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "n2")
    build(run_job, lake_platform, "n2", AS_OF)
    with pytest.raises(JobError, match="run n2 of road-traffic has no gate result of candidate 2; run jobs/check_baseline"):
        promote(run_job, lake_platform, "n2")
    assert tables.log_of_baseline(lake_platform, FEED).in_force.run_id == "n1"
    run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "n2")
    promote(run_job, lake_platform, "n2")
    assert tables.log_of_baseline(lake_platform, FEED).in_force.candidate_version == 2


@pytest.mark.full
def test_a_backfilled_night_stays_a_candidate_where_a_newer_one_is_in_force(spark, run_job, lake_platform, after_n1, capsys):
    in_force = rows_of(spark, lake_platform, tables.baseline)
    earlier = AS_OF - dt.timedelta(days=3)
    build(run_job, lake_platform, "b1", earlier)
    promote_error = pytest.raises(JobError, match="has no gate result")
    with promote_error:
        promote(run_job, lake_platform, "b1")
    run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "b1")
    promote(run_job, lake_platform, "b1")
    assert f"as of {AS_OF}, is in force; candidate 1, as of {earlier}, stays one" in capsys.readouterr().out
    assert rows_of(spark, lake_platform, tables.baseline) == in_force
    backfilled = rows_of(spark, lake_platform)
    assert max(date for row in backfilled for date in row[-1]) == earlier - dt.timedelta(days=1)
    build(run_job, lake_platform, "b1-full", earlier, "--full")
    assert rows_of(spark, lake_platform) == backfilled


@pytest.mark.full
def test_a_promotion_over_what_was_written_past_the_jobs_leaves_nothing_of_it(spark, run_job, lake_platform, after_n1):
    spark.sql(f"DELETE FROM delta.`{tables.baseline(lake_platform, FEED).path}` WHERE DayType = 3")
    arrive(spark, lake_platform, readings(AS_OF, value=120))  # a Monday, so the candidate of Wednesday stays as it was
    night(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    assert rows_of(spark, lake_platform, tables.baseline) == rows_of(spark, lake_platform)


@pytest.mark.full
def test_a_promotion_after_upkeep_is_one_against_the_version_in_force(spark, run_job, lake_platform, after_n1):
    build(run_job, lake_platform, "n2", AS_OF)
    run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "n2")
    tables.baseline(lake_platform, FEED).log().alter.set_table_properties({"delta.logRetentionDuration": "interval 30 days"})
    promote(run_job, lake_platform, "n2")
    assert tables.log_of_baseline(lake_platform, FEED).in_force.run_id == "n2"
    assert rows_of(spark, lake_platform, tables.baseline) == rows_of(spark, lake_platform)
