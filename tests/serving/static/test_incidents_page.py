"""The page of all incidents in a real browser: what is open first, chosen by the URL, on a timeline, followed live."""

import datetime as dt
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from contracts.feeds import Feed
from serving.events import INCIDENT, Event
from serving.incidents import Incident
from serving.state import State
from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY, declare, served
from tests.serving.static.test_fleet import NO_POLLING, reading, well
from tests.serving.test_incidents import of
from tests.support import hostile
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
HOUR = dt.timedelta(hours=1)
MIDDLES = """[...document.querySelectorAll(".bar")].map((bar) => {
  const [bars, tracks] = [bar, bar.parentElement].map((each) => each.getBoundingClientRect());
  return (bars.left + bars.width / 2 - tracks.left) / tracks.width;
})"""


class Site(NamedTuple):
    url: str
    state: State
    feed: Feed
    other: Feed
    now: dt.datetime

    def put(self, service: str, start: float, end: float | None = None, other: bool = False, **more) -> Incident:
        """It began, and has ended, so many hours ago."""
        began, ended = (None if each is None else ms(self.now - each * HOUR) for each in (start, end))
        this = replace(of(service, began or 0, "opened" if ended is None else "closed"), end=ended, **more)
        self.state.incidents.put((self.other if other else self.feed).name, this)
        return this

    def comes(self, incident: Incident) -> None:
        self.state.incidents.put(self.feed.name, incident)
        self.state.events.publish([Event(INCIDENT, self.feed.name, incident.service, incident)])


def ms(at: dt.datetime) -> int:
    return round(at.timestamp()) * 1000


@pytest.fixture
def site(page, offline, feed, declared):
    """Two feeds in different time zones, of which Kafka is read."""
    other = feed.model_copy(update={"name": f"{feed.name}-b", "timezone": "Europe/Berlin"})
    declare(declared, other)
    with served(offline) as (url, state):
        well(page, state)
        yield Site(f"{url}/incidents", state, feed, other, dt.datetime.now(dt.UTC))
        page.unroute_all(behavior="ignoreErrors")


@pytest.fixture
def several(site, lake):
    """Open: a deviation, a silence of the other feed, a group of two, and a false alarm. Closed: one of two days ago."""
    sums = {"readings": 12, "actual": 1200.0, "expected": 800.0, "area": 400.0}
    start = site.put("checkout", 2, peak=300.0, peak_expected=100.0, **sums).start
    site.put("mail", 5, other=True, kind="silence", direction=None, actual=None, expected=None)
    ended = site.put("search", 48, 46, direction="low", peak=None)
    for name in ("m", "n"):
        site.put(name, 3, group="*@g")
    members = [f"{name}@{site.now - 3 * HOUR:%Y-%m-%dT%H:%M:%SZ}" for name in ("m", "n")]
    site.put("*", 3, kind="group", services=2, members=members, direction=None, cause="m is the first", actual=None)
    denied = site.put("noise", 1)
    world.say(lake, site.feed, 1, "false", IncidentId=denied.id)
    return start, ended


def rows(page: Page):
    return page.locator("#incidents > li")


def whose(page: Page) -> list[str]:
    return page.locator("#incidents > li .who > :first-child").all_inner_texts()


def asked(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


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
def test_a_group_unfolds_to_its_members(page, site, several):
    page.goto(f"{site.url}?kind=group")
    row = rows(page).nth(0)
    expect(row.locator(".who")).to_contain_text("2 services")
    row.get_by_text("Members").click()
    expect(row.locator("ol button")).to_have_text(["m", "n"])
    row.locator("ol button").nth(1).click()
    expect(page.locator("#chart-title")).to_have_text("n")


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
