"""The declared queries of the taxi rides: a batch of the sample and a stream of it end in the same rows, as counted by hand."""

import datetime as dt
import io

import fastavro
import pytest

from contracts import avro
from contracts.queries import Query, load_queries
from jobs.formats import query_records, wire
from tests.jobs.rides import as_row, by_minute, per_vendor_minute, sample
from tests.jobs.rides_by_hand import as_totals, as_windows, sessions, totals, windows

STEPS = 3
RIDES = [as_row(ride) for ride in sample()]
WATERMARK = RIDES[-1]["RowTime"] - dt.timedelta(hours=1)


@pytest.fixture(scope="module")
def rides(spark, tmp_path_factory) -> str:
    """A folder of Parquet files with the sample's rides as a query sees them, each file later than the one before."""
    folder = str(tmp_path_factory.mktemp("rides"))
    columns = wire.row_type(spark, "taxi_ride").add("RowTime", "timestamp")
    made = [(*ride.values(), row["RowTime"]) for ride, row in zip(sample(), RIDES, strict=True)]
    size = -(-len(made) // STEPS)
    for step in range(STEPS):
        part = spark.createDataFrame(made[step * size : (step + 1) * size], columns)
        part.coalesce(1).write.mode("append").parquet(folder)
    return folder


def records(query: Query, rides):
    """All that the query writes, as Kafka records; ids are those of a registry that numbers them from one."""
    lateness = query.inputs["rides"].lateness
    found = query_records.result(query, {"rides": rides.withWatermark("RowTime", lateness) if lateness else rides})
    return query_records.encode(found, query, {each.topic: number for number, each in enumerate(query.outputs, 1)})


def in_the_end(written: list) -> dict[tuple[str, str], dict]:
    """What is left of records once each has replaced those before it under its key: the values by topic and key."""
    by_key = {(row.topic, row.key.decode()): bytes(row.value) for row in written}
    contracts = {each.topic: each.record for query in load_queries().values() for each in query.outputs}
    return {
        (topic, key): fastavro.schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), avro.parsed(contracts[topic]))
        for (topic, key), value in by_key.items()
    }


@pytest.mark.parametrize(
    "name",
    [
        "rides-sessions",
        pytest.param("rides-by-amount", marks=pytest.mark.full),
        pytest.param("rides-per-vendor-half-hour", marks=pytest.mark.full),
        pytest.param("rides-per-vendor", marks=pytest.mark.full),
        pytest.param("rides-per-vendor-minute", marks=pytest.mark.full),
    ],
)
def test_batch_and_stream_end_in_equal_rows(spark, rides, name):
    query = load_queries()[name]
    batch = in_the_end(records(query, spark.read.parquet(rides)).collect())
    if query.mode == "append" and query.inputs["rides"].lateness:  # a stream tells of what is over, by its watermark
        batch = {place: row for place, row in batch.items() if row["WindowEnd"] <= WATERMARK}
        assert batch
    live = spark.readStream.schema(spark.read.parquet(rides).schema).option("maxFilesPerTrigger", 1).parquet(rides)
    stream = records(query, live).writeStream.format("memory").queryName("parity").outputMode(query.mode)
    running = stream.trigger(availableNow=True).start()
    running.awaitTermination(120)
    assert len(running.recentProgress) >= STEPS
    streamed = in_the_end(spark.table("parity").collect())
    spark.catalog.dropTempView("parity")
    assert streamed == batch


def test_every_ride_is_in_one_of_the_two_topics(spark, rides):
    found = in_the_end(records(load_queries()["rides-by-amount"], spark.read.parquet(rides)).collect())
    amounts = {topic: sorted(row["total_amount"] for (t, _), row in found.items() if t == topic) for topic, _ in found}
    all_amounts = [ride["total_amount"] for ride in sample()]
    assert amounts == {
        "rides.low-amount": sorted(amount for amount in all_amounts if amount < 40),
        "rides.high-amount": sorted(amount for amount in all_amounts if amount >= 40),
    }


def told(spark, rides, name: str) -> list[dict]:
    return list(in_the_end(records(load_queries()[name], spark.read.parquet(rides)).collect()).values())


def test_minutes_are_those_counted_by_hand(spark, rides):
    assert by_minute(told(spark, rides, "rides-per-vendor-minute")) == per_vendor_minute(sample())


def test_every_ride_is_in_three_half_hours(spark, rides):
    found = as_windows(told(spark, rides, "rides-per-vendor-half-hour"))
    assert found == windows(RIDES, dt.timedelta(minutes=30), dt.timedelta(minutes=10))
    assert sum(count for count, _ in found.values()) == 3 * len(RIDES)


def test_sessions_end_where_nothing_follows_for_two_minutes(spark, rides):
    found = as_windows(told(spark, rides, "rides-sessions"))
    assert found == sessions(RIDES, dt.timedelta(minutes=2))
    assert len(found) > 4


def test_totals_are_of_all_rides(spark, rides):
    assert as_totals(told(spark, rides, "rides-per-vendor")) == totals(RIDES)
