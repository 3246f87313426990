"""The baseline that scoring holds: the planned version, whole or the day types around today, and for how long."""

import datetime as dt
import gc
import re
from unittest.mock import MagicMock

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from contracts.calendar_entries import Entry
from contracts.feeds import Rule, load_feed
from jobs.backends import tables
from jobs.formats.wire import Writers
from jobs.streams import score_query
from tests.support.waiting import until

FEED = load_feed("service-use")
SHAPE = pa.schema(
    [
        ("ServiceName", pa.string()),
        ("DayType", pa.int32()),
        ("Last4Avg", pa.list_(pa.float64())),
        ("Samples", pa.list_(pa.int32())),
        ("Spread", pa.list_(pa.float64())),
        ("Growth", pa.float64()),
    ]
)


@pytest.fixture
def held(spark, lake_platform):
    """held(version): what scoring holds of it, with Monday, Tuesday and Wednesday as the days around today."""

    def read(version: int) -> set[tuple]:
        plan = score_query.Plan(version, frozenset({1, 2, 3}), Writers("service-use-value", ()), (), table_version=version)
        rows = score_query.Queries(spark, lake_platform, FEED, MagicMock()).baseline(plan).collect()
        return {(row.ServiceName, row.DayType, *row.Last4Avg, *row.Spread, row.Growth) for row in rows}

    return read


@pytest.fixture
def promoted(lake_platform):
    """promoted(growth, note): another version of the baseline of two services."""

    def write(growth: float, note: dict | None = None) -> None:
        rows = [
            {"ServiceName": name, "DayType": day, "Last4Avg": [1.5, None], "Samples": [4, 0], "Spread": [0.5], "Growth": growth}
            for name in ("checkout", "søk")
            for day in range(1, 8)
        ]
        table = pa.Table.from_pylist(rows, SHAPE)
        deltalake.write_deltalake(
            tables.baseline(lake_platform, FEED).path,
            table,
            mode="overwrite",
            partition_by=["DayType"],
            configuration=tables.CONFIGURATION,
            commit_properties=tables.noted(note or {}),
        )

    return write


def rows(growth: float, days: range) -> set[tuple]:
    return {(name, day, 1.5, None, 0.5, growth) for name in ("checkout", "søk") for day in days}


def test_nothing_is_held_while_none_is_in_force(held):
    assert held(-1) == set()


def test_the_planned_version_is_held_whatever_came_after_it(held, promoted):
    promoted(1.0)
    promoted(2.0)
    assert held(0) == rows(1.0, range(1, 8))
    assert held(1) == rows(2.0, range(1, 8))


def test_of_a_large_one_the_days_around_today_are_held(held, promoted, monkeypatch):
    promoted(1.0)
    monkeypatch.setattr(score_query, "BROADCAST_WHOLE", 14 * FEED.slots)
    assert held(0) == rows(1.0, range(1, 8)), "it fits"
    monkeypatch.setattr(score_query, "BROADCAST_WHOLE", 14 * FEED.slots - 1)
    assert held(0) == rows(1.0, range(1, 4))


def test_of_a_large_one_each_task_carries_a_part(spark, lake_platform, promoted, monkeypatch):
    """On a cluster, Spark refuses a task of 128 MB."""
    promoted(1.0)
    session = spark.newSession()
    session.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0b")  # what is smaller goes to each core alike
    queries = score_query.Queries(session, lake_platform, FEED, MagicMock())
    plan = score_query.Plan(0, frozenset({1}), Writers("service-use-value", ()), (), table_version=0)
    monkeypatch.setattr(score_query, "PART", 1)
    parts = queries.baseline(plan).groupBy(F.spark_partition_id()).count().collect()
    assert [part["count"] for part in parts] == [1] * 14


def test_nothing_of_a_baseline_is_left_when_no_query_needs_it(spark, lake_platform, promoted):
    """Although its frames are in reference cycles, and Python itself might look for these only after days."""
    promoted(1.0)
    promoted(2.0)
    queries = score_query.Queries(spark, lake_platform, FEED, MagicMock())
    first, second = (
        score_query.Plan(version, frozenset({1}), Writers("service-use-value", ()), (("scored", 1), ("anomaly", 2)), version)
        for version in (0, 1)
    )

    def held() -> set[str]:
        """As text: an object of the JVM that Python knows would itself keep the rows."""
        spark._jvm.System.gc()
        return set(re.findall(r"\d+", spark.sparkContext._jsc.sc().persistentRdds().keySet().toString()))

    gc.collect()
    gc.disable()
    try:
        before = held()
        queries.prepare(first)
        of_first = held() - before
        queries.prepare(second)
        of_second = held() - before - of_first
        assert len(of_first) == len(of_second) == 1
        queries.keep_only(second)
        until("the first is gone", lambda: not of_first & held(), 30)
        assert of_second <= held()
    finally:
        gc.enable()


def test_a_rule_by_the_robust_normal_holds_its_level_and_scale(spark, lake_platform, promoted):
    robust = FEED.model_copy(update={"rule": Rule(normal="robust")})
    queries = score_query.Queries(spark, lake_platform, robust, MagicMock())

    def held(version: int) -> set[tuple]:
        plan = score_query.Plan(version, frozenset({1}), Writers("service-use-value", ()), (), table_version=version)
        return {(row.Growth, row.Level and tuple(row.Level), row.Scale) for row in queries.baseline(plan).collect()}

    promoted(1.0)
    assert held(0) == {(1.0, None, None)}, "of a release without a robust normal: no reading is anomalous"
    level = pa.array([[2.5, None]] * 14)
    table = deltalake.DeltaTable(tables.baseline(lake_platform, FEED).path).to_pyarrow_table().append_column("Level", level)
    path = tables.baseline(lake_platform, FEED).path
    deltalake.write_deltalake(path, table, mode="overwrite", schema_mode="overwrite", partition_by=["DayType"])
    assert held(1) == {(1.0, (2.5, None), None)}


def test_a_change_of_the_baseline_is_another_plan_and_upkeep_of_its_table_is_none(lake_platform, promoted):
    registry = MagicMock(renewed=lambda writers: writers)
    queries = score_query.Queries(MagicMock(), lake_platform, FEED, registry)
    plan_after = queries.plan_after
    plan = score_query.Plan(-1, score_query._day_types_near(FEED), Writers("service-use-value", ()), (), table_version=-1)
    assert plan_after(plan) == plan, "there is no baseline yet"
    assert queries.plan_with_first_baseline(plan) is None
    promoted(1.0)
    first = plan_after(plan)
    assert queries.plan_with_first_baseline(plan) == first
    assert queries.plan_with_first_baseline(first) is None
    assert (first.baseline_version, first.table_version) == (0, 0)
    assert score_query.difference(plan, first) == "baseline -1 -> 0"
    table = deltalake.DeltaTable(tables.baseline(lake_platform, FEED).path)
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 30 days"})
    kept_up = plan_after(first)
    assert (kept_up, score_query.difference(first, kept_up)) == (first, "")
    assert kept_up.table_version == table.version() > 0
    promoted(2.0)
    second = plan_after(kept_up)
    assert second.baseline_version == second.table_version == table.version() + 1
    assert queries.plan_with_first_baseline(first) is None, "others are taken up by a handover"


def test_a_query_takes_a_special_day_for_what_its_baseline_does(lake_platform, promoted, monkeypatch):
    """Of which nothing is declared: without a baseline that knows better, it is what its weekday is."""
    today = dt.datetime.now(FEED.zone).date()
    days = [today + dt.timedelta(days=day) for day in range(1, 4)]
    entry = Entry(name="sale", description="sale", feeds=[FEED.name], dates=days)
    feed = FEED.with_entries([entry]).model_copy(update={"holidays": None})
    queries = score_query.Queries(MagicMock(), lake_platform, feed, MagicMock(renewed=lambda writers: writers))
    seen = []
    monkeypatch.setattr(score_query.scoring, "score", lambda *of: seen.append(of[4]) or MagicMock())
    monkeypatch.setattr(score_query.feed_records, "decode", MagicMock())
    monkeypatch.setattr(score_query.feed_records, "route", MagicMock())
    plan = score_query.Plan(-1, frozenset(), Writers("service-use-value", ()), (), table_version=-1)
    promoted(1.0, {"candidate_version": 0, "special_days": {str(days[0]): "itself", str(days[1]): "sunday"}})
    for each in (plan, after := queries.plan_after(plan)):
        score_query.outputs(MagicMock(), MagicMock(), feed, each)
    assert seen == [{day: day.isoweekday() for day in days}, {days[0]: 0, days[1]: 7, days[2]: days[2].isoweekday()}]
    yesterday = today - dt.timedelta(days=1)
    assert after.day_types == {yesterday.isoweekday(), today.isoweekday(), 0}
    assert queries.plan_after(after) == after, "also if the baseline has not changed since"


def test_a_lake_that_cannot_be_read_ends_no_scoring_without_a_baseline(lake_platform, promoted, monkeypatch):
    queries = score_query.Queries(MagicMock(), lake_platform, FEED, MagicMock(renewed=lambda writers: writers))
    plan = score_query.Plan(-1, score_query._day_types_near(FEED), Writers("service-use-value", ()), (), table_version=-1)
    promoted(1.0)
    with monkeypatch.context() as broken:
        broken.setattr(tables, "log_of_baseline", MagicMock(side_effect=OSError("the lake is away")))
        assert queries.plan_with_first_baseline(plan) is None
        assert queries.unread == "the baseline cannot be read: OSError: the lake is away"
    assert queries.plan_with_first_baseline(plan).baseline_version == 0
    assert queries.unread is None
