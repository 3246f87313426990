"""The page of all incidents follows them live, and says when it does not."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.serving.conftest import CHROMIUM
from tests.serving.static.all_incidents.conftest import ms, rows, whose
from tests.serving.static.test_fleet import NO_POLLING
from tests.serving.test_incidents import of
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def test_events_alone_bring_news(page, site):
    page.add_init_script(NO_POLLING)
    page.goto(site.url)
    expect(page.locator("#headline")).to_have_text("No incident is open")
    expect(page.locator("#incidents-empty")).to_have_text("No incident in this window.")
    until("the page listens", lambda: site.state.events.listeners == 1)
    first = of("checkout", ms(site.now) - 60_000)
    site.comes(first)
    expect(rows(page)).to_have_count(1, timeout=1000)
    expect(page.locator("#headline")).to_have_text("1 open incident in 1 feed")
    page.locator(".bar").focus()
    rows(page).get_by_role("link").focus()
    site.comes(of("search", ms(site.now) - 30_000))
    expect(rows(page)).to_have_count(2)
    assert whose(page) == ["search", "checkout"]
    assert page.evaluate("document.activeElement.textContent") == "checkout", "what has the focus keeps it"
    site.comes(of("member", ms(site.now) - 20_000, group="*@g"))
    site.comes(replace(of("search", ms(site.now) - 30_000, "closed"), end=ms(site.now)))
    expect(rows(page).locator(".pill")).to_have_text(["open", "closed"])
    assert whose(page) == ["checkout", "search"]
    expect(page.locator(".bar.closed")).to_have_count(1)
    expect(page.locator("#headline")).to_have_text("1 open incident in 1 feed")


@pytest.mark.full
def test_the_page_says_when_it_is_not_up_to_date(page, site, several):
    page.route("**/api/incidents?**", lambda route: route.abort())
    page.goto(site.url)
    expect(page.locator("#connection")).to_have_text("Serving does not answer")
    expect(page.locator("#problem")).to_contain_text("Serving does not answer")
    expect(page.locator("#incidents-empty")).to_have_text("Loading the incidents.")
    page.unroute("**/api/incidents?**")
    expect(rows(page)).to_have_count(5)
    expect(page.locator("#connection")).to_have_text("Live")
    page.unroute("**/health")
    expect(page.locator("#connection")).to_have_text("Kafka does not answer", timeout=15_000)
    expect(page.locator("#as-of")).to_be_visible()
    expect(rows(page)).to_have_count(5)
