"""A page that stays open while the broker or serving restarts: it says so, comes back by itself, and shows all that came."""

import datetime as dt
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from stack.instance import Instance
from stack.parts import kafka, process
from tests.conftest import kafka_and_registry
from tests.serving import derived, world
from tests.serving.conftest import CHROMIUM, ON_A_PHONE_TOO, served
from tests.serving.static.conftest import drawn, readings_come
from tests.support.waiting import until

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"), pytest.mark.full]
SOON = 60_000  # milliseconds


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[Instance]:
    """Kafka and a schema registry of these tests' own, because they stop it."""
    with kafka_and_registry(tmp_path_factory.mktemp("restarts")) as instance:
        yield instance


def flag(topics: derived.Topics, at: dt.datetime, value: int) -> None:
    """A reading of the service a, and its anomaly."""
    row = derived.scored("a", at, value, Anomalous=True)
    topics.send("scored", [row])
    topics.send("anomaly", [derived.anomaly(row)])


def shows_once(page: Page, *values: int) -> None:
    """The anomalies of these values, the newest first, and each reading of the chart once."""
    for number, value in enumerate(reversed(values)):
        expect(page.locator("#anomalies tr").nth(number)).to_contain_text(str(value))
    until("the chart has drawn them", lambda: set(values) <= set(drawn(page)[1]))
    found = [value for value in drawn(page)[1] if value is not None]
    assert sorted(value for value in found if value > 300) == sorted(values)
    counted = page.evaluate("sundial.chart.series.buckets.count.reduce((sum, each) => sum + each, 0)")
    assert counted == 30 + len(values), "readings from before are there, and none twice"


@ON_A_PHONE_TOO
def test_a_page_lives_through_a_restart_of_the_broker(page, site, feed, at, broker):
    url, topics = site
    page.goto(f"{url}/?feed={feed.name}&service=a&minutes=60")
    expect(page.locator("#connection")).to_have_text("Live")
    process.stop(broker, kafka.NAME)
    expect(page.locator("#connection")).to_have_text("Kafka does not answer", timeout=SOON)
    expect(page.locator("#problem")).to_be_visible()
    kafka.start(broker)
    flag(topics, at(31), 333)
    expect(page.locator("#connection")).to_have_text("Live", timeout=SOON)
    expect(page.locator("#problem")).to_be_hidden()
    shows_once(page, 333)


@ON_A_PHONE_TOO
def test_a_page_lives_through_a_restart_of_serving(page, online, feed, lake, at, drive, topics, monkeypatch):
    world.promote(lake, feed, {"a": 100.0})
    drive(dt.datetime.now(dt.UTC), {})
    topics.send("scored", [derived.scored("a", at(number), 100 + number % 3) for number in range(30)])
    with served(online) as (url, state):
        until("the topics are read", lambda: state.live.status.records == 30 and state.live.status.as_of)
        readings_come(state, monkeypatch)
        page.goto(f"{url}/?feed={feed.name}&service=a&minutes=60")
        expect(page.locator("#connection")).to_have_text("Live")
        flag(topics, at(31), 333)
        shows_once(page, 333)
    expect(page.locator("#connection")).to_have_text("Serving does not answer", timeout=SOON)
    expect(page.locator("#problem")).to_contain_text("Serving does not answer.")
    expect(page.locator(".as-of.state")).to_contain_text("As of ", timeout=SOON)
    flag(topics, at(32), 444)
    with served(online, urlsplit(url).port or 0) as (_, state):
        readings_come(state, monkeypatch)
        expect(page.locator("#connection")).to_have_text("Live", timeout=SOON)
        expect(page.locator("#problem")).to_be_hidden()
        shows_once(page, 333, 444)
