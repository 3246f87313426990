"""Upkeep: what is too old goes, and nothing else; a baseline can be rolled back as far as versions are kept."""

import datetime as dt

import pytest

from contracts.exclusions import Statement
from contracts.feeds import load_feed
from jobs import maintain_tables
from jobs.backends import exclusions, tables
from jobs.backends.history_table import merge
from tests.jobs.readings import arrived

FEED = load_feed("road-traffic")


@pytest.fixture
def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)


def arrive(spark, platform, at: dt.datetime, value: int = 1) -> None:
    rows = arrived(spark, FEED, [("I-94", at, value, 0, value)])
    merge(spark, tables.history(platform, FEED), rows.cache(), {"offsets": {"0": value}})


def maintain(run_job, platform, *more) -> None:
    run_job(maintain_tables, platform, "--feed", FEED.name, "--run-id", "m1", *more)


@pytest.mark.full
def test_dates_beyond_the_retention_go_and_what_was_archived_is_still_known(spark, run_job, lake_platform, now, capsys):
    old = now - dt.timedelta(days=FEED.history_days + 2)
    arrive(spark, lake_platform, old, 1)
    arrive(spark, lake_platform, now, 2)
    maintain(run_job, lake_platform)
    table = tables.history(lake_platform, FEED)
    assert [row.Value for row in table.read(spark).collect()] == [2]
    assert table.newest_commit_with("offsets").note["offsets"] == {"0": 2}
    said = capsys.readouterr().out
    assert "history/road_traffic: 1 dates before" in said
    assert "baseline/road_traffic: does not exist yet" in said


@pytest.mark.full
def test_versions_within_the_days_to_keep_stay_readable(spark, run_job, lake_platform, now):
    arrive(spark, lake_platform, now, 1)
    arrive(spark, lake_platform, now, 2)
    table = tables.history(lake_platform, FEED)
    maintain(run_job, lake_platform)
    assert [row.Value for row in table.read(spark, 0).collect()] == [1]
    assert [row.Value for row in table.read(spark).collect()] == [2]


@pytest.mark.full
def test_gate_results_become_few_files(spark, run_job, lake_platform):
    table = tables.gate_results(lake_platform)
    for number in range(5):
        table.add([{"Feed": FEED.name, "RunId": f"n{number}"}], {})
    maintain(run_job, lake_platform)
    assert len(table.log().file_uris()) == 1
    assert sorted(row.RunId for row in table.read(spark).collect()) == [f"n{number}" for number in range(5)]


def test_what_people_said_long_ago_stays_in_one_file(run_job, lake_platform):
    table = exclusions.table_of(lake_platform, FEED)
    at = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)
    log = [Statement(number, "exclude", None, at, at, None, None, "mara", "why", at, f"r{number}") for number in (1, 2, 3)]
    for each in log:
        exclusions.add(table, each, table.version())
    maintain(run_job, lake_platform)
    assert len(table.log().file_uris()) == 1
    assert exclusions.read(table, table.version()) == log
