"""The queries that join rides, killed in their work and started again, end with what a recompute of their input gives."""

import datetime as dt

import pytest

from contracts.queries import load_queries
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.rides import KeyedTopic, Reader, RidesTopic, as_row, payments, ride_name, sample
from tests.jobs.rides_by_hand import as_counted, dearest, events, last_rides, paid_at, zone_names, zones
from tests.support.seed import chance

pytestmark = [pytest.mark.kill, pytest.mark.full]

KEYED = ("taxi-payments", "taxi-zones", "taxi-vendors")
VENDORS = {"1": "Creative Mobile Technologies, LLC", "2": "VeriFone Inc."}


@pytest.mark.timeout(600 + 120 * KILLS)
def test_rides_joins(broker, start):
    """Rides and payments part by part, and in the end a ride of a week later; then tables change, and a ride is too late."""
    reader, rides, paid = deployed(broker, "rides-joins"), sample(), payments()
    source, cash, zoned, vendors = RidesTopic(broker, "rides"), *(KeyedTopic(broker, topic) for topic in KEYED)
    zoned.send(*((str(number), zone) for number, zone in zones().items()))
    vendors.send(*((key, {"VendorID": int(key), "Name": name}) for key, name in VENDORS.items()))

    def work(number: int) -> None:
        parts = ([len(all_) * each // (KILLS + 1) for each in (number, number + 1)] for all_ in (rides, paid))
        (first, last), (first_paid, last_paid) = parts
        source.send(*rides[first:last])
        cash.send(*((each["Ride"], each) for each in paid[first_paid:last_paid]))

    work(0)
    last = killed_while(lambda: start("rides-joins"), work, chance("joins"))
    in_time = {name: at for name, at in paid_at(list(map(as_row, rides)), paid).items() if at}
    until("every payment has its ride", lambda: in_time.items() <= _paid(reader, "rides.payments").items())
    later = rides[-1] | {"tpep_pickup_datetime": rides[-1]["tpep_pickup_datetime"] + dt.timedelta(days=7)}
    paid.append(paid[-1] | {"Ride": ride_name(later), "PaidAt": as_row(later)["RowTime"]})
    source.send(later)
    cash.send((paid[-1]["Ride"], paid[-1]))
    until("the topic holds all rides", lambda: reader.all_of("rides", "taxi_ride")[-1:] == [later])
    came = [as_row(ride) for ride in reader.all_of("rides", "taxi_ride")]
    assert_joined(reader, came, paid)

    def told() -> dict:
        return last.heartbeat()["queries"]["rides-payments"]

    until("what can't be joined any more is gone from the state", lambda: told()["state_rows"] == 2)
    assert told()["late_rows"] == 0
    zoned.send(("238", zones()[238] | {"Zone": "Elsewhere"}), ("75", None), ("132", b"junk"))
    vendors.send(("1", None))
    late = rides[0] | {"PULocationID": 238, "DOLocationID": 75}
    source.send(late)
    until("the ride finds the zones as they are now", lambda: _zones(reader).get(ride_name(late)) == ("Elsewhere", None))
    until("the ride is too late to be joined with a payment", lambda: told()["late_rows"] == 1)
    expected = _named(came)
    until("without its name there is no such row", lambda: _dearest(reader, "vendors.dearest") == {"2": expected["2"]})
    assert _dearest(reader, "vendors.dearest-all") == expected | {"1": (None, expected["1"][1])}
    until("what was no zone is a dead letter, once", lambda: _letters(reader) == [("taxi-zones.dead-letter", b"junk")])
    assert last.stop() == 0


def assert_joined(reader: Reader, came: list[dict], paid: list[dict]) -> None:
    """All outputs become what a recompute of their inputs gives."""
    until("every ride has its payment, or none", lambda: _paid(reader, "rides.payments") == paid_at(came, paid))
    assert _paid(reader, "rides.unpaid").keys() == {name for name, at in paid_at(came, paid).items() if at is None}
    names = {number: zone["Zone"] for number, zone in zones().items()}
    until("the names of zones", lambda: _zones(reader) == zone_names(came, names))
    until("three events of a ride", lambda: _events(reader) == events(came, paid))
    windows = set(last_rides(came, load_queries()["rides-last"].parameters["rides"]))
    until("the last rides with each", lambda: set(map(as_counted, reader.all_of("rides.last", "vendor_last_rides"))) == windows)
    until("the dearest rides by the vendors' names", lambda: _dearest(reader, "vendors.dearest") == _named(came))
    assert _dearest(reader, "vendors.dearest-all") == _named(came)


def _letters(reader: Reader) -> list[tuple]:
    return [(message.topic(), message.value()) for message in reader.look() if message.topic().endswith("dead-letter")]


def _paid(reader: Reader, topic: str) -> dict:
    return {row["Ride"]: row["PaidAt"] for row in reader.of(topic, "ride_payment").values()}


def _zones(reader: Reader) -> dict:
    return {row["Ride"]: (row["FromZone"], row["ToZone"]) for row in reader.of("rides.zones", "ride_zones").values()}


def _events(reader: Reader) -> dict:
    found = reader.of("rides.events", "ride_event")
    return {key.decode(): (row["At"], row["LocationID"], row["Amount"]) for key, row in found.items()}


def _dearest(reader: Reader, topic: str) -> dict:
    found = reader.of(topic, "named_vendor_dearest")
    return {key.decode(): (row["Name"], row["TotalAmount"]) for key, row in found.items()}


def _named(rides: list[dict]) -> dict:
    return {vendor: (VENDORS[vendor], ride["total_amount"]) for vendor, ride in dearest(rides).items()}
