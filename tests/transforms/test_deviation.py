"""The plain rule bit for bit, and each condition of a feed's rule, against plain Python."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from jobs.transforms import deviation, scoring

AVERAGES = st.one_of(st.none(), st.integers(0, 40_000).map(lambda quarters: quarters / 4))
READINGS = st.lists(
    st.tuples(st.integers(0, 10_000), AVERAGES, st.one_of(st.none(), st.floats(0, 500))), min_size=100, max_size=400
)
SCHEMA = "Value long, Expected double, Spread double"


def judged(spark, rows, **rule):
    value, average, spread = F.col("Value"), F.col("Expected"), F.col("Spread")
    columns = [
        deviation.predicted_diff(value, average),
        scoring.predicted_pct(value, average),
        scoring.anomalous(value, average, spread, **rule),
    ]
    return [tuple(row) for row in spark.createDataFrame(rows, SCHEMA).select(*columns).collect()]


@settings(max_examples=5 + settings.default.max_examples // 50)  # each is a job of Spark
@given(rows=READINGS)
def test_with_only_the_percentage_on_it_is_the_plain_rule(spark, rows):
    def plain(value, average, _):
        if average is None:
            return None, None, False
        if average == 0:
            return value - average, None, value != 0
        return value - average, 100 * value / average, abs(100 * value / average - 100) > 5

    assert judged(spark, rows, percent=5.0) == [plain(*row) for row in rows]


@settings(max_examples=5 + settings.default.max_examples // 50)  # each is a job of Spark
@given(rows=READINGS)
def test_every_condition_that_is_on_must_hold(spark, rows):
    def rule(value, average, spread):
        if average is None or spread is None:
            return False
        beyond_percent = value != 0 if average == 0 else abs(100 * value / average - 100) > 10
        return beyond_percent and abs(value - average) > 3 * spread and max(value, average) >= 100

    found = judged(spark, rows, percent=10.0, spread=3.0, minimum=100.0)
    assert [each[2] for each in found] == [rule(*row) for row in rows]


def test_thresholds_are_exclusive_and_the_minimum_inclusive(spark):
    rows = [(105, 100.0, 1.0), (106, 100.0, 1.0), (95, 100.0, 1.0), (94, 100.0, 1.0)]
    assert [each[2] for each in judged(spark, rows, percent=5.0)] == [False, True, False, True]
    assert [each[2] for each in judged(spark, rows, spread=5.0)] == [False, True, False, True]
    assert [each[2] for each in judged(spark, [(19, 1.0, 0.1), (20, 1.0, 0.1)], percent=5.0, minimum=20.0)] == [False, True]


def test_no_baseline_is_never_an_anomaly(spark):
    assert judged(spark, [(1_000_000, None, None)], percent=5.0) == [(None, None, False)]


def test_the_largest_reading_does_not_overflow(spark):
    largest = 2**63 - 1
    assert judged(spark, [(largest, 1.0, 1.0)], percent=5.0)[0][1] == 100.0 * largest
