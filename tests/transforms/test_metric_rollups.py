"""Hierarchies hold what a summary of all their members' numbers would, whatever order and revisions the members come in."""

import random

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from jobs.transforms import summaries
from jobs.transforms.queries.metric_rollups import _Rollups
from jobs.transforms.queries.metric_summaries import WINDOW

RETENTION = 30 * 60_000
PARENT = "environment=*:metric=dbWaitTime"


def summary(environment: str, values: list[float], revision: int, window: int = 0, came: int = 0) -> dict:
    """As it comes to a bucket: one member of the parent. Times in ms."""
    key = pa.array([f"environment={environment}:metric=dbWaitTime"] * len(values))
    [row] = summaries.summaries(*summaries.of(key, pa.array(values))).to_pylist()
    return row | {"Revision": revision, "Parent": PARENT, "At": window, "Came": came}


def told(tester: TwsTester, *came: dict) -> list[dict]:
    rows: pd.DataFrame = tester.testInPandas(0, pd.DataFrame(came))
    return rows.to_dict("records")


def assert_same(found: dict, values: list[float]) -> None:
    [whole] = summaries.summaries(*summaries.of(pa.array([PARENT] * len(values)), pa.array(values))).to_pylist()
    for name, expected in whole.items():
        if name in ("Bins", "Counts"):
            assert list(found[name]) == expected
        else:
            assert found[name] == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected), name


def test_a_rollup_is_the_summary_of_its_members_numbers():
    random_ = random.Random(3)
    prod, test = ([random_.gauss(mean, 5) for _ in range(200)] for mean in (50, 500))
    tester = TwsTester(_Rollups(RETENTION))
    [first] = told(tester, summary("prod", prod[:100], 1))
    [second] = told(tester, summary("test", test, 1), summary("prod", prod, 2))
    assert_same(first, prod[:100])
    assert_same(second, prod + test)
    assert (first["Revision"], second["Revision"]) == (1, 3), "the sum of its members'"


def test_an_older_revision_that_comes_again_replaces_no_newer_one():
    tester = TwsTester(_Rollups(RETENTION))
    told(tester, summary("prod", [1.0, 2.0], 2))
    [again] = told(tester, summary("prod", [1.0], 1))
    assert_same(again, [1.0, 2.0])
    assert again["Revision"] == 2


def test_of_a_backlog_one_members_newest_windows_may_come_before_anothers_oldest():
    tester = TwsTester(_Rollups(RETENTION))
    told(tester, *(summary("prod", [1.0], 1, window=number * WINDOW) for number in range(144)))
    rows = told(tester, *(summary("test", [3.0], 1, window=number * WINDOW, came=60_000) for number in range(144)))
    assert [row["WindowStart"] for row in rows] == [number * WINDOW for number in range(144)]
    for row in rows:
        assert_same(row, [1.0, 3.0])


def test_members_are_kept_for_the_retention_after_the_last_of_them_came_and_then_a_late_one_is_told():
    tester = TwsTester(_Rollups(RETENTION))
    told(tester, summary("prod", [1.0], 1), summary("prod", [1.0], 1, window=WINDOW))
    told(tester, summary("test", [3.0], 1, window=WINDOW, came=60_000))
    [kept] = told(tester, summary("test", [3.0], 1, came=RETENTION - 1))
    assert_same(kept, [1.0, 3.0])
    told(tester, summary("prod", [1.0], 1, window=9 * WINDOW, came=2 * RETENTION - 2))
    assert {start for (start, _), _ in tester.peekMapState("members", 0).items()} == {0, WINDOW, 9 * WINDOW}, "oldest first"
    told(tester, summary("prod", [1.0], 2, window=9 * WINDOW, came=2 * RETENTION - 1))
    assert {start for (start, _), _ in tester.peekMapState("members", 0).items()} == {9 * WINDOW}
    came = 2 * RETENTION
    late, merged = told(
        tester, summary("dev", [9.0], 4, window=WINDOW, came=came), summary("dev", [2.0], 1, window=9 * WINDOW, came=came)
    )
    assert {name: late[name] for name in ("Key", "Member", "WindowStart", "Revision")} == {
        "Key": PARENT,
        "Member": "environment=dev:metric=dbWaitTime",
        "WindowStart": WINDOW,
        "Revision": 4,
    }
    assert (merged["Member"], merged["WindowStart"], merged["Revision"]) == (None, 9 * WINDOW, 3)
    assert_same(merged, [1.0, 2.0])


def test_a_window_of_a_wrong_clock_does_not_end_those_before_it():
    tester = TwsTester(_Rollups(RETENTION))
    told(tester, summary("prod", [1.0], 1), summary("prod", [1.0], 1, window=1000 * WINDOW))
    told(tester, summary("prod", [2.0], 2, came=RETENTION))
    told(tester, summary("prod", [1.0], 1, window=6 * WINDOW, came=9 * RETENTION))
    [merged] = told(tester, summary("test", [3.0], 1, window=7 * WINDOW, came=9 * RETENTION))
    assert merged["Member"] is None
    assert {start for (start, _), _ in tester.peekMapState("members", 0).items()} == {6 * WINDOW, 7 * WINDOW, 1000 * WINDOW}
