"""Queries of rides, killed in their work and started again, end with what a recompute of their input gives."""

import random

import pytest

from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.rides import Reader, RidesTopic, per_vendor_minute, sample


@pytest.mark.timeout(240 + 60 * KILLS)
def test_rides(broker, start):
    reader, source, rides = deployed(broker, "rides"), RidesTopic(broker, "rides"), sample()
    size = len(rides) // (KILLS + 1)
    source.send(*rides[:size])

    def work(number: int) -> None:
        source.send(*rides[number * size : (number + 1) * size if number < KILLS else None])

    last = killed_while(lambda: start("rides"), work, random.Random(6))
    until(lambda: reader.minutes("rides.per-vendor-minute") == per_vendor_minute(rides), "minutes are those of all rides")
    until(lambda: len(of(reader, "low") | of(reader, "high")) == len(rides), "every ride is in one of the topics")
    assert {row["total_amount"] < 40 for row in of(reader, "low").values()} == {True}
    assert {row["total_amount"] < 40 for row in of(reader, "high").values()} == {False}
    assert [message.topic() for message in reader.look() if message.topic().endswith("dead-letter")] == []
    assert last.stop() == 0


def of(reader: Reader, amount: str) -> dict[bytes, dict]:
    return reader.of(f"rides.{amount}-amount", "taxi_ride")
