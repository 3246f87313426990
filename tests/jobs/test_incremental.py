"""A nightly build that computes only what changed equals a full one, row for row; promotion, rollback, approval and backfill."""

import datetime as dt

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.feeds import load_feed
from jobs import build_baseline, check_baseline, lake, promote_baseline, rollback_baseline
from jobs.history import merge
from jobs.settings import JobError
from jobs.transforms.history import placed

FEED = load_feed("road-traffic")
READINGS = "ServiceName string, Timestamp timestamp, Value long, KafkaPartition int, KafkaOffset long"
FIRST = dt.date(2026, 10, 1)  # Veterans Day, Thanksgiving and the end of daylight saving come within nine weeks
AS_OF = dt.date(2026, 11, 30)


def readings(date: dt.date, hours=range(24), services=("I-94", "I-35"), value=100, offset=0):
    at = [dt.datetime.combine(date, dt.time(hour), FEED.zone).astimezone(dt.UTC) for hour in hours]
    return [(service, each, value + each.hour + each.day, 0, offset) for service in services for each in at]


def arrive(spark, platform, rows) -> None:
    """As archiving brings them in."""
    frame = placed(spark.createDataFrame(rows, READINGS), FEED.timezone, FEED.interval_seconds)
    merge(spark, lake.history(platform, FEED), frame, {"offsets": {}})


def build(run_job, platform, run_id, as_of, *more):
    run_job(build_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--as-of", str(as_of), *more)


def rows_of(spark, platform, table=lake.candidate) -> list:
    return sorted(map(tuple, table(platform, FEED).read(spark).collect()))


NIGHTS = st.lists(
    st.lists(
        st.builds(
            readings,
            date=st.integers(0, 62).map(lambda days: FIRST + dt.timedelta(days=days)),
            hours=st.lists(st.integers(0, 23), min_size=1, max_size=4, unique=True),
            services=st.sampled_from([("I-94",), ("I-35", "I-90")]),
            value=st.integers(0, 1000),
            offset=st.integers(1, 9),
        ),
        max_size=3,
    ),
    min_size=2,
    max_size=3,
)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(nights=NIGHTS)
def test_incremental_equals_full(spark, run_job, lake_platform, tmp_path_factory, nights):
    """Nights with late, repeated and corrected readings, gaps, holidays and the hour that comes twice."""
    platform = lake_platform.__class__(**vars(lake_platform) | {"lake": str(tmp_path_factory.mktemp("lake"))})
    arrive(
        spark, platform, [row for days in range(0, 59, 2) for row in readings(FIRST + dt.timedelta(days=days), hours=(0, 1, 9))]
    )
    for number, arrivals in enumerate(nights):
        arrived = {row[:2]: row for batch in arrivals for row in batch}
        if arrived:
            arrive(spark, platform, list(arrived.values()))
        build(run_job, platform, f"night-{number}", AS_OF + dt.timedelta(days=number))
    incremental = rows_of(spark, platform)
    build(run_job, platform, "full", AS_OF + dt.timedelta(days=len(nights) - 1), "--full")
    assert incremental == rows_of(spark, platform)
    assert incremental


@pytest.fixture
def history(spark, lake_platform):
    days = (AS_OF - FIRST).days
    arrive(spark, lake_platform, [row for day in range(days) for row in readings(FIRST + dt.timedelta(days=day))])


def night(run_job, platform, run_id, as_of, *more):
    build(run_job, platform, run_id, as_of, *more)
    run_job(check_baseline, platform, "--feed", FEED.name, "--run-id", run_id)
    promote(run_job, platform, run_id)


def promote(run_job, platform, run_id, *more):
    run_job(promote_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--by", "tests", *more)


def roll_back(run_job, platform, run_id, version):
    run_job(
        rollback_baseline,
        platform,
        *("--feed", FEED.name, "--run-id", run_id, "--to-version", str(version), "--by", "mara", "--reason", "wrong holiday"),
    )


def test_a_run_under_way_promotes_nothing_over_a_rollback(spark, run_job, lake_platform, history):
    night(run_job, lake_platform, "n1", AS_OF)
    arrive(spark, lake_platform, readings(AS_OF, value=120))
    night(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    build(run_job, lake_platform, "n3", AS_OF + dt.timedelta(days=1))
    run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "n3")
    roll_back(run_job, lake_platform, "r1", 0)
    with pytest.raises(JobError, match="compared candidate 2 with version 1, but version 2 was put in force by mara since then"):
        promote(run_job, lake_platform, "n3")


def test_a_night_computes_the_one_kind_of_day_that_changed(spark, run_job, lake_platform, history, capsys):
    night(run_job, lake_platform, "n1", AS_OF)
    arrive(spark, lake_platform, readings(AS_OF, value=120))  # a Monday
    capsys.readouterr()
    night(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    said = capsys.readouterr().out
    assert "reading 2026-11-09, 2026-11-16, 2026-11-23, 2026-11-30" in said
    assert "version 1 as of 2026-12-01, day types 1 computed" in said
    arrive(spark, lake_platform, readings(dt.date(2026, 11, 26), hours=[3], value=900, offset=7))  # a holiday: among the Sundays
    build(run_job, lake_platform, "n3", AS_OF + dt.timedelta(days=1))
    assert "day types 7 computed" in capsys.readouterr().out
    build(run_job, lake_platform, "n4", AS_OF + dt.timedelta(days=1))
    assert "version 3 as of 2026-12-01, nothing has changed" in capsys.readouterr().out


def test_a_promotion_writes_what_changed_and_is_the_candidate_row_for_row(spark, run_job, lake_platform, history):
    night(run_job, lake_platform, "n1", AS_OF)
    arrive(spark, lake_platform, readings(AS_OF, value=120))
    before = lake.baseline(lake_platform, FEED).parts()
    night(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    after = lake.baseline(lake_platform, FEED).parts()
    assert {day_type for day_type in after if after[day_type] != before[day_type]} == {"1"}
    assert rows_of(spark, lake_platform, lake.baseline) == rows_of(spark, lake_platform)


def test_a_candidate_that_somebody_wrote_to_is_built_whole(spark, run_job, lake_platform, history, capsys):
    build(run_job, lake_platform, "n1", AS_OF)
    expected = rows_of(spark, lake_platform)
    spark.sql(f"DELETE FROM delta.`{lake.candidate(lake_platform, FEED).path}` WHERE DayType = 3")
    build(run_job, lake_platform, "n2", AS_OF)
    assert "day types 1, 2, 3, 4, 5, 6, 7 computed" in capsys.readouterr().out
    assert rows_of(spark, lake_platform) == expected


def test_a_rollback_brings_an_older_version_back_and_says_who_and_why(spark, run_job, lake_platform, history):
    night(run_job, lake_platform, "n1", AS_OF)
    first = rows_of(spark, lake_platform, lake.baseline)
    arrive(spark, lake_platform, readings(AS_OF, value=120))
    night(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    second = rows_of(spark, lake_platform, lake.baseline)
    roll_back(run_job, lake_platform, "r1", 0)
    roll_back(run_job, lake_platform, "r1", 0)  # run again: nothing more
    newest, *older = lake.baseline(lake_platform, FEED).commits()
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
    assert rows_of(spark, lake_platform, lake.baseline) == first != second
    # The next night finds what changed against the one that is in force again.
    night(run_job, lake_platform, "n3", AS_OF + dt.timedelta(days=1))
    assert rows_of(spark, lake_platform, lake.baseline) == second


@pytest.mark.parametrize("version", [-1, 1, 7])
def test_a_rollback_to_a_version_that_is_none_names_those_that_are(run_job, lake_platform, history, version):
    night(run_job, lake_platform, "n1", AS_OF)
    night(run_job, lake_platform, "n2", AS_OF)
    with pytest.raises(JobError, match=rf"--to-version {version}: of baseline/road_traffic, 1 in force, one of: 0"):
        roll_back(run_job, lake_platform, "r1", version)
    assert lake.baseline(lake_platform, FEED).version() == 1


def test_a_refused_candidate_can_be_approved_by_a_person_with_a_reason(spark, run_job, lake_platform, history):
    night(run_job, lake_platform, "n1", AS_OF)
    arrive(spark, lake_platform, readings(AS_OF, value=5000))
    build(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    with pytest.raises(JobError, match="gate refused candidate 1"):
        run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "n2")
    with pytest.raises(JobError, match="--approved-by needs a --reason"):
        promote(run_job, lake_platform, "n2", "--approved-by", "mara", "--reason", " ")
    with pytest.raises(JobError, match="a person may approve it"):
        promote(run_job, lake_platform, "n2")
    promote(run_job, lake_platform, "n2", "--approved-by", "mara", "--reason", "the road was widened")
    note = lake.baseline(lake_platform, FEED).commits(1)[0].note
    assert (note["gate"], note["by"], note["reason"], note["candidate_version"]) == (False, "mara", "the road was widened", 1)
    assert rows_of(spark, lake_platform, lake.baseline) == rows_of(spark, lake_platform)


def test_a_backfilled_night_stays_a_candidate_where_a_newer_one_is_in_force(spark, run_job, lake_platform, history, capsys):
    night(run_job, lake_platform, "n1", AS_OF)
    in_force = rows_of(spark, lake_platform, lake.baseline)
    earlier = AS_OF - dt.timedelta(days=3)
    build(run_job, lake_platform, "b1", earlier)
    promote_error = pytest.raises(JobError, match="has no gate result")
    with promote_error:
        promote(run_job, lake_platform, "b1")
    run_job(check_baseline, lake_platform, "--feed", FEED.name, "--run-id", "b1")
    promote(run_job, lake_platform, "b1")
    assert f"as of {AS_OF}, is in force; candidate 1, as of {earlier}, stays one" in capsys.readouterr().out
    assert rows_of(spark, lake_platform, lake.baseline) == in_force
    backfilled = rows_of(spark, lake_platform)
    assert max(date for row in backfilled for date in row[-1]) == earlier - dt.timedelta(days=1)
    build(run_job, lake_platform, "b1-full", earlier, "--full")
    assert rows_of(spark, lake_platform) == backfilled
