"""The declared queries of JSON events: a batch of the sample and a stream of it end in the same rows, as counted by hand."""

import datetime as dt
import io
import itertools
import json

import fastavro
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.tws_tester import TwsTester

from contracts import avro
from contracts.queries import Query, load_queries
from jobs.backends.spark import with_state
from jobs.formats import query_records
from jobs.transforms.queries.trending_products import _Trending
from tests.jobs import events
from tests.jobs.events import MINUTE, sample

KAFKA = "key binary, value binary, partition int, offset long, timestamp timestamp"
CAME = dt.datetime(2026, 11, 25)  # after all that is sent
STEPS = 3
SAMPLES = {
    "trending-products": "product_views",
    "products": "product_changes",
    "last-check-ins": "check_ins",
    "sensor-minutes": "sensor_readings",
}
BEGIN = events.ms("2026-11-21T10:00:00Z")


@pytest.fixture
def session(spark):
    """As an application gives one to each query."""
    return with_state(spark.newSession())


def in_order(session, folder: str):
    """All at once, as a partition of Kafka holds them."""
    return session.read.parquet(folder).coalesce(1).sortWithinPartitions("offset")


def kept(session, folder, steps: list[list[tuple[str, dict]]]) -> str:
    """A folder of Parquet files with Kafka records, each file later than the one before."""
    offset = 0
    for step in steps:
        made = [(bytearray(k.encode()), bytearray(json.dumps(v).encode()), 0, offset + n, CAME) for n, (k, v) in enumerate(step)]
        session.createDataFrame(made, KAFKA).coalesce(1).write.mode("append").parquet(str(folder))
        offset += len(step)
    return str(folder)


def written(query: Query, records):
    """All that the query writes of the Kafka records of its input."""
    [(alias, source)] = query.inputs.items()
    return query_records.records(
        query, {alias: query_records.decode(records, source, {})}, {each.topic: 1 for each in query.outputs}
    )


def streamed(session, query: Query, folder: str, checkpoint=None):
    """The same of a stream of the folder's files; its progress and its records."""
    live = session.readStream.schema(KAFKA).option("maxFilesPerTrigger", 1).parquet(folder)
    sink = written(query, live).writeStream.format("memory").queryName("told").outputMode(query.mode)
    options = {"checkpointLocation": str(checkpoint)} if checkpoint else {}
    running = sink.options(**options).trigger(availableNow=True).start()
    running.awaitTermination(120)
    return running.recentProgress, session.table("told").collect()


def in_the_end(query: Query, written: list) -> list[dict]:
    """What a reader that upserts has of the query's table."""
    [output] = query.outputs
    last = {bytes(row.key): row.value for row in written if row.topic == output.topic}
    values = [bytes(value) for value in last.values() if value is not None]
    if output.encoding == "json":
        return [json.loads(value) for value in values]
    schema = avro.parsed(output.record)
    return [fastavro.schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), schema) for value in values]


def by_hand(name: str, watermark: int):
    """What the query must find in its sample, and how that is said of its rows."""
    records = sample(SAMPLES[name])
    values = [value for _, value in records]
    return {
        "trending-products": lambda: (events.trending(values), events.as_trending),
        "products": lambda: (events.products(records), lambda rows: {row["Product"]: row for row in rows}),
        "last-check-ins": lambda: (events.last_check_ins(values), events.as_check_ins),
        "sensor-minutes": lambda: (events.minutes(values, watermark), events.as_minutes),
    }[name]()


COSTLY = ("trending-products", "last-check-ins", "sensor-minutes")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.full if name in COSTLY else ()) for name in SAMPLES])
def test_batch_and_stream_end_in_the_rows_counted_by_hand(session, tmp_path, name):
    query, records = load_queries()[name], sample(SAMPLES[name])
    size = -(-len(records) // STEPS)
    folder = kept(session, tmp_path / "in", [records[step * size : (step + 1) * size] for step in range(STEPS)])
    expected, said = by_hand(name, watermark=1 << 60)
    assert said(in_the_end(query, written(query, in_order(session, folder)).collect())) == expected
    progress, found = streamed(session, query, folder)
    if query.mode == "append" and query.inputs.keys() == {"readings"}:  # a stream tells of what is over, by its watermark
        expected, _ = by_hand(name, watermark=BEGIN + 190_000)
        assert len(expected) == 6
    assert len(progress) >= STEPS
    assert said(in_the_end(query, found)) == expected


def test_what_the_sample_says():
    """The counts by hand, counted by a person."""
    views = [value for _, value in sample("product_views")]
    assert events.trending(views)[BEGIN] == [("rug", 5, 5), ("lamp", 4, 6), ("chair", 3, 3)]
    assert set(events.products(sample("product_changes"))) == {"lamp", "rug", "desk"}
    check_ins = events.last_check_ins(value for _, value in sample("check_ins"))
    assert {user: place for user, (_, place) in check_ins.items()} == {"ann": "canteen", "ben": "library", "cem": "library"}


def test_changes_that_are_none_are_dead_lettered(session, tmp_path):
    query, records = load_queries()["products"], sample("product_changes")
    folder = kept(session, tmp_path / "in", [records])
    found = [row for row in written(query, in_order(session, folder)).collect() if row.topic == "product-changes.dead-letter"]
    assert [json.loads(row.value)["op"] for row in found] == ["RENAME", "PUT"]
    assert {bytes(row.headers[0].value).decode() for row in found} == {f"not valid: {query.inputs['changes'].valid}"}


@pytest.mark.full
def test_the_state_of_a_window_that_is_over_is_gone(session, tmp_path):
    views = [(v["User"], v) for v in ({"Product": "lamp", "User": f"u{n}", "At": BEGIN + n * MINUTE} for n in range(40))]
    later = [("u", {"Product": "desk", "User": "u", "At": BEGIN + days * 24 * 60 * MINUTE}) for days in (2, 2, 3)]
    late = ("u", {"Product": "lamp", "User": "u", "At": BEGIN})
    folder = kept(session, tmp_path / "in", [views, later[:1], later[1:2], [late, later[2]]])
    checkpoint = tmp_path / "checkpoint"
    progress, found = streamed(session, load_queries()["trending-products"], folder, checkpoint)
    for name in ("totals", "users"):
        kept_of = session.read.format("statestore").option("stateVarName", name).load(str(checkpoint))
        starts = {row.key.WindowStart for row in kept_of.select("key").collect()}
        assert starts == {BEGIN + 3 * 24 * 60 * MINUTE - hop * 10 * MINUTE for hop in range(6)}, name
    late_rows = sum(json.loads(each.json)["stateOperators"][0]["numRowsDroppedByWatermark"] for each in progress)
    assert late_rows == 6  # in that many windows
    assert len([row for row in found if bytes(row.key).decode() == str(BEGIN)]) == 1


VIEWS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5)), min_size=1, max_size=8)


@given(st.lists(VIEWS, min_size=1, max_size=6))
def test_whatever_batches_views_come_in_the_window_ends_with_the_products_of_the_most_users(batches):
    tester, told, seen = TwsTester(_Trending(60 * MINUTE, 3), timeMode="EventTime", eventTimeExtractor=lambda row: 1), [], []
    for batch in batches:
        seen += [{"Product": product, "User": str(user), "At": 0} for product, user in batch]
        came: pd.DataFrame = tester.testInPandas(0, pd.DataFrame(batch, columns=["Product", "User"]).astype({"User": "int64"}))
        told += came.to_dict("records")
        assert [tuple(each.values()) for each in told[-1]["Top"]] == events.trending(seen, hop=60 * MINUTE)[0]
    assert all(before["Top"] != after["Top"] for before, after in itertools.pairwise(told))
    tester.setWatermark(60 * MINUTE)
    assert (tester.peekValueState("totals", 0), tester.peekMapState("users", 0)) == (None, {})
