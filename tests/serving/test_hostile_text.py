"""Whatever stands in a field that the page shows, it is shown as text: no markup, no script, no attribute comes of it."""

import datetime as dt
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from serving.memory import Anomaly, Reading
from tests.serving import world
from tests.serving.conftest import CHROMIUM, declare, served
from tests.support import hostile

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
PLACES = (
    "#chart-title",
    "#anomalies .name",
    "#baseline .how",
    "#baseline .facts",
    "#history .how",
    "#streams .trouble",
    "#gate .trouble",
    "#gate > li > .quiet",
    "#gate details li",
)
OF_BASELINES = ("#history .how", "#history .quiet", "#course-title", "#changes-rows th", "#gate .trouble", "#gate .samples td")
ASK = """([path, service]) => fetch(path + encodeURIComponent(service)).then(async (answer) =>
    [answer.status, answer.headers.get("content-type"), (await answer.json()).detail])"""
OURS = "document.title.endsWith(' · Sundial') && ![...document.querySelectorAll('script')].some((each) => !each.src)"


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, id=name, marks=() if name == "markup" else pytest.mark.full) for name, text in hostile.TEXTS.items()],
)
def test_every_field_of_the_page_is_text(page, offline, feed, lake, run_state, drive, text):
    feed = feed.model_copy(update={"description": text})
    declare(offline.feeds, feed)
    note = {"by": text, "reason": text, "run_id": text}
    world.promote(lake, feed, {text: 100.0}, days=[NOW.isoweekday()], **note)
    world.promote(lake, feed, {text: 100.0}, days=[NOW.isoweekday()], gate=False, **note)
    judged = {"notes": text, "observed": text, "expectation": text, "severity": text, "sample": [text]}
    world.gate_result(lake, feed, text, False, [world.expectation(**judged), world.expectation(False, **judged)], NOW)
    drive(NOW, {"last_error": text, "state": "running", "baseline_version": 1})
    with served(offline) as (url, state):
        at = round(NOW.timestamp() * 1000)
        state.memory.put_reading(feed.name, text, Reading(at, 90, 45.0, 1.0, 200.0, True, 1))
        state.memory.put_anomaly(feed.name, Anomaly(text, at, 90, 45.0, 1.0, 200.0, 1))
        page.goto(f"{url}/?feed={feed.name}")
        seen = shown(text)
        for place in PLACES:
            expect(page.locator(place).last).to_contain_text(seen, use_inner_text=False)
        expect(page.locator("#chart-note")).to_contain_text(f"{seen}. Flagged when")
        expect(page.locator("#service option")).to_have_text(seen)
        assert page.locator("main img, main script, main b, main textarea, main iframe, main [onmouseover]").count() == 0
        assert page.evaluate(OURS)
        assert page.locator("#gate summary").get_attribute("onclick") is None
        assert page.evaluate("document.documentElement.scrollWidth") == 1300, "nothing is pushed off the page"


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, id=name, marks=() if name == "markup" else pytest.mark.full) for name, text in hostile.TEXTS.items()],
)
def test_every_field_of_the_page_of_baselines_is_text(page, offline, feed, lake, text):
    note = {"by": text, "reason": text, "run_id": text}
    world.promote(lake, feed, {text: 100.0}, days=[1], **note)
    world.promote(lake, feed, {text: 120.0}, days=[1], gate=False, **note)
    judged = {"notes": text, "observed": text, "expectation": text, "severity": text, "sample": [text]}
    world.gate_result(lake, feed, text, False, [world.expectation(False, **judged)], NOW)
    with served(offline) as (url, _):
        page.goto(f"{url}/baselines?{urlencode({'feed': feed.name, 'service': text, 'day': 1})}")
        for place in OF_BASELINES:
            expect(page.locator(place).last).to_contain_text(shown(text), use_inner_text=False)
        expect(page.locator("#key")).to_be_visible()
        assert page.locator("main img, main script, main b, main textarea, main iframe, main [onmouseover]").count() == 0
        assert page.evaluate(OURS)
        assert page.evaluate("document.documentElement.scrollWidth") == 1300, "nothing is pushed off the page"


def shown(text: str) -> str:
    """As the page's text is compared: Playwright takes all white space for one blank."""
    return " ".join(text.split())


def test_a_reason_that_brokers_and_records_give_is_text(page, offline, feed):
    with served(offline) as (url, state):
        text = hostile.TEXTS["markup"]
        live = state.live.status
        live.registry_error = live.last_undecodable = text
        page.goto(f"{url}/?feed={feed.name}")
        expect(page.locator("#problem")).to_be_visible()
        health = page.evaluate("fetch('/health').then((answer) => answer.json())")
        assert health["kafka"]["last_undecodable"] == health["registry_error"] == text
        assert page.locator("main img, main script, #problem img, #problem script").count() == 0


def test_a_problem_repeats_what_was_asked_as_text(page, offline, feed):
    with served(offline) as (url, _):
        page.goto(url)
        for text in hostile.TEXTS.values():
            found = page.evaluate(ASK, [f"/api/feeds/{feed.name}/anomalies?service=", text])
            assert found[:2] == [404, "application/problem+json"]
            assert len(found[2]) < 500
