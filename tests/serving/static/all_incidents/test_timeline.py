"""The timeline of all incidents: bars are where the incidents are, and lead to the chart."""

import datetime as dt

import pytest
from playwright.sync_api import expect

from tests.serving.conftest import CHROMIUM
from tests.serving.static.all_incidents.conftest import asked, ms, rows
from tests.serving.static.test_fleet import reading

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
MIDDLES = """[...document.querySelectorAll(".bar")].map((bar) => {
  const [bars, tracks] = [bar, bar.parentElement].map((each) => each.getBoundingClientRect());
  return (bars.left + bars.width / 2 - tracks.left) / tracks.width;
})"""


def test_bars_are_where_the_incidents_are_and_lead_to_the_chart(page, site, several):
    _, ended = several
    site.state.memory.put_reading(site.feed.name, "search", reading(ms(site.now)))
    page.goto(f"{site.url}?minutes=10080")
    bars = page.locator(".bar")
    expect(bars).to_have_count(5)
    assert page.locator("#lanes .of > :first-child").all_inner_texts() == ["noise", "checkout", "Groups", "mail", "search"]
    expect(page.locator("#shown")).to_have_text("The last 1 week, until now. Times of UTC.")
    assert page.evaluate(MIDDLES)[4] == pytest.approx(1 - 47 / 168, abs=0.005)
    classes = [each.get_attribute("class").split()[1:] for each in bars.all()]
    assert classes == [["high", "open", "denied"], ["high", "open"], ["other", "open"], ["other", "open"], ["low", "closed"]]
    bars.nth(4).hover()
    expect(page.locator("#pointed .who")).to_contain_text("search")
    expect(page.locator("#pointed .how")).to_have_text("Too low, 2 h long")
    expect(rows(page).nth(4)).to_have_class("selected")
    assert (
        bars.nth(1).get_attribute("aria-label").startswith(f"checkout of {site.feed.name}, open: Too high, for 2 h: 300 at its")
    )
    page.locator("#lanes .bar[tabindex='0']").focus()
    expect(page.locator("#pointed .who")).to_contain_text("noise")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#pointed .who")).to_contain_text("2 services")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#pointed .who")).to_contain_text("checkout")
    expect(page.locator("#lanes .bar[tabindex='0']")).to_have_count(1)
    bars.nth(4).click()
    expect(page.locator("#chart-title")).to_have_text("search")
    query = asked(page)
    first, last = (round(dt.datetime.fromisoformat(query[each]).timestamp() * 1000) for each in ("from", "to"))
    assert query["feed"] == site.feed.name
    assert first < ended.start < (ended.end or 0) < last
    assert last - first == 2 * ((ended.end or 0) - ended.start), "half as long before it and after it"


@pytest.mark.full
def test_only_so_many_lanes_are_drawn_and_more_rows_come_when_asked_for(page, site):
    for number in range(110):
        site.put(f"service-{number:03}", 1 + number / 10, number / 10)
    page.goto(site.url)
    expect(rows(page)).to_have_count(100)
    expect(page.locator("#lanes li")).to_have_count(12)
    assert page.locator("#lanes .of > :first-child").nth(0).inner_text() == "service-000"
    expect(page.locator("#lanes-more")).to_have_text("and 88 more services, which the list has")
    expect(page.locator("#headline")).to_have_text("No incident is open")
    page.get_by_role("button", name="Show more incidents").click()
    expect(rows(page)).to_have_count(110)
    expect(page.get_by_role("button", name="Show more incidents")).to_be_hidden()
