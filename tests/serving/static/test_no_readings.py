"""A page says "Live" only while readings of what it shows come, in a real browser."""

import json

import pytest
from playwright.sync_api import expect

from serving.kept_events import SCORED, Event
from tests.serving.conftest import CHROMIUM, declare, declare_query, served
from tests.serving.static.test_fleet import ago, read, reading, well
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
ROWS = {"query": "places", "topic": "places.rows", "offsets": {"0": 1}}
ROW = {"key": "a", "partition": 0, "offset": 0, "at": "2026-07-01T12:00:00Z", "value": {"User": "a"}, "problem": None}


@pytest.fixture
def serving(page, offline):
    """Its URL and its state; Kafka is read, as far as the page can know."""
    with served(offline) as (url, state):
        well(page, state)
        yield url, state
        page.unroute_all(behavior="ignoreErrors")


@pytest.mark.parametrize("path", ["/?feed={}&service=a&minutes=60", "/explore?minutes=60&feed={}&service=a&column=value"])
def test_a_page_of_a_feed_whose_readings_have_ended_is_not_live_until_they_come(page, serving, feed, path):
    url, state = serving
    for back in range(120, 30, -1):
        state.memory.put_reading(feed.name, "a", reading(ago(back)))
    page.goto(url + path.format(feed.name))
    expect(page.locator("#connection")).to_have_text("No readings come")
    until("the chart is drawn", lambda: page.evaluate("sundial.chart.data[1]?.includes(100)"))
    expect(page.locator(".as-of").nth(0)).to_be_hidden()  # Kafka is read: there is nothing newer
    came = reading(ago(-12))  # so that it is no older than three intervals before the page has asked
    state.memory.put_reading(feed.name, "a", came)
    state.events.publish([Event(SCORED, feed.name, "a", came)])
    expect(page.locator("#connection")).to_have_text("Live", timeout=20_000)


@pytest.mark.parametrize(("path", "feeds"), [("/", "#feeds button"), ("/incidents", "")])
def test_one_feed_that_is_silent_beside_another_is_named(page, serving, feed, declared, path, feeds):
    url, state = serving
    silent, never = (feed.model_copy(update={"name": name}) for name in ("silent", "never"))
    declare(declared, silent, never)
    state.memory.put_reading("silent", "b", reading(ago(90)))
    read(state, feed.name, ["a"])
    state.memory.put_reading(feed.name, "a", reading(ago(-12)))
    page.goto(url + path)
    expect(page.locator("#connection")).to_have_text("No readings of silent come", timeout=15_000)
    if feeds:
        page.locator(feeds, has_text=feed.name).click()
    else:
        page.locator("#feed").select_option(feed.name)
    expect(page.locator("#connection")).to_have_text("Live")


@pytest.mark.parametrize("path", ["/queries?query=places", "/explore?query=places&topic=places.rows&key=a&column=User"])
def test_a_page_of_tables_is_live_only_while_serving_reaches_kafka(page, serving, declared, path):
    url, _ = serving
    declare_query(declared, "places", "app")
    page.route("**/rows?*", lambda route: route.fulfill(body=json.dumps(ROWS | {"rows": [ROW]}), content_type="application/json"))
    page.goto(url + path)
    expect(page.locator("#connection")).to_have_text("Live")
    page.unroute("**/health")
    expect(page.locator("#connection")).to_have_text("Kafka does not answer", timeout=20_000)
    expect(page.locator("#problem")).to_contain_text("start the brokers")
