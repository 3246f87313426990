"""A rollback puts an older version in force again, and says who did it and why."""

import datetime as dt

import pytest

from jobs.backends import tables
from jobs.errors import JobError
from tests.jobs.nights import AS_OF, FEED, night, roll_back, rows_of


@pytest.mark.full
def test_a_rollback_brings_an_older_version_back_and_says_who_and_why(spark, run_job, lake_platform, after_n2):
    first, second = (rows_of(spark, lake_platform, tables.baseline, version) for version in (0, 1))
    roll_back(run_job, lake_platform, "r1", 0)
    roll_back(run_job, lake_platform, "r1", 0)  # run again: nothing more
    newest, *older = tables.baseline(lake_platform, FEED).commits()
    assert (newest.version, [commit.version for commit in older]) == (2, [1, 0])
    said = {
        "rolled_back_to": 0,
        "by": "mara",
        "reason": "wrong holiday",
        "run_id": "r1",
        "candidate_version": 0,
        "as_of": str(AS_OF),
    }
    assert newest.note.items() >= said.items()
    assert rows_of(spark, lake_platform, tables.baseline) == first != second
    # The next night finds what changed against the one that is in force again.
    night(run_job, lake_platform, "n3", AS_OF + dt.timedelta(days=1))
    assert rows_of(spark, lake_platform, tables.baseline) == second


@pytest.mark.full
@pytest.mark.parametrize("version", [-1, 1, 7])
def test_a_rollback_to_a_version_that_is_none_names_those_that_are(run_job, lake_platform, after_n2, version):
    with pytest.raises(JobError, match=rf"--to-version {version}: of baseline/road_traffic, 1 in force, one of: 0"):
        roll_back(run_job, lake_platform, "r1", version)
    assert tables.baseline(lake_platform, FEED).version() == 1


@pytest.mark.full
def test_upkeep_hides_neither_the_version_in_force_nor_those_to_roll_back_to(spark, run_job, lake_platform, after_n2):
    first = rows_of(spark, lake_platform, tables.baseline, 0)
    tables.baseline(lake_platform, FEED).log().alter.set_table_properties({"delta.logRetentionDuration": "interval 30 days"})
    for version in (1, 2):
        with pytest.raises(JobError, match=rf"--to-version {version}: of baseline/road_traffic, 1 in force, one of: 0"):
            roll_back(run_job, lake_platform, "r1", version)
    roll_back(run_job, lake_platform, "r1", 0)
    assert rows_of(spark, lake_platform, tables.baseline) == first


@pytest.mark.full
def test_what_was_written_past_the_jobs_can_be_rolled_back(spark, run_job, lake_platform, after_n1):
    promoted = rows_of(spark, lake_platform, tables.baseline)
    spark.sql(f"DELETE FROM delta.`{tables.baseline(lake_platform, FEED).path}` WHERE DayType = 3")
    assert rows_of(spark, lake_platform, tables.baseline) != promoted
    roll_back(run_job, lake_platform, "r1", 0)
    assert rows_of(spark, lake_platform, tables.baseline) == promoted
