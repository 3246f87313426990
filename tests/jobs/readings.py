"""Readings in a feed's topic and in its history."""

import datetime as dt

import numpy as np
from confluent_kafka import Producer
from pyspark.sql import DataFrame

from jobs.backends import tables
from jobs.transforms.history_rows import placed
from sources.producer import encoder

NOON = dt.datetime(2026, 11, 20, 17, tzinfo=dt.UTC)  # in New York


ANY_TIME = {"most_ahead": "36500 days", "most_behind": "36500 days"}  # of a feed whose tests' days don't move with the clock


def produce(broker, feed, *records: tuple[str, dt.datetime | bytes, int], partition: int | None = None) -> None:
    """Records (service, time, value); bytes instead of a time are sent as they are. partition: of all, by default by service."""
    producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True, "message.max.bytes": 1_100_000})
    readings = [(at, value) for _, at, value in records if not isinstance(at, bytes)]
    payloads = iter(_encoded(broker, feed, readings) if readings else [])
    for service, at, _ in records:
        payload = at if isinstance(at, bytes) else next(payloads)
        to = len(service) % feed.partitions if partition is None else partition
        producer.produce(feed.topic, payload, service.encode(), partition=to)
    assert producer.flush(30) == 0


def encoded(broker, feed, at: dt.datetime, value: int) -> bytes:
    return _encoded(broker, feed, [(at, value)])[0]


def _encoded(broker, feed, readings: list[tuple[dt.datetime, int]]) -> list[bytes]:
    times, values = zip(*readings, strict=True)
    return encoder(feed, broker.registry).encode(np.array([int(at.timestamp() * 1000) for at in times]), np.array(values))


def arrived(spark, feed, rows: list[tuple[str, dt.datetime, int, int, int]]) -> DataFrame:
    """Rows of history, of (service, time, value, partition, offset): as they arrive, the broker having taken each at its time."""
    frame = spark.createDataFrame(
        rows, "ServiceName string, Timestamp timestamp, Value long, KafkaPartition int, KafkaOffset long"
    )
    return placed(frame.withColumn("KafkaTimestamp", frame.Timestamp), feed.timezone, feed.interval_seconds)


def kept(spark, platform, feed) -> list[tuple]:
    rows = tables.history(platform, feed).read(spark).orderBy("ServiceName", "Timestamp").collect()
    return [(row.ServiceName, row.Timestamp.replace(tzinfo=dt.UTC), row.Value, row.Date) for row in rows]
