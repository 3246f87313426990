"""Queries of rides, killed in their work and started again, end with what a recompute of their input gives."""

import datetime as dt

import pytest

from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.rides import Reader, RidesTopic, as_row, per_vendor_minute, sample
from tests.jobs.rides_by_hand import as_totals, as_windows, sessions, totals, windows
from tests.support.seed import chance

pytestmark = [pytest.mark.kill, pytest.mark.full]


@pytest.mark.timeout(600 + 120 * KILLS)
def test_rides(broker, start):
    reader, source, rides = deployed(broker, "rides"), RidesTopic(broker, "rides"), sample()
    size = len(rides) // (KILLS + 1)
    source.send(*rides[:size])

    def work(number: int) -> None:
        source.send(*rides[number * size : (number + 1) * size if number < KILLS else None])

    last = killed_while(lambda: start("rides"), work, chance("rides"))
    until("minutes are those of all rides", lambda: reader.minutes("rides.per-vendor-minute") == per_vendor_minute(rides))
    rows = list(map(as_row, rides))
    half_hours = windows(rows, dt.timedelta(minutes=30), dt.timedelta(minutes=10))
    over = rows[-1]["RowTime"] - dt.timedelta(hours=1)  # the watermark: of sessions, those that are over are told
    spells = {place: told for place, told in sessions(rows, dt.timedelta(minutes=2)).items() if place[2] <= over}
    assert spells

    def told(topic: str) -> dict[tuple, tuple]:
        return as_windows(reader.of(topic, "vendor_window").values())

    until("half hours are those of all rides", lambda: told("rides.per-vendor-half-hour") == half_hours)
    until("sessions are those of all rides", lambda: told("rides.sessions") == spells)
    until("totals are of all rides", lambda: as_totals(reader.of("rides.per-vendor", "vendor_total").values()) == totals(rows))
    until("every ride is in one of the topics", lambda: len(of(reader, "low") | of(reader, "high")) == len(rides))
    assert {row["total_amount"] < 40 for row in of(reader, "low").values()} == {True}
    assert {row["total_amount"] < 40 for row in of(reader, "high").values()} == {False}
    assert [message.topic() for message in reader.look() if message.topic().endswith("dead-letter")] == []
    assert last.stop() == 0


def of(reader: Reader, amount: str) -> dict[bytes, dict]:
    return reader.of(f"rides.{amount}-amount", "taxi_ride")
