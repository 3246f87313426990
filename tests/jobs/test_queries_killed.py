"""The declared queries, killed in the middle of their work and started again, end with what a recompute of their input gives."""

import datetime as dt
import json
import random
from collections import defaultdict

import pytest

from stack import query_table
from tests.jobs import events
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.metrics import LATENESS, MINUTE, MetricsTopic, by_window, wrong
from tests.jobs.rides import Reader, RidesTopic, per_vendor_minute, sample


@pytest.mark.timeout(240 + 60 * KILLS)
def test_rides(broker, start):
    reader, source, rides = deployed(broker, "rides"), RidesTopic(broker, "rides"), sample()
    size = len(rides) // (KILLS + 1)
    source.send(*rides[:size])

    def work(number: int) -> None:
        source.send(*rides[number * size : (number + 1) * size if number < KILLS else None])

    last = killed_while(start, "rides", work, random.Random(6))
    until(lambda: reader.minutes("rides.per-vendor-minute") == per_vendor_minute(rides), "minutes are those of all rides")
    until(lambda: len(of(reader, "low") | of(reader, "high")) == len(rides), "every ride is in one of the topics")
    assert {row["total_amount"] < 40 for row in of(reader, "low").values()} == {True}
    assert {row["total_amount"] < 40 for row in of(reader, "high").values()} == {False}
    assert [message.topic() for message in reader.look() if message.topic().endswith("dead-letter")] == []
    assert last.stop() == 0


def of(reader: Reader, amount: str) -> dict[bytes, dict]:
    return reader.of(f"rides.{amount}-amount", "taxi_ride")


@pytest.mark.timeout(240 + 60 * KILLS)
def test_metric_summaries(broker, start):
    """Half an hour of events, one a second and key, repeated and corrected ones too, each part of it under a driver that dies."""
    reader, source, random_ = deployed(broker, "metrics"), MetricsTopic(broker, "metrics"), random.Random(7)
    begin = int(dt.datetime.now(dt.UTC).timestamp() * 1000) // (10 * MINUTE) * 10 * MINUTE - 40 * MINUTE
    keys = [f"environment={environment}:metric=dbWaitTime" for environment in ("prod", "test", "dev")]
    last_values: dict[tuple[str, str, int], float] = {}

    def work(number: int) -> None:
        events = []
        for key in keys:
            for second in range(0, 1800 // (KILLS + 1)):
                at = begin + 1000 * (second + number * 1800 // (KILLS + 1))
                events.append((key, f"{key}-{at}", at, random_.lognormvariate(3, 1)))
        known = [each for each in last_values if each[2] > at - LATENESS]  # corrections that come in time
        for key, id_, at in random_.sample(known, min(len(known), 20)):
            events.append((key, id_, at, last_values[key, id_, at] * random_.choice((1.0, 3.0))))
        source.send(*events)
        last_values.update({(key, id_, at): value for key, id_, at, value in events})

    work(0)
    last = killed_while(start, "metrics", work, random_)
    values = defaultdict(list)
    for (key, _, at), value in last_values.items():
        values[key, at // (10 * MINUTE) * 10 * MINUTE].append(value)

    def summaries() -> dict:
        return by_window(reader.of("metrics.summaries", "metric_summary").values())

    until(
        lambda: {place: row["Count"] for place, row in summaries().items()} == {place: len(v) for place, v in values.items()},
        "counts",
    )
    until(lambda: not wrong(summaries(), values), "the summaries of the events' last values")
    assert [message.topic() for message in reader.look() if message.topic().endswith(("dead-letter", "late"))] == []
    assert last.stop() == 0


@pytest.mark.timeout(240 + 60 * KILLS)
def test_events(broker, start):
    """Views, changes of products, check-ins and readings of eight minutes after the other, each under a driver that dies."""
    reader, source, random_ = deployed(broker, "events"), events.Events(broker), random.Random(8)
    begin = int(dt.datetime.now(dt.UTC).timestamp() * 1000) // (10 * MINUTE) * 10 * MINUTE - 60 * MINUTE
    views, changes, check_ins, readings = [], [], [], []

    def work(number: int) -> None:
        first = begin + number * 8 * MINUTE
        times = [first + n * 8 * MINUTE // 200 for n in range(200)]
        viewed = [{"Product": random_.choice("abcdefgh"), "User": f"u{random_.randrange(40)}", "At": at} for at in times]
        changed = [change(random_) for _ in range(100)]
        checked = [{"User": f"u{n}", "Place": random_.choice("xyz"), "At": random_.choice(times)} for n in range(40)]
        read = [{"Sensor": "roof", "At": at, "Celsius": random_.randrange(-9000, 40000) / 1000} for at in times]
        source.send("product-views", *((each["User"], each) for each in viewed))
        source.send("product-changes", *changed)
        source.send("check-ins", *((each["User"], each) for each in checked))
        source.send("sensor-readings", *((each["Sensor"], each) for each in read))
        for log, new in ((views, viewed), (changes, changed), (check_ins, checked), (readings, read)):
            log.extend(new)

    work(0)
    last = killed_while(start, "events", work, random_)
    newest = readings[-1]["At"]
    source.send("sensor-readings", ("roof", {"Sensor": "roof", "At": newest + 10 * MINUTE, "Celsius": 0.0}))

    def table(topic: str) -> dict[str, dict]:
        return events.table(reader.look(), topic)

    trending, minutes = events.trending(views), events.minutes(readings, newest + 9 * MINUTE)
    until(lambda: table("products") == events.products(changes), "the products that the changes leave")
    until(lambda: events.as_trending(reader.of("product-views.trending", "trending_products").values()) == trending, "trending")
    until(lambda: events.as_minutes(reader.of("sensor-readings.per-minute", "sensor_minute").values()) == minutes, "minutes")
    until(lambda: events.as_check_ins(table("check-ins.last").values()) == events.last_check_ins(check_ins), "last check-ins")
    letters = {(message.topic(), message.key()) for message in reader.look() if message.topic().endswith("dead-letter")}
    refused = {n for n, (_, each) in enumerate(changes) if each["op"] != "DELETE" and not events.allowed(each)}
    assert letters == {("product-changes.dead-letter", f"product-changes-0-{n}".encode()) for n in refused}
    recomputed = [json.loads(line)["value"] for line in query_table.printed(broker, "trending-products").splitlines()]
    assert events.as_trending(recomputed) == trending
    assert last.stop() == 0


def change(random_: random.Random) -> tuple[str, dict]:
    put = {"op": "PUT", "name": f"n{random_.randrange(1000)}", "price": random_.randrange(1000) / 4}
    return random_.choice("abcdefgh"), random_.choice((put, put, put, {"op": "DELETE"}, put | {"price": -1.0}, {"op": "MOVE"}))
