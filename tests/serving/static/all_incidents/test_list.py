"""The list of all incidents in a real browser: open ones first, each in words; what is chosen is in the URL."""

import datetime as dt

import pytest
from playwright.sync_api import expect

from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.all_incidents.conftest import HOUR, asked, rows, whose
from tests.support import hostile

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.mark.parametrize("width", [1300, pytest.param(360, marks=pytest.mark.full)])
def test_open_ones_come_first_each_in_words_with_what_it_came_to(page, site, several, width):
    start, ended = several
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(site.url)
    expect(page.locator("#headline")).to_have_text("3 open incidents in 2 feeds")
    assert page.title() == "(3) Incidents · Sundial"
    assert whose(page) == ["noise", "checkout", "2 services", "mail", "search"]
    row = rows(page).nth(1)
    expect(row.locator(".pill")).to_have_text("open")
    expect(row.locator(".how")).to_have_text("Too high, for 2 h: 300 at its peak, 100 expected")
    expect(row.locator(".impact")).to_have_text("12 unusual readings: 1,200 in all, 800 expected (+50 %), 400 apart")
    local = dt.datetime.fromtimestamp(start / 1000, site.feed.zone)
    expect(row.locator("time")).to_have_text(f"{local:%d %b %Y, %H:%M:%S}")
    expect(row.locator(".when")).to_contain_text("America/New_York")
    expect(rows(page).nth(3).locator(".when")).to_contain_text("Europe/Berlin")
    expect(rows(page).nth(3).locator(".who")).to_contain_text(site.other.name)
    expect(rows(page).nth(3).locator(".how")).to_have_text("No readings, for 5 h")
    expect(rows(page).nth(0).locator(".verdict")).to_contain_text("False alarm, says mara")
    over = dt.datetime.fromtimestamp((ended.end or 0) / 1000, site.feed.zone)
    expect(rows(page).nth(4).locator(".until")).to_have_text(f"to {over:%d %b %Y, %H:%M:%S}")
    expect(rows(page).nth(4).locator(".pill")).to_have_text("closed")
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator("header nav [aria-current]")).to_have_text("Incidents")
    assert page.get_by_role("button", name="Judge").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_url_holds_what_is_chosen(page, site, several):
    page.goto(site.url)
    expect(rows(page)).to_have_count(5)
    page.get_by_label("Window").select_option("1440")
    expect(rows(page)).to_have_count(4)
    page.get_by_label("State").select_option("open")
    page.get_by_label("Kind").select_option("deviation")
    expect(rows(page)).to_have_count(2)
    page.locator("#feed").select_option(site.other.name)
    expect(page.locator("#incidents-empty")).to_contain_text("No incident is so.")
    assert asked(page) == {"feed": site.other.name, "state": "open", "kind": "deviation", "minutes": "1440"}
    expect(page.locator("#headline")).to_have_text("3 open incidents in 2 feeds")
    page.get_by_label("Kind").select_option("")
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#shown")).to_have_text("The last 1 day, until now. Times of Europe/Berlin.")
    page.goto(f"{site.url}?search=N&minutes=1440&state=open")
    expect(rows(page)).to_have_count(2)
    assert whose(page) == ["noise", "n"], "a search finds members of groups"
    expect(page.locator("#search")).to_have_value("N")
    page.get_by_label("Service").fill("no")
    expect(rows(page)).to_have_count(1)
    page.reload()
    expect(rows(page)).to_have_count(1)
    assert asked(page) == {"search": "no", "minutes": "1440", "state": "open"}
    page.goto(f"{site.url}?feed=gone&state=ajar&minutes=5")
    expect(rows(page)).to_have_count(5)
    expect(page.locator("#feed")).to_have_value("")
    expect(page.locator("#window")).to_have_value("10080")


@pytest.mark.full
def test_any_dates_can_be_chosen(page, site, several):
    page.goto(f"{site.url}?feed={site.feed.name}")
    expect(rows(page)).to_have_count(4)
    page.get_by_label("Window").select_option("dates")
    local = [(site.now - each * HOUR).astimezone(site.feed.zone) for each in (50, 40)]
    for name, at in zip(("From", "To"), local, strict=True):
        page.get_by_role("dialog").get_by_label(name, exact=True).fill(f"{at:%Y-%m-%dT%H:%M:%S}")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(rows(page)).to_have_count(1)
    assert whose(page) == ["search"]
    expect(page.locator("#shown")).to_have_text(" to ".join(f"{at:%d %b %Y, %H:%M:%S}" for at in local) + " America/New_York.")
    assert dt.datetime.fromisoformat(asked(page)["from"]) == local[0].replace(microsecond=0)
    page.get_by_role("button", name="Back to now").click()
    expect(rows(page)).to_have_count(4)


@pytest.mark.full
def test_a_group_unfolds_to_its_members(page, site, several):
    page.goto(f"{site.url}?kind=group")
    row = rows(page).nth(0)
    expect(row.locator(".who")).to_contain_text("2 services")
    row.get_by_text("Members").click()
    expect(row.locator("ol button")).to_have_text(["m", "n"])
    row.locator("ol button").nth(1).click()
    expect(page.locator("#chart-title")).to_have_text("n")


@pytest.mark.parametrize("width", [1300, pytest.param(360, marks=pytest.mark.full)])
def test_names_are_only_ever_text(page, site, width):
    page.set_viewport_size({"width": width, "height": 900})
    texts = [NASTY, *hostile.TEXTS.values()]
    for text in texts:
        site.put(text, 1, cause=text)
    page.goto(site.url)
    expect(rows(page)).to_have_count(len(texts))
    assert page.locator("main img, main script, main b, main textarea, main iframe, main [onmouseover]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator(".track").nth(0).bounding_box()["width"] > width / 2
    page.get_by_role("link", name=NASTY, exact=True).click()
    expect(page.locator("#chart-title")).to_have_text(NASTY)
    assert page.title() == f"{NASTY} · Sundial"


def test_the_page_of_all_services_leads_to_the_open_incidents(page, site, several):
    page.goto(site.url.replace("/incidents", f"/?only={site.other.name}"))
    page.get_by_role("link", name="Open incidents").click()
    expect(rows(page)).to_have_count(1)
    assert asked(page) == {"feed": site.other.name, "state": "open"}
