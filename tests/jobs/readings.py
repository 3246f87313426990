"""Readings in a feed's topic and in its history."""

import datetime as dt

import numpy as np
from confluent_kafka import Producer

from jobs.backends import tables
from sources.producer import encoder

NOON = dt.datetime(2026, 11, 20, 17, tzinfo=dt.UTC)  # in New York


ANY_TIME = {"most_ahead": "36500 days", "most_behind": "36500 days"}  # of a feed whose tests' days don't move with the clock


def produce(broker, feed, *records: tuple[str, dt.datetime | bytes, int]) -> None:
    """Records (service, time, value); bytes instead of a time are sent as they are."""
    producer = Producer({"bootstrap.servers": broker.kafka, "acks": "all", "message.max.bytes": 1_100_000})
    for service, at, value in records:
        payload = at if isinstance(at, bytes) else encoded(broker, feed, at, value)
        producer.produce(feed.topic, payload, service.encode(), partition=len(service) % feed.partitions)
    assert producer.flush(30) == 0


def encoded(broker, feed, at: dt.datetime, value: int) -> bytes:
    return encoder(feed, broker.registry).encode(np.array([int(at.timestamp() * 1000)]), np.array([value]))[0]


def kept(spark, platform, feed) -> list[tuple]:
    rows = tables.history(platform, feed).read(spark).orderBy("ServiceName", "Timestamp").collect()
    return [(row.ServiceName, row.Timestamp.replace(tzinfo=dt.UTC), row.Value, row.Date) for row in rows]
