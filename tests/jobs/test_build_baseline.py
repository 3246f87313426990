"""A nightly build that computes only what changed equals a full one, row for row."""

import datetime as dt
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.calendar_entries import Entry
from contracts.exclusions import Excluded
from jobs import build_baseline
from jobs.backends import tables
from tests.jobs.nights import AS_OF, FEED, FIRST, arrive, build, night, readings, rows_of

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


@pytest.fixture(scope="module")
def sparse(spark, prebuilt) -> Path:
    """A few hours of every other day."""
    rows = [row for days in range(0, 59, 2) for row in readings(FIRST + dt.timedelta(days=days), hours=(0, 1, 9))]
    return prebuilt(lambda platform: arrive(spark, platform, rows))


@pytest.mark.full
@pytest.mark.timeout(900)
@settings(max_examples=max(2, settings().max_examples // 40))  # each is several nights of Spark jobs
@given(nights=NIGHTS)
def test_incremental_equals_full(spark, run_job, lake_platform, tmp_path_factory, sparse, nights):
    """Nights with late, repeated and corrected readings, gaps, holidays and the hour that comes twice."""
    platform = replace(lake_platform, lake=str(tmp_path_factory.mktemp("copy") / "lake"))
    shutil.copytree(sparse, platform.lake)
    for number, arrivals in enumerate(nights):
        arrived = {row[:2]: row for batch in arrivals for row in batch}
        if arrived:
            arrive(spark, platform, list(arrived.values()))
        build(run_job, platform, f"night-{number}", AS_OF + dt.timedelta(days=number))
    incremental = rows_of(spark, platform)
    build(run_job, platform, "full", AS_OF + dt.timedelta(days=len(nights) - 1), "--full")
    assert incremental == rows_of(spark, platform)
    assert incremental


@pytest.mark.full
def test_a_night_computes_the_one_kind_of_day_that_changed(spark, run_job, lake_platform, after_n1, capsys):
    arrive(spark, lake_platform, readings(AS_OF, value=120))  # a Monday
    capsys.readouterr()
    night(run_job, lake_platform, "n2", AS_OF + dt.timedelta(days=1))
    said = capsys.readouterr().out
    assert "reading 2026-09-14, " in said
    assert "was like" not in said, "what the holidays were like is known since the first night"
    assert ", 2026-11-09, 2026-11-16, 2026-11-23, 2026-11-30\n" in said
    assert "version 1 as of 2026-12-01, day types 1 computed" in said
    arrive(spark, lake_platform, readings(dt.date(2026, 11, 26), hours=[3], value=900, offset=7))  # a holiday: among the Sundays
    build(run_job, lake_platform, "n3", AS_OF + dt.timedelta(days=1))
    said = capsys.readouterr().out
    assert "day types 7 computed" in said
    assert [line.split(":")[0] for line in said.splitlines() if "was like" in line] == ["2026-11-26"]
    holidays = tables.candidate(lake_platform, FEED).newest_commit_with("holidays").note["holidays"]
    assert {date: each["like"] for date, each in holidays.items()} == {"2026-11-11": "sunday", "2026-11-26": None}
    build(run_job, lake_platform, "n4", AS_OF + dt.timedelta(days=1))
    assert "version 3 as of 2026-12-01, nothing has changed" in capsys.readouterr().out


@pytest.mark.full
def test_a_candidate_that_somebody_wrote_to_is_built_whole(spark, run_job, lake_platform, after_n1, capsys):
    expected = rows_of(spark, lake_platform)
    spark.sql(f"DELETE FROM delta.`{tables.candidate(lake_platform, FEED).path}` WHERE DayType = 3")
    build(run_job, lake_platform, "n2", AS_OF)
    assert "day types 1, 2, 3, 4, 5, 6, 7 computed" in capsys.readouterr().out
    assert rows_of(spark, lake_platform) == expected


def test_what_is_not_normal_changes_the_inputs_of_the_day_types_whose_dates_it_touches():
    as_of, noon = AS_OF, dt.datetime(2026, 11, 10, 12, tzinfo=dt.UTC)  # a Tuesday
    files = {(AS_OF - dt.timedelta(days=back)).isoformat(): str(back) for back in range(1, 100)}

    def digests(*found):
        return build_baseline.inputs(FEED, build_baseline.sources(FEED, as_of, found, {}), files)

    def changed(*found):
        return [int(day_type) for day_type, digest in digests(*found).items() if digest != digests()[day_type]]

    hour = dt.timedelta(hours=1)
    assert changed(Excluded("I-94", noon, noon + hour)) == [2]
    assert changed(Excluded(None, noon, noon + 24 * hour)) == [2, 7]  # Veterans Day is a holiday
    assert changed(Excluded("I-94", noon - 365 * 24 * hour, noon - 360 * 24 * hour)) == []
    source = build_baseline.sources(FEED, as_of, [Excluded("I-94", noon, noon + hour)], {})[2]
    assert source.left_out == [("I-94", 1794312000000, 1794315600000)]
    assert (len(source.last), len(source.normal)) == (4, 12)
    assert (source.normal[-4:], source.normal[0]) == (source.last, dt.date(2026, 9, 8))


def test_a_special_day_or_a_window_changes_the_inputs_of_the_day_types_whose_dates_it_touches():
    tuesday = dt.date(2026, 11, 10)
    files = {(AS_OF - dt.timedelta(days=back)).isoformat(): str(back) for back in range(1, 130)}

    def changed(**fields) -> list[int]:
        declared = Entry(**{"name": "move", "description": "move", "feeds": [FEED.name], "dates": [tuesday]} | fields)
        before, after = (
            build_baseline.inputs(feed, build_baseline.sources(feed, AS_OF, [], {}), files)
            for feed in (FEED, FEED.with_entries([declared]))
        )
        return [int(day_type) for day_type, digest in after.items() if digest != before[day_type]]

    night = {"begin": "02:00", "end": "04:00"}
    assert changed(times=night) == [2]
    assert changed(times=night, dates=[dt.date(2025, 11, 10)]) == []
    assert changed(times=night, feeds=["service-use"]) == []
    assert changed(times=night, dates=[{"first": tuesday, "last": dt.date(2026, 11, 12)}]) == [
        2,
        4,
        7,
    ]  # Veterans Day is a holiday
    assert changed() == changed(like="sunday") == [2]
    assert changed(dates=[dt.date(2026, 11, 26)], like="weekday") == [7], "a Sunday less, and no Thursday more"
