"""What has the keyboard's focus on the page of a service keeps it while news come, in a real browser."""

import dataclasses
import datetime as dt

import pytest
from playwright.sync_api import Page, Route, expect

from serving.kept_events import ANOMALY, INCIDENT, Event
from serving.memory import Anomaly
from tests.serving.conftest import CHROMIUM, served
from tests.serving.static.conftest import MINUTE
from tests.serving.static.test_fleet import ago, read, well
from tests.serving.test_incidents import of
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
FOCUSED = "document.activeElement.textContent"


def flagged(service: str, back: int) -> Anomaly:
    return Anomaly(service, ago(back), 333, 100.0, 2.0, 333.0, 1)


def followed(page: Page) -> None:
    until("the stream of events is open", lambda: page.evaluate("sundial.stream?.opened"))


def test_rows_of_anomalies_and_incidents_keep_the_focus(page, past, feed):
    well(page, past.state)
    read(past.state, feed.name, ["a"])
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    past.incident("x", now - 9 * MINUTE, None)
    past.state.memory.put_anomaly(feed.name, flagged("x", 9))
    page.goto(f"{past.url}&service=a&minutes=15")
    followed(page)
    incidents, anomalies = page.locator("#incidents > li"), page.locator("#anomalies tr")
    expect(anomalies).to_have_count(1)
    incidents.get_by_role("button", name="x").focus()
    newer = of("y", ago(5))
    past.state.incidents.put(feed.name, newer)
    past.state.events.publish([Event(INCIDENT, feed.name, "y", newer)])
    expect(incidents).to_have_count(2)
    assert page.evaluate(FOCUSED) == "x", "a newer row has come above it"
    closed = dataclasses.replace(of("x", round((now - 9 * MINUTE).timestamp() * 1000), "closed"), end=ago(1), cause="it is over")
    past.state.incidents.put(feed.name, closed)
    past.state.events.publish([Event(INCIDENT, feed.name, "x", closed)])
    expect(incidents.nth(1)).to_contain_text("it is over")
    assert page.evaluate(FOCUSED) == "x", "its row says something else now"
    anomalies.get_by_role("button").focus()
    past.state.memory.put_anomaly(feed.name, flagged("z", 3))
    past.state.events.publish([Event(ANOMALY, feed.name, "z", flagged("z", 3))])
    expect(anomalies).to_have_count(2)
    assert page.evaluate(FOCUSED) == "x"
    page.keyboard.press("Enter")
    expect(page.locator("#chart-title")).to_have_text("x")
    expect(page.locator("#chart-empty")).to_contain_text("has no service x")
    page.unroute_all(behavior="ignoreErrors")


def test_the_link_of_a_stream_keeps_the_focus_while_its_ages_count_on(page, offline, feed, drive):
    drive(dt.datetime.now(dt.UTC), {})
    with served(dataclasses.replace(offline, spark_history="http://127.0.0.1:18007")) as (url, _):
        page.goto(f"{url}/?feed={feed.name}")
        page.get_by_role("link", name="Spark").focus()
        before = page.locator("#streams .quiet").nth(0).inner_text()
        assert "heartbeat" in before
        expect(page.locator("#streams .quiet").nth(0)).not_to_have_text(before)
        assert page.evaluate(FOCUSED) == "Spark"


def test_what_takes_a_service_out_of_the_chart_keeps_the_focus(page, past):
    page.goto(f"{past.url}&service=a&beside=b&from=2026-07-01T16:00:00Z&to=2026-07-01T17:00:00Z")
    button = page.get_by_role("button", name="Take b out of the chart")
    button.focus()
    page.route("**/services/a/series?*", changed)
    page.evaluate("dispatchEvent(new Event('online'))")
    until("the series is loaded again", lambda: page.evaluate("sundial.chart.data[1].includes(4444)"))
    assert page.evaluate(FOCUSED) == "b ×"
    page.unroute_all(behavior="ignoreErrors")


def changed(route: Route) -> None:
    answer = route.fetch(max_retries=2)
    body = answer.json()
    body["buckets"]["mean"][5] = 4444
    route.fulfill(response=answer, json=body)
