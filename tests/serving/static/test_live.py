"""Whether the page says truthfully if it is live, and becomes live again by itself, in a real browser."""

import datetime as dt
import json

import pytest
from playwright.sync_api import expect

from serving import events
from tests.serving import derived, world
from tests.serving.conftest import CHROMIUM, declare
from tests.serving.static.conftest import drawn
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
EVENTS = "**/api/events?*"
LATER = 40_000  # milliseconds: longer than the page waits for anything
WRONG_CLOCK = """(() => {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) { given.length ? super(...given) : super(Real.now() + OFF); }
    static now() { return Real.now() + OFF; }
  };
})()"""


def shown(page, value: int) -> bool:
    return value in drawn(page)[1]


def requests_for_events(page) -> list[str]:
    """The addresses of those that the page makes from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/events" in request.url else None)
    return asked


@pytest.mark.parametrize("hours", [-5, pytest.param(5, marks=pytest.mark.full)])
def test_a_wrong_clock_of_the_browser_changes_nothing(page, site, feed, lake, hours):
    url, topics = site
    page.add_init_script(WRONG_CLOCK.replace("OFF", str(hours * 3_600_000)))
    promoted = dt.datetime.now(dt.UTC) - dt.timedelta(hours=2)
    world.promote(lake, feed, {"a": 100.0}, at=promoted.isoformat())
    page.goto(f"{url}/?feed={feed.name}&service=a&minutes=15")
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator("#baseline .facts")).to_contain_text("(2 h ago)")
    topics.send("scored", [derived.scored("a", dt.datetime.now(dt.UTC).replace(microsecond=0), 333)])
    expect(page.locator("#figures")).to_contain_text("333")
    expect(page.locator("#figures dt").nth(0)).to_have_text("Now")
    until("the chart has drawn it", lambda: shown(page, 333))
    seconds = drawn(page)[0]
    assert abs(seconds[-1] - dt.datetime.now().timestamp()) < 900, "the window has not moved away"
    expect(page.locator("#streams")).to_contain_text("heartbeat")
    assert "-" not in page.locator("#streams .quiet").nth(0).inner_text().replace(feed.name, "")


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 503, "content_type": "application/problem+json", "body": "{}"},
        pytest.param({"status": 200, "content_type": "text/html", "body": "<p>a proxy"}, marks=pytest.mark.full),
        pytest.param({"status": 204}, marks=pytest.mark.full),
    ],
)
def test_a_stream_of_events_that_is_refused_is_opened_again_and_what_was_missed_is_loaded(page, site, feed, at, answer):
    url, topics = site
    refused = []
    page.route(EVENTS, lambda route: (refused.append(route), route.fulfill(**answer)))
    page.goto(f"{url}/?feed={feed.name}&service=a")
    expect(page.locator("#connection")).to_have_text("Reconnecting")
    until("it is tried again", lambda: page.wait_for_timeout(100) or len(refused) >= 3)
    flagged = derived.scored("a", at(31), 333, Anomalous=True)
    topics.send("scored", [flagged])
    topics.send("anomaly", [derived.anomaly(flagged)])
    expect(page.locator(".as-of.readings").nth(0)).to_contain_text("As of ")
    page.unroute(EVENTS)
    expect(page.locator("#connection")).to_have_text("Live", timeout=30_000)
    expect(page.locator("#anomalies tr").nth(0)).to_contain_text("333")
    expect(page.locator("#figures")).to_contain_text("333")
    expect(page.locator(".as-of.readings").nth(0)).to_be_hidden()


@pytest.mark.full
def test_a_choice_whose_answers_fail_is_made_when_serving_answers_again(page, site, feed):
    url, _ = site
    page.goto(f"{url}/?feed={feed.name}&service=a&minutes=15")
    expect(page.locator("#connection")).to_have_text("Live")
    refuse = "**/api/feeds/**"
    page.route(refuse, lambda route: route.abort())
    page.locator("#window").select_option("60")
    expect(page.locator("#connection")).to_have_text("Serving does not answer")
    expect(page.locator("#problem")).to_contain_text("Trying again")
    page.unroute(refuse)
    page.route(refuse, lambda route: route.fulfill(status=502, content_type="text/html", body="<p>a proxy"))
    expect(page.locator("#problem")).to_contain_text("HTTP 502")
    page.unroute(refuse)
    expect(page.locator("#connection")).to_have_text("Live", timeout=30_000)
    expect(page.locator("#problem")).to_be_hidden()
    assert page.evaluate("new URLSearchParams(location.search).get('minutes')") == "60"
    seconds = drawn(page)[0]
    assert seconds[-1] - seconds[0] > 3600


def test_a_line_that_falls_silent_is_not_live_and_is_given_up(page, site, feed, monkeypatch):
    monkeypatch.setattr(events, "ALIVE_SECONDS", 600.0)
    page.clock.install()
    asked = requests_for_events(page)
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    page.clock.run_for(2000)
    expect(page.locator("#connection")).to_have_text("Live")
    page.route(EVENTS, lambda route: route.abort())
    page.clock.fast_forward(LATER)
    page.clock.run_for(1000)
    expect(page.locator("#connection")).to_have_text("Reconnecting")
    page.clock.run_for(LATER)
    until("it is tried again", lambda: page.wait_for_timeout(100) or len(asked) > 1)


@pytest.mark.full
def test_a_line_that_says_it_is_well_stays_open(page, site, feed, monkeypatch):
    monkeypatch.setattr(events, "ALIVE_SECONDS", 0.2)
    page.clock.install()
    asked = requests_for_events(page)
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    for _ in range(4):
        until("something is heard", lambda: page.evaluate("performance.now() - (sundial.stream.heardAt ?? -1e9) < 2000"))
        page.clock.fast_forward(LATER // 2)
    expect(page.locator("#connection")).to_have_text("Live", timeout=15_000)
    assert len(asked) == 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("kafka", "text"),
    [
        ({"state": "unreachable"}, "Kafka does not answer"),
        ({"as_of": "2026-01-02T03:04:05Z"}, "Kafka is not read"),
        ({"as_of": None}, "Reading what came before"),
    ],
)
def test_serving_that_does_not_follow_kafka_is_not_live(page, site, feed, kafka, text):
    def amiss(route) -> None:
        answer = route.fetch(max_retries=2)
        body = answer.json()
        body["kafka"] |= kafka
        route.fulfill(response=answer, body=json.dumps(body | {"remedies": ["Start the brokers."]}))

    page.route("**/health", amiss)
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    expect(page.locator("#connection")).to_have_text(text)
    expect(page.locator("#problem")).to_have_text("Start the brokers.")
    as_of = kafka.get("as_of", "")
    wanted = "As of Thu 01 Jan, 22:04:05." if as_of else "As of " if as_of == "" else "No new reading was read yet."  # New York
    for place in (0, 1):
        expect(page.locator(".as-of.readings").nth(place)).to_contain_text(wanted)
    page.unroute("**/health")
    expect(page.locator("#connection")).to_have_text("Live", timeout=15_000)
    expect(page.locator(".as-of.readings").nth(0)).to_be_hidden()


@pytest.mark.full
def test_a_feed_declared_later_can_be_chosen(page, site, feed, declared):
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    expect(page.locator("#feed option")).to_have_text([feed.name])
    later = feed.model_copy(update={"name": "declared-later", "description": "Later"})
    declare(declared, later)
    expect(page.locator("#feed option")).to_have_text(["declared-later", feed.name], timeout=20_000)
    assert page.locator("#feed").input_value() == feed.name
    page.locator("#feed").select_option("declared-later")
    expect(page.locator("#chart-note")).to_contain_text("Later")
