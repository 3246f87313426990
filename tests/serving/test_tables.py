"""Tables are read as they are: none yet, the one in force, its history, one service's arrays."""

import datetime as dt
import math
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from contracts.baseline_log import Entry
from contracts.feeds import Rule
from serving import lake as lake_module
from serving.lake import Lake
from serving.tables import Arrays, Tables
from tests.serving import world


@pytest.fixture
def tables(lake, monkeypatch) -> Tables:
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)
    return Tables(Lake(str(lake)))


def test_tables_that_do_not_exist_are_none_yet(tables, feed):
    assert tables.version(feed) is None
    assert tables.promotions(feed, 10) == []
    assert tables.services(feed) == frozenset()
    assert tables.arrays(feed, "a", 1) is None
    assert tables.gate_results(feed, 10) == []


def test_the_history_says_who_promoted_what_and_when(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0}, candidate_version=5, run_id="r1", at="2026-11-20T03:00:00+01:00")
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)  # Delta notes milliseconds
    world.promote(lake, feed, {"a": 10.0}, run_id="r2", as_of="2026-11-21", gate=False, by="mara", reason="we moved house")
    second, first = tables.promotions(feed, 10)
    assert replace(first, note={}) == Entry(
        version=0,
        kind="promotion",
        promoted_at=dt.datetime(2026, 11, 20, 2, tzinfo=dt.UTC),
        by="nightly_baseline",
        reason="passed the gate",
        gate=True,
        as_of=dt.date(2026, 11, 20),
        candidate_version=5,
        rolled_back_to=None,
        run_id="r1",
        inputs={"1": "a"},
    )
    assert (second.version, second.kind, second.gate, second.by, second.reason) == (
        1,
        "promotion",
        False,
        "mara",
        "we moved house",
    )
    assert (second.as_of, second.candidate_version) == (dt.date(2026, 11, 21), 3)
    assert before <= second.promoted_at <= dt.datetime.now(dt.UTC), "without `at` the commit's own time counts"
    assert tables.promotions(feed, 1) == [second]
    assert tables.version(feed) == 1


def test_a_rollback_names_its_version_and_who_did_it_when_and_why(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0}, candidate_version=5)
    world.promote(lake, feed, {"b": 10.0}, candidate_version=6)
    assert tables.services(feed) == {"b"}
    world.roll_back(lake, feed, 0, at="2026-11-21T09:30:00.250+00:00")
    newest = tables.promotions(feed, 1)[0]
    assert (newest.version, newest.kind, newest.rolled_back_to, newest.candidate_version) == (2, "rollback", 0, 5)
    assert (newest.by, newest.reason, newest.run_id, newest.gate) == ("mara", "it was worse", "rollback-1", True)
    assert newest.promoted_at == dt.datetime(2026, 11, 21, 9, 30, 0, 250_000, tzinfo=dt.UTC)
    assert tables.services(feed) == {"a"}


def test_upkeep_is_no_promotion_and_puts_no_other_version_in_force(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0}, candidate_version=5)
    world.keep_up(lake, feed)
    world.promote(lake, feed, {"a": 10.0}, candidate_version=6)
    world.keep_up(lake, feed)
    path = world.baseline_path(lake, feed)
    done = [commit["operation"] for commit in DeltaTable(path).history()]
    assert done == ["SET TBLPROPERTIES", "VACUUM END", "VACUUM START", "OPTIMIZE", "WRITE"] * 2
    assert [(each.version, each.candidate_version) for each in tables.promotions(feed, 2)] == [(5, 6), (0, 5)]
    assert tables.version(feed) == 5, "what a stream reports"
    assert tables.arrays(feed, "a", 1).normal[0] == world.shape(0, feed.slots, 10.0)


@pytest.mark.parametrize(
    "metadata", ["not JSON", "[1]", "{}", '{"by": 7, "candidate_version": "3", "gate": "yes", "as_of": "soon"}']
)
def test_a_commit_that_names_no_candidate_is_shown_as_a_write(tables, feed, lake, metadata):
    world.promote(lake, feed, {"a": 10.0})
    noted = CommitProperties(custom_metadata={"userMetadata": metadata})
    path = world.baseline_path(lake, feed)
    write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="overwrite", commit_properties=noted)
    newest, promoted = tables.promotions(feed, 2)
    assert (newest.version, newest.kind, promoted.kind) == (1, "write", "promotion")
    assert (newest.by, newest.reason, newest.gate, newest.as_of, newest.candidate_version) == (None,) * 5


def test_arrays_are_those_of_the_service_the_day_type_and_the_version_in_force(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0, "b": 20.0}, days=[1, 2])
    arrays = tables.arrays(feed, "b", 2)
    assert arrays.normal.tolist() == [world.shape(slot, feed.slots, 20.0) for slot in range(feed.slots)]
    assert arrays.spread.tolist() == [0.4] * 96, "one for each quarter of an hour"
    assert arrays.growth == 1.0
    assert tables.arrays(feed, "b", 3) is None
    assert tables.arrays(feed, "c", 1) is None
    assert tables.services(feed) == {"a", "b"}
    world.promote(lake, feed, {"b": 40.0, "d": 1.0}, growth=1.1)
    arrays = tables.arrays(feed, "b", 2)
    assert (arrays.normal[0], arrays.growth) == (world.shape(0, feed.slots, 40.0), 1.1), "a promotion replaces what was cached"
    assert tables.services(feed) == {"b", "d"}


def read(arrays: Arrays) -> tuple[list[float | None], list[float | None], float]:
    return known(arrays.normal), known(arrays.spread), arrays.growth


def known(column: np.ndarray) -> list[float | None]:
    return [None if math.isnan(each) else each for each in column.tolist()]


def test_a_rule_by_the_robust_normal_has_its_level_and_scale_where_there_is_a_baseline(tables, feed, lake):
    robust = feed.model_copy(update={"rule": Rule(normal="robust")})
    world.promote(lake, feed, {"a": 10.0})
    assert read(tables.arrays(robust, "a", 1)) == ([], [], 1.0), "of an earlier release"
    row = {"ServiceName": "a", "DayType": 1, "Last4Avg": [1.0, None], "Spread": [0.5], "Growth": 1.5}
    robust_row = pa.Table.from_pylist([row | {"Level": [2.0, 3.0], "Scale": [1.0, 1.25]}])
    write_deltalake(world.baseline_path(lake, feed), robust_row, mode="overwrite", schema_mode="overwrite")
    assert read(tables.arrays(robust, "a", 1)) == ([2.0, None], [1.0, 1.25], 1.0), "growth is not of the normal"


def test_a_table_made_anew_is_read_anew(tables, feed, lake):
    world.promote(lake, feed, {"a": 10.0}, reason="first")
    assert (tables.services(feed), tables.arrays(feed, "b", 1), tables.promotions(feed, 1)[0].reason) == ({"a"}, None, "first")
    shutil.rmtree(world.baseline_path(lake, feed))
    assert tables.version(feed) is None
    world.promote(lake, feed, {"b": 10.0}, reason="anew")
    assert (tables.version(feed), tables.services(feed), tables.promotions(feed, 1)[0].reason) == (0, {"b"}, "anew")
    assert tables.arrays(feed, "b", 1) is not None


@pytest.fixture
def judged(feed, lake):
    """judged(success, minute, as_of): a candidate as of that date that the gate judged in that minute."""
    start = dt.datetime(2026, 11, 20, 6, tzinfo=dt.UTC)

    def judge(success: bool, minute: int, as_of: str = "2026-11-20") -> None:
        candidate = world.build(lake, feed, as_of)
        world.gate_result(lake, feed, f"r{minute}", success, [], start + dt.timedelta(minutes=minute), candidate)

    return judge


def test_a_candidate_awaits_approval_if_it_is_the_newest_and_the_gate_refused_it(tables, feed, judged):
    assert tables.awaits_approval(feed) is None
    judged(True, 0)
    assert tables.awaits_approval(feed) is False
    judged(False, 1)
    assert tables.awaits_approval(feed) is True, "also before anything was promoted"
    judged(True, 2)
    assert tables.awaits_approval(feed) is False


def test_a_refused_candidate_awaits_approval_until_something_is_put_in_force(tables, feed, lake, judged):
    world.promote(lake, feed, {"a": 1.0}, at="2026-11-19T06:00:00+00:00", as_of="2026-11-19")
    judged(False, 0)
    assert tables.awaits_approval(feed) is True
    world.promote(lake, feed, {"a": 2.0}, at="2026-11-20T09:00:00+00:00", as_of="2026-11-20", gate=False, by="mara")
    assert tables.awaits_approval(feed) is False, "a person approved it"
    judged(False, 24 * 60, "2026-11-21")
    assert tables.awaits_approval(feed) is True
    world.roll_back(lake, feed, 0, at="2026-11-21T09:00:00+00:00")
    assert tables.awaits_approval(feed) is False, "it was compared with another baseline than that in force now"


def test_a_refused_candidate_of_a_past_night_awaits_nothing(tables, feed, lake, judged):
    world.promote(lake, feed, {"a": 1.0}, at="2026-11-20T05:00:00+00:00", as_of="2026-11-20")
    judged(False, 0, "2026-11-19")
    assert tables.awaits_approval(feed) is False, "a backfill made it, and nobody can approve it"
    judged(False, 1, "2026-11-20")
    world.keep_up(lake, feed)
    assert tables.awaits_approval(feed) is True, "upkeep puts nothing in force"


def test_statements_are_those_in_force_as_of_now(tables, feed, lake):
    assert tables.statements(feed) == []
    at = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
    world.say(lake, feed, 1, "exclude", at)
    world.say(lake, feed, 2, "false", IncidentId="a@b", By="omar")
    first, second = tables.statements(feed)
    assert (first.id, first.kind, first.start, first.end) == (1, "exclude", at, at + dt.timedelta(minutes=2))
    assert (second.incident, second.by, second.reason, second.at.hour) == ("a@b", "omar", "a drill", 9)
    world.say(lake, feed, 3, "take_back", TakesBack=1)
    assert tables.statements(feed) == [second]


def test_statements_that_cannot_be_read_are_none(tables, feed, lake):
    world.say(lake, feed, 1, "false", IncidentId="a@b")
    (lake / "exclusions" / feed.table / "_delta_log" / "00000000000000000000.json").write_text("{")
    assert tables.statements(feed) == []
    with pytest.raises(Exception, match="Json"):
        tables.reads()["exclusions"](feed)


def test_gate_results_of_the_feed_newest_first(tables, feed, lake):
    start = dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC)
    other = feed.model_copy(update={"name": "other"})
    found = [world.expectation(success=False), world.expectation(success=False, severity="warning")]
    world.gate_result(lake, feed, "r1", True, [], start)
    world.gate_result(lake, other, "r2", True, [], start)
    world.gate_result(lake, feed, "r3", False, found, start + dt.timedelta(days=1))
    newest, oldest = tables.gate_results(feed, 10)
    assert (newest.run_id, newest.success, newest.expectations) == ("r3", False, found)
    assert newest.checked_at == start + dt.timedelta(days=1)
    assert (oldest.run_id, oldest.success) == ("r1", True)
    assert [each.run_id for each in tables.gate_results(feed, 1)] == ["r3"]
