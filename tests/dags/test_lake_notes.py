"""What DAGs read from the lake: whether a run put a baseline in force, and whether a refused candidate is older than that."""

import datetime as dt

import pytest

from contracts.feeds import load_feed
from dags import lake_notes
from dags.lake_notes import Refusal
from tests.serving import world

FEED = load_feed("road-traffic")
FRIDAY = dt.date(2026, 11, 20)


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_LAKE", str(tmp_path))
    return tmp_path


def refused(as_of: dt.date) -> Refusal:
    return Refusal(candidate_version=4, as_of=as_of, expectations=[])


def test_without_a_baseline_no_run_promoted_one_and_none_supersedes_a_candidate(lake):
    assert lake_notes.promoted(FEED, "night-1") is False
    assert lake_notes.superseded(FEED, refused(FRIDAY)) is None


def test_a_run_has_promoted_what_its_commit_put_in_force_also_after_upkeep(lake):
    world.promote(lake, FEED, {"I-94": 10.0}, run_id="night-1")
    world.keep_up(lake, FEED)
    assert lake_notes.promoted(FEED, "night-1") is True
    assert lake_notes.promoted(FEED, "night-2") is False


def test_a_candidate_is_superseded_by_a_baseline_of_a_later_date_only(lake):
    world.promote(lake, FEED, {"I-94": 10.0}, as_of=str(FRIDAY - dt.timedelta(days=1)))
    world.promote(lake, FEED, {"I-94": 10.0}, as_of=str(FRIDAY))
    assert lake_notes.superseded(FEED, refused(FRIDAY - dt.timedelta(days=1))) == str(FRIDAY)
    assert lake_notes.superseded(FEED, refused(FRIDAY)) is None
    world.roll_back(lake, FEED, 0)
    world.keep_up(lake, FEED)
    assert lake_notes.superseded(FEED, refused(FRIDAY - dt.timedelta(days=1))) is None, "the older one is in force again"


def test_a_refusal_is_of_the_candidate_that_the_run_has_built_last(lake):
    """A run that was cleared has built again; nobody is asked about what it had built before, whatever the clock says."""
    failed = [world.expectation(success=False, notes="too few rows")]
    at = dt.datetime(2026, 11, 20, 2, tzinfo=dt.UTC)
    assert lake_notes.refusal(FEED, "night-1") is None
    first = world.build(lake, FEED, str(FRIDAY), run_id="night-1")
    world.build(lake, FEED, str(FRIDAY), run_id="night-2")
    world.gate_result(lake, FEED, "night-1", False, failed, at, candidate=first)
    found = lake_notes.refusal(FEED, "night-1")
    assert (found.candidate_version, found.as_of, found.expectations[0]["notes"]) == (first, FRIDAY, "too few rows")
    second = world.build(lake, FEED, str(FRIDAY), run_id="night-1")
    assert lake_notes.refusal(FEED, "night-1") is None
    world.gate_result(lake, FEED, "night-1", False, failed, at - dt.timedelta(hours=1), candidate=second)
    assert lake_notes.refusal(FEED, "night-1").candidate_version == second
    third = world.build(lake, FEED, str(FRIDAY), run_id="night-1")
    world.gate_result(lake, FEED, "night-1", True, [world.expectation()], at, candidate=third)
    assert lake_notes.refusal(FEED, "night-1") is None
