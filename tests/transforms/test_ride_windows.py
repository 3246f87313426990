"""The last rides of each vendor, the dearest ride, and events of rides: live and as a batch, as counted by hand."""

from collections import deque

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from pyspark.sql.streaming.tws_tester import TwsTester

from contracts.queries import load_queries
from jobs.transforms.queries.rides_last import _LastRides
from tests.jobs.rides import as_row, payments, sample
from tests.jobs.rides_by_hand import as_counted, dearest, events, last_rides
from tests.transforms.live import Live, in_the_end

RIDES = [as_row(each) for each in sample()]
LAST = load_queries()["rides-last"].parameters["rides"]


@given(some.lists(some.lists(some.tuples(some.integers(0, 9), some.integers(-500, 9999)), min_size=1, max_size=5), max_size=5))
def test_the_last_rides_do_not_depend_on_the_batches_in_which_they_come(batches):
    tester, window, offset = TwsTester(_LastRides(3)), deque(maxlen=3), 0
    for batch in batches:
        came = [{"At": at, "Cents": cents, "Offset": offset + number} for number, (at, cents) in enumerate(batch)]
        offset += len(batch)
        rows: pd.DataFrame = tester.testInPandas(1, pd.DataFrame(came).sample(frac=1, random_state=1))
        for (at, cents), row in zip(batch, rows.to_dict("records"), strict=True):
            window.append((at, cents))
            assert (row["Rides"], row["Since"], row["Until"]) == (len(window), min(window)[0], max(window)[0])
            assert row["AverageAmount"] == pytest.approx(sum(each for _, each in window) / len(window) / 100)
    assert tester.peekListState("last", 1) == list(window)


@pytest.mark.full
def test_with_each_ride_of_the_sample_the_vendors_last_ones(spark, tmp_path):
    live = Live(spark, tmp_path, load_queries()["rides-last"])
    told = live.came(rides=RIDES[:100]) + live.came(rides=RIDES[100:])
    live.stop()
    expected = last_rides(RIDES, LAST)
    for written in (told, live.batch()):
        for vendor in {ride["VendorID"] for ride in RIDES}:
            assert [as_counted(row) for _, key, row in written if key == str(vendor)] == [e for e in expected if e[0] == vendor]


@pytest.mark.full
def test_the_dearest_ride_of_each_vendor_is_the_first_of_equals(spark, tmp_path):
    live = Live(spark, tmp_path, load_queries()["rides-dearest"])
    again = [ride | {"PULocationID": 999} for ride in RIDES]  # as dear, and later
    told = live.came(rides=RIDES[:100]) + live.came(rides=RIDES[100:] + again)
    live.stop()
    expected = dearest(RIDES)
    for written in (told, live.batch()):
        found = in_the_end(written, "rides.dearest")
        assert {key: (row["TotalAmount"], row["PULocationID"], row["PickedUpAt"]) for key, row in found.items()} == {
            key: (ride["total_amount"], ride["PULocationID"], ride["RowTime"]) for key, ride in expected.items()
        }
    assert (len(told), {key for _, key, _ in told}) == (2 * len(expected), set(expected))


@pytest.mark.full
def test_two_events_of_each_ride_and_one_of_each_payment(spark, tmp_path):
    live = Live(spark, tmp_path, load_queries()["rides-events"])
    told = live.came(rides=RIDES[:100], payments=payments()[:50]) + live.came(rides=RIDES[100:], payments=payments()[50:])
    live.stop()
    expected = events(RIDES, payments())
    assert len(told) == len(expected)
    for written in (told, live.batch()):
        found = in_the_end(written, "rides.events")
        assert {key: (row["At"], row["LocationID"], row["Amount"]) for key, row in found.items()} == expected
