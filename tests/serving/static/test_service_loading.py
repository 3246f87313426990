"""What the page of a service loads, in a real browser: each part by itself, nothing that comes meanwhile is lost."""

import datetime as dt

import pytest
from playwright.sync_api import Page, Route, expect

from serving.kept_events import SCORED, Event
from serving.memory import Anomaly
from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.conftest import Past
from tests.serving.static.test_fleet import NO_POLLING, ago, read, reading, well
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
EVENTS = "**/api/events?*"
SERIES = "**/series?*"
HAS = "(value) => sundial.chart.data[1]?.includes(value)"


@pytest.fixture
def live(page, past, feed) -> Past:
    """Readings of two services up to now, of a serving that reads Kafka as far as the page can know."""
    well(page, past.state)
    read(past.state, feed.name, ["a", "b"])
    yield past._replace(url=f"{past.url}&service=a&minutes=15")
    page.unroute_all(behavior="ignoreErrors")


def drawn(page: Page, value: int) -> None:
    until(f"{value} is drawn", lambda: page.evaluate(HAS, value))


def come(live: Past, value: int) -> None:
    """A reading of a, now."""
    came = reading(ago(0), value)
    live.state.memory.put_reading(live.feed, "a", came)
    live.state.events.publish([Event(SCORED, live.feed, "a", came)])


def test_what_came_while_the_page_loaded_is_loaded_when_its_stream_of_events_is_open(page, live):
    held: list[Route] = []
    page.add_init_script(NO_POLLING)
    page.route(EVENTS, lambda route: held.append(route))
    page.goto(live.url)
    until("the chart is drawn", lambda: page.evaluate("sundial.chart.data.length >= 9"))
    expect(page.locator("#anomalies-empty")).to_be_visible()
    expect(page.locator("#gate")).to_contain_text("No candidate was judged yet")
    live.incident("a", dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5), None)
    live.state.memory.put_anomaly(live.feed, Anomaly("c", ago(3), 333, 100.0, 2.0, 333.0, 1))
    come(live, 777)
    until("the page opens its stream of events", lambda: page.wait_for_timeout(100) or held)
    page.unroute(EVENTS)  # the page opens it again if this request fails, e.g. on a connection that serving has just closed
    for route in held:
        route.continue_()
    until("the stream of events is open", lambda: page.evaluate("sundial.stream.opened"))
    expect(page.locator("#incidents li")).to_have_count(1)
    expect(page.locator("#anomalies tr")).to_contain_text("333")
    drawn(page, 777)


def test_a_panel_that_can_not_be_loaded_says_so_and_the_chart_follows(page, live):
    refusal = {"title": "This is our fault", "detail": f"The gate's table is damaged {NASTY}.", "remedy": "See the log."}
    page.route("**/gate-results?*", lambda route: route.fulfill(status=500, json=refusal))
    page.goto(live.url)
    said = page.locator("[data-load=gate]")
    expect(said).to_have_text(f"The gate's table is damaged {NASTY}. See the log.")
    expect(page.locator("#connection")).to_have_text("Not all is loaded")
    until("the stream of events is open", lambda: page.evaluate("sundial.stream.opened"))
    come(live, 777)
    drawn(page, 777)
    expect(page.locator("#figures")).to_contain_text("777")
    expect(page.locator("#baseline")).to_contain_text("No baseline was promoted yet")
    expect(page.locator(".as-of.readings").nth(0)).to_be_hidden()
    page.unroute("**/gate-results?*")
    expect(said).to_be_hidden(timeout=20_000)
    expect(page.locator("#gate")).to_contain_text("No candidate was judged yet")


def test_what_colleagues_say_of_an_incident_appears_by_itself(page, live, feed, lake):
    start = dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(minutes=5)
    live.incident("a", start, None)
    page.goto(live.url)
    row = page.locator("#incidents li")
    expect(row).to_contain_text("Too high")
    expect(row.locator(".verdict")).to_have_count(0)
    incident = f"a@{round(start.timestamp() * 1000)}"
    world.say(lake, feed, 1, "acknowledge", IncidentId=incident, Reason="on it")
    expect(row.locator(".verdict")).to_contain_text("Acknowledged, says mara", timeout=20_000)


@pytest.mark.parametrize("path", ["/?feed={feed}&service=a&minutes=15", "/explore?minutes=15&feed={feed}&service=a&column=value"])
def test_a_reading_that_comes_while_the_series_is_loaded_stays(page, live, path):
    held = []

    def hold(route: Route) -> None:
        answer = route.fetch(max_retries=2)
        body = answer.json()
        body["buckets"]["mean"][5] = 4444
        held.append(lambda: route.fulfill(response=answer, json=body))

    page.goto(live.url.partition("/?")[0] + path.format(feed=live.feed))
    until("the stream of events is open", lambda: page.evaluate("sundial.stream?.opened"))
    drawn(page, 100)
    page.route(SERIES, hold)
    page.evaluate("dispatchEvent(new Event('online'))")
    until("the series is asked for again", lambda: page.wait_for_timeout(100) or held)
    come(live, 777)
    drawn(page, 777)
    for answer in held:
        answer()
    drawn(page, 4444)
    assert page.evaluate(HAS, 777), "the older answer leaves the reading there"
