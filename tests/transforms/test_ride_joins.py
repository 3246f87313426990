"""The joins of the taxi rides: inner and left, with late events; live and as a batch, as counted by hand."""

import datetime as dt
import random

import pytest

from contracts.queries import Query, load_queries
from tests.jobs.rides import as_row, payments, ride_name, sample
from tests.jobs.rides_by_hand import paid_at, zone_names, zones
from tests.transforms.live import Live, in_the_end

NOON = dt.datetime(2020, 7, 1, 16, tzinfo=dt.UTC)  # in New York


def declared(name: str, how: str = "LEFT JOIN") -> Query:
    query = load_queries()[name]
    return query.model_copy(update={"sql": query.sql.replace("LEFT JOIN", how)})


def ride(minute: int, **overrides) -> dict:
    """A row of a ride that began so many minutes after noon."""
    at = dt.datetime(2020, 7, 1, 12) + dt.timedelta(minutes=minute)
    return as_row(sample()[0] | {"tpep_pickup_datetime": at} | overrides)


def paid(ride: dict, minute: int) -> dict:
    at = NOON + dt.timedelta(minutes=minute)
    return {"Ride": ride_name(ride), "PaidAt": at, "PaymentType": 1, "Amount": ride["total_amount"], "RowTime": at}


@pytest.mark.full
@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN"])
def test_late_rides_and_payments_join_within_the_lateness_and_are_counted_beyond_it(spark, tmp_path, how):
    live = Live(spark, tmp_path, declared("rides-payments", how))
    first, second, third, fourth = ride(0), ride(5), ride(90), ride(120)
    early = ride(70)  # comes after its payment
    assert live.came(rides=[first, second], payments=[]) == []
    told = live.came(rides=[third, fourth], payments=[paid(fourth, 120), paid(early, 71)])
    assert [value["Ride"] for _, _, value in told] == [ride_name(fourth)]
    # The watermark is at 13:00 now. In time are a ride of 13:10 and a payment of 13:30; not in time, those of 12:50.
    told = live.came(rides=[early, ride(50)], payments=[paid(first, 90), paid(second, 50)])
    assert {value["Ride"]: value["PaidAt"] for _, _, value in told} == {
        ride_name(early): NOON + dt.timedelta(minutes=71),
        ride_name(first): NOON + dt.timedelta(minutes=90),
    }
    clock = ride(600)
    told = live.came(rides=[clock], payments=[paid(clock, 601)])
    unpaid = [(topic, value["Ride"]) for topic, _, value in told if value["PaidAt"] is None]
    left = {(topic, ride_name(each)) for topic in ("rides.payments", "rides.unpaid") for each in (second, third)}
    assert (set(unpaid), len(unpaid)) == ((left, 4) if how == "LEFT JOIN" else (set(), 0))
    told_of = live.stop()
    assert sum(each["late"] for each in told_of) == 2
    assert max(each["rows"] for each in told_of) >= 6
    assert told_of[-1]["rows"] == 2  # what came before the watermark of 21:00 is gone, but for the clock's own two


@pytest.mark.full
def test_rides_of_the_sample_and_their_payments(spark, tmp_path):
    live, rides, paid_for = Live(spark, tmp_path, declared("rides-payments")), [as_row(each) for each in sample()], payments()
    told, size = [], len(rides) // 2
    told += live.came(rides=rides[:size], payments=[])
    told += live.came(rides=rides[size:], payments=paid_for)
    clock = ride(7 * 24 * 60)
    told += live.came(rides=[clock], payments=[paid(clock, 7 * 24 * 60)])
    live.stop()
    expected = paid_at([*rides, clock], [*paid_for, paid(clock, 7 * 24 * 60)])
    assert sum(at is None for at in expected.values()) == 7  # three without a payment, and four that drove for too long
    for written in (told, live.batch()):
        assert {key: value["PaidAt"] for key, value in in_the_end(written, "rides.payments").items()} == expected
        assert in_the_end(written, "rides.unpaid").keys() == {name for name, at in expected.items() if at is None}


def zone(row: dict | int, **overrides) -> dict:
    """A row of a zone; a number deletes it."""
    made = {"RowDeleted": True, "ZoneKey": str(row)} if isinstance(row, int) else row | {"ZoneKey": str(row["LocationID"])}
    return made | {"RowTime": NOON} | overrides


@pytest.mark.parametrize("how", ["JOIN", pytest.param("LEFT JOIN", marks=pytest.mark.full)])
def test_rides_are_joined_with_the_last_row_of_each_zone(spark, tmp_path, how):
    named = zones()
    table = [zone(row) for row in named.values()]
    table += [zone(named[238] | {"Zone": "Elsewhere"}), zone(75), zone(48), zone(named[48])]
    table += [zone(named[132] | {"Zone": "Idlewild"}, RowOffset=0)]  # an older record, read later
    live = Live(spark, tmp_path, declared("rides-zones", how), zones=table)
    rides = [as_row(each) for each in sample()]
    told = live.came(rides=rides)
    live.stop()
    name = {number: row["Zone"] for number, row in named.items()} | {238: "Elsewhere"}
    del name[75]
    expected = zone_names(rides, name)
    missing = {ride for ride, names in expected.items() if None in names}
    assert len(missing) > 5
    if how == "JOIN":
        expected = {ride: names for ride, names in expected.items() if ride not in missing}
    for written in (told, live.batch()):
        found = {key: (row["FromZone"], row["ToZone"]) for key, row in in_the_end(written, "rides.zones").items()}
        assert found == expected
    assert len(told) == len(expected)


def dearest(vendor: int, amount: float) -> dict:
    row = {"VendorID": vendor, "PickedUpAt": NOON, "PULocationID": 1, "DOLocationID": 1, "TotalAmount": amount}
    return row | {"Vendor": str(vendor), "RowTime": NOON}


def vendor(number: int, name: str) -> dict:
    return {"VendorID": number, "Name": name, "Vendor": str(number), "RowTime": NOON}


def gone(number: int) -> dict:
    return {"Vendor": str(number), "RowTime": NOON, "RowDeleted": True}


INNER, LEFT = "vendors.dearest", "vendors.dearest-all"


def briefly(told: list[tuple[str, str, dict | None]]) -> dict[tuple[str, str], tuple | None]:
    """The last that was told of each key."""
    return {(topic, key): value and (value["Name"], value["TotalAmount"]) for topic, key, value in told}


@pytest.mark.full
def test_a_change_on_either_side_of_two_tables_tells_the_joined_row_anew(spark, tmp_path):
    live = Live(spark, tmp_path, declared("vendors-dearest"))
    assert briefly(live.came(dearest=[dearest(1, 10.0)], vendors=[vendor(2, "B")])) == {(LEFT, "1"): (None, 10.0)}
    assert briefly(live.came(dearest=[], vendors=[vendor(1, "A"), vendor(1, "AA")])) == {
        (INNER, "1"): ("AA", 10.0),
        (LEFT, "1"): ("AA", 10.0),
    }
    assert briefly(live.came(dearest=[dearest(2, 20.0), dearest(1, 11.0)], vendors=[gone(1)])) == {
        (INNER, "2"): ("B", 20.0),
        (LEFT, "2"): ("B", 20.0),
        (INNER, "1"): None,
        (LEFT, "1"): (None, 11.0),
    }
    assert briefly(live.came(dearest=[gone(2), gone(3)], vendors=[vendor(1, "A")])) == {
        (INNER, "2"): None,
        (LEFT, "2"): None,
        (LEFT, "3"): None,
        (INNER, "1"): ("A", 11.0),
        (LEFT, "1"): ("A", 11.0),
    }
    assert len(live.batch()) == 5  # of three vendors, of which one has no name
    live.stop()


@pytest.mark.full
def test_two_tables_end_as_their_last_rows_do_whatever_came_before(spark, tmp_path):
    random_, live = random.Random(5), Live(spark, tmp_path, declared("vendors-dearest"))
    told, amounts, names = [], {}, {}
    for _ in range(3):
        came = {"dearest": [], "vendors": []}
        for _ in range(20):
            number, deletes, of_rides = random_.randint(1, 8), random_.random() < 0.3, random_.random() < 0.5
            if of_rides:
                amounts[number] = None if deletes else random_.randint(1, 99) / 4
                came["dearest"].append(gone(number) if deletes else dearest(number, amounts[number]))
            else:
                names[number] = None if deletes else random_.choice("ABC")
                came["vendors"].append(gone(number) if deletes else vendor(number, names[number]))
        told += live.came(**came)
    live.stop()
    left: dict[str, tuple] = {
        str(number): (names.get(number), amount) for number, amount in amounts.items() if amount is not None
    }
    inner = {key: row for key, row in left.items() if row[0] is not None}
    assert 0 < len(inner) < len(left) < 8
    for written in (told, live.batch()):
        found = {t: {k: (v["Name"], v["TotalAmount"]) for k, v in in_the_end(written, t).items()} for t in (INNER, LEFT)}
        assert found == {INNER: inner, LEFT: left}
