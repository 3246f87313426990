"""Spark generates the same code for every plan of a feed, so that the JVM need not compile it again."""

from dataclasses import replace

import pytest

from contracts import avro
from contracts.feeds import load_feed
from jobs.formats.wire import Writers
from jobs.streams import score_query

FEED = load_feed("service-use")
SHAPE = "ServiceName string, DayType int, Last4Avg array<double>, Spread array<double>, Growth double"
KAFKA = "key binary, value binary, partition int, offset long, timestamp timestamp"
FIRST, SECOND = (avro.text("service_use_record", 1), avro.text("service_use_record"))
PLAN = score_query.Plan(
    3, frozenset({1}), Writers("service-use-value", ((7, FIRST),)), (("scored", 1), ("anomaly", 2)), table_version=3
)


@pytest.fixture(scope="module")
def code(spark):
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", False)

    def generated(plan: score_query.Plan) -> list[str]:
        """Its lines, without the plan that Spark shows above them."""
        baseline = session.createDataFrame([("www", 1, [1.0], [1.0], 1.0)], SHAPE)
        made = score_query.outputs(session.createDataFrame([], KAFKA), baseline, FEED, plan)
        executed = made._jdf.queryExecution().executedPlan()
        shown = spark._jvm.org.apache.spark.sql.execution.debug.package.codegenString(executed)
        lines = [line for line in shown.splitlines() if line.startswith("/* ")]
        assert len(lines) > 1000
        return lines

    return generated


CHANGES = {
    "a promotion": {"baseline_version": 4_000_000_000},
    "the first baseline": {"baseline_version": -1},
    "a new schema": {"writers": Writers("service-use-value", ((7, FIRST), (8, SECOND)))},
    "four schemas": {"writers": Writers("service-use-value", tuple((id_, FIRST) for id_ in (7, 8, 9, 10_000)))},
    "a refused id": {"writers": replace(PLAN.writers, refused=frozenset({5, 6}))},
    "another topic's schemas": {"output_ids": (("scored", 70), ("anomaly", 80))},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_plan_needs_code_of_its_own(code, change):
    assert code(replace(PLAN, **change)) == code(PLAN)


def test_a_fifth_schema_does(code):
    """So the comparison sees a change."""
    five = tuple((schema_id, FIRST) for schema_id in range(7, 12))
    assert code(replace(PLAN, writers=replace(PLAN.writers, schemas=five))) != code(PLAN)
