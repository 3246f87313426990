"""What Spark's analyzer finds in a declared query is named with its field, and all at once."""

import pytest

from contracts.queries import Query, load_queries
from jobs.formats import query_mistakes
from jobs.transforms.queries import rides_last

RIDES = {"topic": "rides", "record": "taxi_ride", "key": {"column": "RideKey", "record": "taxi_ride_key"}}
LOW = {"topic": "low", "record": "taxi_ride", "key": "cast(VendorID AS string)"}
TIMED = RIDES | {"time": "event", "timestamp": "tpep_pickup_datetime", "valid": "total_amount > 0"}


def found(spark, inputs=None, outputs=(LOW,), sql: str | None = "SELECT * FROM rides", **more) -> list[str]:
    made = Query(name="one", description="x", inputs=inputs or {"rides": TIMED}, sql=sql, outputs=outputs, **more)
    return list(query_mistakes.mistakes(spark.newSession(), made))


def test_a_sound_query_has_no_mistake(spark):
    assert found(spark, outputs=[LOW | {"when": "total_amount < 40", "delete": "VendorID IS NULL"}]) == []


@pytest.mark.full
def test_a_column_that_the_inputs_do_not_have_is_named(spark):
    [mistake] = found(spark, sql="SELECT *, Fare FROM rides")
    assert mistake.startswith("sql: [UNRESOLVED_COLUMN")
    assert "`Fare`" in mistake
    assert "\n" not in mistake
    [mistake] = found(spark, sql="SELECT * FROM trips")
    assert mistake.startswith("sql: [TABLE_OR_VIEW_NOT_FOUND]")
    assert "`trips`" in mistake


def test_sql_that_is_none_and_a_column_that_is_there_twice_are_mistakes(spark):
    [mistake] = found(spark, sql="SELECT * FROM rides WHERE GROUP BY")
    assert mistake.startswith("sql: [PARSE_SYNTAX_ERROR]")
    [mistake] = found(spark, sql="SELECT *, 1 AS VendorID FROM rides")
    assert mistake.startswith("sql: [AMBIGUOUS_REFERENCE]")
    assert "VendorID" in mistake


def test_columns_that_do_not_fit_the_contract_are_named_output_by_output(spark):
    some = "SELECT * EXCEPT (VendorID, total_amount), cast(VendorID AS string) AS VendorID FROM rides"
    high = LOW | {"topic": "high"}
    assert found(spark, sql=some, outputs=[LOW, high]) == [
        f"outputs.{number}.record: taxi_ride: {what}"
        for number in (0, 1)
        for what in ("VendorID is string, must be int", "total_amount is missing, must be double")
    ]


@pytest.mark.full
def test_every_expression_of_a_declaration_is_analyzed_by_itself(spark):
    source = TIMED | {"timestamp": "pickup", "valid": "amount > 0"}
    wrong = [LOW | {"key": "Vendor", "when": "total_amount", "delete": "gone("}, LOW | {"topic": "high", "when": "tip > 1"}]
    mistakes = found(spark, inputs={"rides": source}, outputs=wrong)
    assert [each.partition(": ")[0] for each in mistakes] == [
        "inputs.rides.timestamp",
        "inputs.rides.valid",
        "outputs.0.key",
        "outputs.0.when",
        "outputs.0.delete",
        "outputs.1.when",
    ]
    named = ("`pickup`", "`amount`", "`Vendor`", "BOOLEAN", "PARSE_SYNTAX_ERROR", "`tip`")
    assert [name for name, mistake in zip(named, mistakes, strict=True) if name not in mistake] == []


@pytest.mark.full
def test_what_spark_would_refuse_to_start_in_that_mode_is_a_mistake_of_the_mode(spark):
    counted = "SELECT last.* FROM (SELECT max_by(struct(*), RowTime) AS last FROM rides GROUP BY VendorID)"
    [mistake] = found(spark, sql=counted)
    assert mistake.startswith("mode: ")
    assert "watermark" in mistake
    assert found(spark, sql=counted, mode="update") == []


@pytest.mark.full
def test_what_a_function_raises_is_named(spark, monkeypatch):
    [mistake] = found(spark, sql=None, transform="metric_rollups")
    assert mistake.startswith("transform: query one: parameters: ")
    monkeypatch.setattr(rides_last, "rides_last", lambda inputs: inputs["trips"])
    assert found(spark, sql=None, transform="rides_last") == ["transform: KeyError: 'trips'"]


@pytest.mark.full
def test_the_declared_queries_have_no_mistake(spark):
    assert {name: list(query_mistakes.mistakes(spark.newSession(), each)) for name, each in load_queries().items()} == {
        name: [] for name in load_queries()
    }
