"""Queries of JSON events, killed in their work and started again, end with what a recompute of their input gives."""

import datetime as dt
import json
import random

import pytest

from stack.parts import job
from tests.jobs import events
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.metrics import MINUTE
from tests.support.seed import chance

pytestmark = [pytest.mark.kill, pytest.mark.full]


@pytest.mark.timeout(600 + 120 * KILLS)
def test_events(broker, start):
    """Views, changes of products, check-ins and readings of eight minutes after the other, each under a driver that dies."""
    reader, source, random_ = deployed(broker, "events"), events.Events(broker), chance("events")
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
    last = killed_while(lambda: start("events"), work, random_)
    newest = readings[-1]["At"]
    source.send("sensor-readings", ("roof", {"Sensor": "roof", "At": newest + 10 * MINUTE, "Celsius": 0.0}))

    def table(topic: str) -> dict[str, dict]:
        return events.table(reader.look(), topic)

    trending, minutes = events.trending(views), events.minutes(readings, newest + 9 * MINUTE)
    until("the products that the changes leave", lambda: table("products") == events.products(changes))
    until("trending", lambda: events.as_trending(reader.of("product-views.trending", "trending_products").values()) == trending)
    until("minutes", lambda: events.as_minutes(reader.of("sensor-readings.per-minute", "sensor_minute").values()) == minutes)
    until("last check-ins", lambda: events.as_check_ins(table("check-ins.last").values()) == events.last_check_ins(check_ins))
    letters = {(message.topic(), message.key()) for message in reader.look() if message.topic().endswith("dead-letter")}
    refused = {n for n, (_, each) in enumerate(changes) if each["op"] != "DELETE" and not events.allowed(each)}
    assert letters == {("product-changes.dead-letter", f"product-changes-0-{n}".encode()) for n in refused}
    recomputed = [
        json.loads(line)["value"] for line in job.printed(broker, "jobs.query_table", "--query", "trending-products").splitlines()
    ]
    assert events.as_trending(recomputed) == trending
    assert last.stop() == 0


def change(random_: random.Random) -> tuple[str, dict]:
    put = {"op": "PUT", "name": f"n{random_.randrange(1000)}", "price": random_.randrange(1000) / 4}
    return random_.choice("abcdefgh"), random_.choice((put, put, put, {"op": "DELETE"}, put | {"price": -1.0}, {"op": "MOVE"}))
