"""Links to what does not exist, in a real browser: the page of a service says so and keeps the choice."""

import pytest
from playwright.sync_api import expect

from serving.kept_events import SCORED, Event
from tests.serving.conftest import CHROMIUM, NASTY, declare
from tests.serving.static.conftest import HOUR, drawn
from tests.serving.static.test_accessibility import serious
from tests.serving.static.test_fleet import ago, reading
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def asked(page, name: str) -> str | None:
    return page.evaluate("(name) => new URLSearchParams(location.search).get(name)", name)


def test_a_service_that_does_not_exist_is_named_and_stays_chosen_until_it_does(page, past, feed):
    page.goto(f"{past.url}&service={NASTY}&beside=b&minutes=15")
    said = page.locator("#chart-empty")
    expect(said).to_contain_text(f"Feed {feed.name} has no service {NASTY}.")
    expect(page.locator("#chart-title")).to_have_text(NASTY)
    expect(page.locator("#service")).to_have_value(NASTY)
    expect(page.locator("#figures")).to_be_empty()
    assert asked(page, "service") == NASTY
    assert page.evaluate("sundial.stream.path.includes('service')") is False, "serving would refuse a stream of its events"
    expect(page.locator("#streams")).to_contain_text("No stream of this feed has run yet")
    assert serious(page) == []
    assert page.title() == f"{NASTY} · Sundial"
    expect(said.get_by_role("link")).to_have_attribute("href", f"/?only={feed.name}")
    came = reading(ago(0), 777)
    past.state.memory.put_reading(feed.name, NASTY, came)
    past.state.events.publish([Event(SCORED, feed.name, NASTY, came)])
    expect(page.locator("#figures")).to_contain_text("777", timeout=15_000)
    expect(said).to_be_hidden()
    expect(page.locator("#service option")).to_have_text([NASTY, "a", "b"])


def test_another_service_can_be_chosen_instead(page, past):
    page.goto(f"{past.url}&service=gone&{HOUR}")
    expect(page.locator("#chart-empty")).to_contain_text("has no service gone.")
    page.locator("#service").select_option("a")
    drawn(page)
    expect(page.locator("#chart-empty")).to_be_hidden()
    expect(page.locator("#service option")).to_have_text(["a", "b"])
    page.go_back()
    expect(page.locator("#chart-empty")).to_contain_text("has no service gone.")
    expect(page.locator("#chart-title")).to_have_text("gone")


def test_a_feed_that_is_not_declared_is_named_and_stays_chosen_until_it_is(page, past, feed, declared):
    page.goto(f"{past.url.partition('?')[0]}?feed=later&service=a&{HOUR}")
    said = page.locator("#chart-empty")
    expect(said).to_contain_text("No feed later is declared.")
    expect(said.get_by_role("link")).to_have_attribute("href", "/")
    expect(page.locator("#connection")).to_have_text("No such feed")
    expect(page.locator("#feed")).to_have_value("later")
    expect(page.locator("#window")).to_be_disabled()
    expect(page.locator("aside")).to_be_hidden()
    assert (asked(page, "feed"), asked(page, "service")) == ("later", "a")
    assert serious(page) == []
    page.locator("#feed").select_option(feed.name)
    drawn(page)
    expect(page.locator("aside")).to_be_visible()
    expect(page.locator("#window")).to_be_enabled()
    page.go_back()
    expect(said).to_contain_text("No feed later is declared.")
    until("no event is followed", lambda: page.evaluate("sundial.stream.path") is None)
    declare(declared, feed.model_copy(update={"name": "later", "description": "Now it is"}))
    expect(page.locator("#chart-note")).to_contain_text("Now it is", timeout=20_000)
    expect(said).to_contain_text("Feed later has no service a.")
