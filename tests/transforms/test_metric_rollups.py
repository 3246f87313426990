"""Hierarchies hold what a summary of all their members' numbers would, whatever order and revisions the members come in."""

import math
import random

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from jobs.transforms import summaries
from jobs.transforms.queries.metric_rollups import WINDOW, _Rollups

RETENTION = 3 * WINDOW
PARENT = "environment=*:metric=dbWaitTime"


def summary(environment: str, values: list[float], revision: int, window: int = 0) -> dict:
    """As it comes to a bucket: one member of the parent."""
    key = pa.array([f"environment={environment}:metric=dbWaitTime"] * len(values))
    [row] = summaries.summaries(*summaries.of(key, pa.array(values))).to_pylist()
    return row | {"Revision": revision, "Parent": PARENT, "At": window}


def told(tester: TwsTester, *came: dict) -> list[dict]:
    return tester.testInPandas(0, pd.DataFrame(came)).to_dict("records")


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
    assert (first["Revision"], second["Revision"]) == (1, 2)


def test_an_older_revision_that_comes_again_replaces_no_newer_one():
    tester = TwsTester(_Rollups(RETENTION))
    told(tester, summary("prod", [1.0, 2.0], 2))
    [again] = told(tester, summary("prod", [1.0], 1))
    assert_same(again, [1.0, 2.0])


def test_members_are_kept_for_the_retention_and_a_window_that_is_over_is_left_alone():
    tester = TwsTester(_Rollups(RETENTION))
    told(tester, summary("prod", [1.0], 1))
    told(tester, summary("prod", [1.0], 1, window=RETENTION))
    [late] = told(tester, summary("test", [3.0], 1))
    assert_same(late, [1.0, 3.0])
    told(tester, summary("prod", [1.0], 1, window=RETENTION + WINDOW))
    assert {start for (start, _), _ in tester.peekMapState("members", 0).items()} == {RETENTION, RETENTION + WINDOW}
    assert told(tester, summary("dev", [9.0], 1), summary("dev", [2.0], 1, window=RETENTION))[0]["WindowStart"] == RETENTION
    assert math.isclose(told(tester, summary("dev", [4.0], 2, window=RETENTION))[0]["Average"], 2.5)
