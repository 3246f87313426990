"""The declared queries of the taxi rides: a batch of the sample and a stream of it end in the same rows, as counted by hand."""

import datetime as dt
import io

import fastavro
import pytest

from contracts import avro
from contracts.queries import Query, load_queries
from jobs import rows, wire
from tests.jobs.rides import NEW_YORK, by_minute, per_vendor_minute, sample

STEPS = 3
WATERMARK = max(ride["tpep_pickup_datetime"] - NEW_YORK for ride in sample()).replace(tzinfo=dt.UTC) - dt.timedelta(hours=1)


@pytest.fixture(scope="module")
def rides(spark, tmp_path_factory) -> str:
    """A folder of Parquet files with the sample's rides as a query sees them, each file later than the one before."""
    folder = str(tmp_path_factory.mktemp("rides"))
    columns = wire.row_type(spark, "taxi_ride").add("RowTime", "timestamp")
    made = [(*ride.values(), (ride["tpep_pickup_datetime"] - NEW_YORK).replace(tzinfo=dt.UTC)) for ride in sample()]
    size = -(-len(made) // STEPS)
    for step in range(STEPS):
        part = spark.createDataFrame(made[step * size : (step + 1) * size], columns)
        part.coalesce(1).write.mode("append").parquet(folder)
    return folder


def records(query: Query, rides):
    """All that the query writes, as Kafka records; ids are those of a registry that numbers them from one."""
    lateness = query.inputs["rides"].lateness
    found = rows.result(query, {"rides": rides.withWatermark("RowTime", lateness) if lateness else rides})
    return rows.encode(found, query, {each.topic: number for number, each in enumerate(query.outputs, 1)})


def in_the_end(written: list) -> dict[tuple[str, str], dict]:
    """What is left of records once each has replaced those before it under its key: the values by topic and key."""
    by_key = {(row.topic, row.key.decode()): bytes(row.value) for row in written}
    contracts = {each.topic: each.record for query in load_queries().values() for each in query.outputs}
    return {
        (topic, key): fastavro.schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), avro.parsed(contracts[topic]))
        for (topic, key), value in by_key.items()
    }


@pytest.mark.parametrize(
    "name", ["rides-by-amount", "rides-per-vendor", "rides-per-vendor-minute", "rides-per-vendor-half-hour", "rides-sessions"]
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
    found = told(spark, rides, "rides-per-vendor-half-hour")
    assert {row["WindowEnd"] - row["WindowStart"] for row in found} == {dt.timedelta(minutes=30)}
    for vendor, times in by_vendor().items():
        for row in (row for row in found if row["VendorID"] == vendor):
            assert row["Rides"] == sum(row["WindowStart"] <= at < row["WindowEnd"] for at in times)
        assert sum(row["Rides"] for row in found if row["VendorID"] == vendor) == 3 * len(times)


def test_sessions_end_where_nothing_follows_for_two_minutes(spark, rides):
    found, pause = told(spark, rides, "rides-sessions"), dt.timedelta(minutes=2)
    expected = set()
    for vendor, times in by_vendor().items():
        spells = [[times[0]]]
        for at in times[1:]:
            spells[-1].append(at) if at < spells[-1][-1] + pause else spells.append([at])
        expected |= {(vendor, spell[0], spell[-1] + pause, len(spell)) for spell in spells}
    assert len(expected) > 4
    assert {(row["VendorID"], row["WindowStart"], row["WindowEnd"], row["Rides"]) for row in found} == expected


def test_totals_are_of_all_rides(spark, rides):
    found = {row["VendorID"]: (row["Rides"], round(100 * row["TotalAmount"])) for row in told(spark, rides, "rides-per-vendor")}
    all_of = {vendor: [ride for ride in sample() if ride["VendorID"] == vendor] for vendor in by_vendor()}
    assert found == {v: (len(each), sum(round(100 * ride["total_amount"]) for ride in each)) for v, each in all_of.items()}


def by_vendor() -> dict[int, list[dt.datetime]]:
    """When each vendor's rides began, in UTC and in order."""
    found = {}
    for ride in sample():
        found.setdefault(ride["VendorID"], []).append((ride["tpep_pickup_datetime"] - NEW_YORK).replace(tzinfo=dt.UTC))
    return found
