"""What the queries that join rides, and those with windows of their own, must find: counted in plain Python.

Rides and payments are rows, in the order in which they came.
"""

import csv
import datetime as dt
from collections import deque
from collections.abc import Iterable

from tests.jobs.rides import SAMPLE, ride_name, utc

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
WITHIN = dt.timedelta(hours=3)  # of its pick-up a ride is paid


def windows(rides: list[dict], length: dt.timedelta, step: dt.timedelta) -> dict[tuple, tuple]:
    """(rides, cents) by vendor, start and end of windows that begin with each step."""
    found: dict[tuple, tuple] = {}
    for ride in rides:
        start = ride["RowTime"] - (ride["RowTime"] - EPOCH) % step
        while start + length > ride["RowTime"]:
            place = ride["VendorID"], start, start + length
            found[place] = counted(ride, *found.get(place, (0, 0)))
            start -= step
    return found


def sessions(rides: list[dict], pause: dt.timedelta) -> dict[tuple, tuple]:
    """(rides, cents) by vendor, start and end of spells of rides, in order, without a pause."""
    found, last = {}, {}
    for ride in rides:
        vendor, at = ride["VendorID"], ride["RowTime"]
        start, end = last.get(vendor, (at, at))
        if at >= end:
            start, end = at, at
        so_far = found.pop((vendor, start, end), (0, 0))
        last[vendor] = start, at + pause
        found[vendor, *last[vendor]] = counted(ride, *so_far)
    return found


def totals(rides: list[dict]) -> dict[int, tuple]:
    """(rides, cents) by vendor."""
    found: dict[int, tuple] = {}
    for ride in rides:
        found[ride["VendorID"]] = counted(ride, *found.get(ride["VendorID"], (0, 0)))
    return found


def counted(ride: dict, rides: int, cents: int) -> tuple[int, int]:
    return rides + 1, cents + round(100 * ride["total_amount"])


def as_windows(rows: Iterable[dict]) -> dict[tuple, tuple]:
    """Records of the contract vendor_window, as `windows` and `sessions` count them."""
    return {(r["VendorID"], r["WindowStart"], r["WindowEnd"]): (r["Rides"], round(100 * r["TotalAmount"])) for r in rows}


def as_totals(rows: Iterable[dict]) -> dict[int, tuple]:
    """Records of the contract vendor_total, as `totals` counts them."""
    return {row["VendorID"]: (row["Rides"], round(100 * row["TotalAmount"])) for row in rows}


def zones() -> dict[int, dict]:
    with SAMPLE.with_name("nyc_taxi_zones.csv").open() as file:
        return {int(row["LocationID"]): row | {"LocationID": int(row["LocationID"])} for row in csv.DictReader(file)}


def paid_at(rides: list[dict], payments: list[dict]) -> dict[str, dt.datetime | None]:
    """When each ride was paid, by its name; None: not in time."""
    came = {each["Ride"]: each["PaidAt"] for each in payments}
    within = {ride_name(each): each["RowTime"] + WITHIN for each in rides}
    return {name: came[name] if name in came and came[name] <= until else None for name, until in within.items()}


def zone_names(rides: list[dict], names: dict[int, str]) -> dict[str, tuple[str | None, str | None]]:
    """Where each ride began and ended, by its name."""
    return {ride_name(each): (names.get(each["PULocationID"]), names.get(each["DOLocationID"])) for each in rides}


def last_rides(rides: list[dict], most: int) -> list[tuple]:
    """(vendor, rides, since, until, cents) with each ride."""
    told, last = [], {}
    for ride in rides:
        window = last.setdefault(ride["VendorID"], deque(maxlen=most))
        window.append(ride)
        times = [each["RowTime"] for each in window]
        told.append((ride["VendorID"], len(window), min(times), max(times), sum(round(100 * r["total_amount"]) for r in window)))
    return told


def as_counted(row: dict) -> tuple:
    """A vendor_last_rides, as `last_rides` counts it."""
    return row["VendorID"], row["Rides"], row["Since"], row["Until"], round(100 * row["AverageAmount"] * row["Rides"])


def dearest(rides: list[dict]) -> dict[str, dict]:
    """The dearest ride of each vendor; of equals the first."""
    found: dict[str, dict] = {}
    for ride in rides:
        vendor = str(ride["VendorID"])
        if vendor not in found or ride["total_amount"] > found[vendor]["total_amount"]:
            found[vendor] = ride
    return found


def events(rides: list[dict], payments: list[dict]) -> dict[str, tuple]:
    """(time, zone, amount) of all that happened, by the ride's name and what it was."""
    found = {f"{each['Ride']}|payment": (each["PaidAt"], None, each["Amount"]) for each in payments}
    for ride in rides:
        found[f"{ride_name(ride)}|pick-up"] = (ride["RowTime"], ride["PULocationID"], None)
        found[f"{ride_name(ride)}|drop-off"] = (utc(ride["tpep_dropoff_datetime"]), ride["DOLocationID"], None)
    return found
