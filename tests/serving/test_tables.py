"""Tables are read as they are: none yet, the one in force, its history, one service's arrays."""

import datetime as dt

import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from serving import tables as tables_module
from serving.tables import Tables
from tests.serving import world


@pytest.fixture
def tables(lake, monkeypatch) -> Tables:
    monkeypatch.setattr(tables_module, "FRESH_SECONDS", 0.0)
    return Tables(str(lake))


def test_tables_that_do_not_exist_are_none_yet(tables, feed):
    assert tables.version(feed) is None
    assert tables.promotions(feed, 10) == []
    assert tables.services(feed) == frozenset()
    assert tables.arrays(feed, "a", 1) is None
    assert tables.gate_results(feed, 10) == []


def test_the_history_says_who_promoted_what_and_when(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0}, candidate_version=5, run_id="r1", at="2026-11-20T03:00:00+01:00")
    world.promote(lake, feed, {"a": 10.0}, candidate_version=4, run_id="r2", gate=False, by="mara", reason="rollback")
    second, first = tables.promotions(feed, 10)
    assert (first.version, first.candidate_version, first.run_id, first.by, first.gate) == (0, 5, "r1", "nightly_baseline", True)
    assert first.promoted_at == dt.datetime(2026, 11, 20, 2, tzinfo=dt.UTC)
    assert (second.version, second.candidate_version, second.gate, second.by, second.reason) == (1, 4, False, "mara", "rollback")
    assert abs((second.promoted_at - dt.datetime.now(dt.UTC)).total_seconds()) < 60, "without `at` the commit's own time counts"
    assert tables.promotions(feed, 1) == [second]
    assert tables.version(feed) == 1


def test_a_commit_that_says_nothing_is_still_a_version(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0})
    path = str(lake / "baseline" / feed.table)
    said = CommitProperties(custom_metadata={"userMetadata": "not JSON"})
    write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="overwrite", commit_properties=said)
    newest = tables.promotions(feed, 1)[0]
    assert (newest.version, newest.by, newest.gate, newest.candidate_version) == (1, None, None, None)


def test_arrays_are_those_of_the_service_the_day_type_and_the_version_in_force(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0, "b": 20.0}, days=[1, 2])
    arrays = tables.arrays(feed, "b", 2)
    assert arrays.last4avg == [world.shape(slot, feed.slots, 20.0) for slot in range(feed.slots)]
    assert arrays.spread[0] == pytest.approx(0.4)
    assert tables.arrays(feed, "b", 3) is None
    assert tables.arrays(feed, "c", 1) is None
    assert tables.services(feed) == {"a", "b"}
    world.promote(lake, feed, {"b": 40.0, "d": 1.0})
    assert tables.arrays(feed, "b", 2).last4avg[0] == world.shape(0, feed.slots, 40.0), "a promotion replaces what was cached"
    assert tables.services(feed) == {"b", "d"}


def test_gate_results_of_the_feed_newest_first(tables, feed, lake):
    start = dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC)
    other = feed.model_copy(update={"name": "other"})
    found = [{"expectation": "coverage", "success": False, "observed": 0.4, "sample": [{"ServiceName": "a"}]}]
    world.gate_result(lake, feed, "r1", True, [], start)
    world.gate_result(lake, other, "r2", True, [], start)
    world.gate_result(lake, feed, "r3", False, found, start + dt.timedelta(days=1))
    newest, oldest = tables.gate_results(feed, 10)
    assert (newest.run_id, newest.success, newest.expectations) == ("r3", False, found)
    assert newest.checked_at == start + dt.timedelta(days=1)
    assert (oldest.run_id, oldest.success) == ("r1", True)
    assert [each.run_id for each in tables.gate_results(feed, 1)] == ["r3"]
