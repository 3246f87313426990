"""Charts of one's own: an hour of history, a table of summaries, and what the chart has drawn."""

import datetime as dt
import json
import uuid
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from serving.state import State
from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY, served
from tests.serving.static.conftest import MINUTE, NOON, ms
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
KEY = "environment=prod:metric=latency"


class Summaries:
    """A query whose table has a row per key and ten minutes, and one whose keys have no windows."""

    def __init__(self, broker, declared):
        self.name = f"summaries-{uuid.uuid4().hex[:8]}"
        self.topic, self.totals = f"{self.name}.table", f"{self.name}.totals"
        output = {"record": "metric_summary", "encoding": "json", "key": "Key"}
        query = {
            "name": self.name,
            "description": "Summaries of the test",
            "inputs": {"metrics": {"topic": "metrics", "record": "metric_event"}},
            "sql": "SELECT * FROM metrics",
            "outputs": [output | {"topic": self.topic}, output | {"topic": self.totals}],
        }
        folder = declared.parent / "queries"
        folder.mkdir(exist_ok=True)
        (folder / f"{self.name}.yaml").write_text(yaml.safe_dump(query))
        self._admin = AdminClient({"bootstrap.servers": broker.kafka})
        self._producer = Producer({"bootstrap.servers": broker.kafka, "linger.ms": 0, "enable.idempotence": True})

    def create(self) -> None:
        topics = [NewTopic(each, 2, 1, config={"cleanup.policy": "compact"}) for each in (self.topic, self.totals)]
        for future in self._admin.create_topics(topics).values():
            future.result(20)

    def delete(self) -> None:
        for future in self._admin.delete_topics([self.topic, self.totals]).values():
            future.result(20)

    def send(self, key: str, start: dt.datetime, p50: float, p99: float) -> None:
        self._put(self.topic, f"{key}|{ms(start)}", key, start, p50, p99)

    def total(self, key: str, p50: float) -> None:
        self._put(self.totals, key, key, NOON, p50, p50)

    def _put(self, topic: str, of: str, key: str, start: dt.datetime, p50: float, p99: float) -> None:
        row = {"Key": key, "WindowStart": start.isoformat(), "Count": 3, "P50": p50, "P90": p50, "P99": p99}
        row |= dict.fromkeys(["Average", "Min", "Max", "Variance", "StandardDeviation"], 1.5)
        value = json.dumps(row | {"Bins": [1], "Counts": [3], "Revision": 1})
        self._producer.produce(topic, value, of, partition=len(of) % 2)
        assert self._producer.flush(20) == 0


class Explored(NamedTuple):
    url: str
    state: State
    feed: str


@pytest.fixture
def history(lake, feed) -> None:
    """From noon of a day in July: an hour of readings of three services, and a baseline that expects 100 of `a`."""
    ticks = [NOON + number * dt.timedelta(seconds=10) for number in range(360)]
    values = {("a", at): 100 + number % 7 for number, at in enumerate(ticks)} | {(NASTY, at): 50 for at in ticks}
    world.archive(lake, feed, values | {("b", NOON + 5 * MINUTE): 7})
    world.promote(lake, feed, {"a": 100.0})


@pytest.fixture
def explored(offline, feed, history) -> Iterator[Explored]:
    with served(offline) as (url, state):
        yield Explored(f"{url}/explore", state, feed.name)


@pytest.fixture
def summaries(broker, declared) -> Iterator[Summaries]:
    made = Summaries(broker, declared)
    made.create()
    yield made
    made.delete()


@pytest.fixture
def tabled(online, feed, history, summaries) -> Iterator[Explored]:
    """Beside the readings, six windows of a metric from noon on, of which the fourth is missing, and two of another."""
    for number in (0, 1, 2, 4, 5):
        summaries.send(KEY, NOON + 10 * number * MINUTE, 20.0 + number, 90.5 + number)
    for number in range(2):
        summaries.send(NASTY, NOON + 10 * number * MINUTE, 1, 2)
    with served(online) as (url, state):
        yield Explored(f"{url}/explore", state, feed.name)


def add(page: Page, source: str, key: str, column: str, axis: str = "left") -> None:
    """By the form: as many more lines are listed."""
    lines = page.locator("#lines > li").count()
    page.get_by_label("Source").select_option(label=source)
    page.locator("#subject").select_option(key)
    page.get_by_label("Column").select_option(label=column)
    page.locator("#axis").select_option(axis)
    page.get_by_role("button", name="Add line").click()
    expect(page.locator("#lines > li")).to_have_count(lines + 1)


def columns(page: Page) -> list[list]:
    """What is drawn: seconds, and the values of each line; None where a line has no value."""
    return page.evaluate("sundial.chart.data.map((column) => Array.from(column, (each) => each ?? null))")


def values(page: Page, number: int) -> dict[float, float]:
    """Of a column, by the seconds since noon."""
    seconds, *others = columns(page)
    return {at - NOON.timestamp(): each for at, each in zip(seconds, others[number - 1], strict=True) if each is not None}


def drawn(page: Page, lines: int) -> None:
    """Waits until so many columns are drawn, without the seconds."""
    until("the lines are drawn", lambda: page.evaluate("sundial.chart.data.length") == lines + 1)
    expect(page.locator("#lines .quiet", has_text="Loading")).to_have_count(0)
