"""The page of all services in a real browser: what is wrong first, since when, found by search and keyboard, followed live."""

import datetime as dt
import json
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from serving.kept_events import INCIDENT, SCORED, Event
from serving.memory import Reading
from serving.state import State
from tests.serving.conftest import CHROMIUM, NASTY, ON_A_PHONE_TOO, served
from tests.serving.test_incidents import of
from tests.support import hostile
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
NO_POLLING = "globalThis.setInterval = () => 0"  # only events can bring news
INK = """([row, less, more]) => {
  const canvas = document.querySelectorAll("#services canvas")[row];
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let pixels = 0;
  for (let i = 0; i < data.length; i += 4) pixels += data[i + 3] > 200 && data[i + more] > 150 && data[i + less] < 120;
  return pixels;
}"""
CUT_OFF = """(all) => all.filter((each) => each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight)
  .map((each) => each.textContent)"""
RED, BLUE = [2, 0], [0, 2]  # the channel with little, the channel with much


def ago(intervals: int) -> int:
    """The interval that began so many before the present one, epoch milliseconds."""
    return round(dt.datetime.now().timestamp()) // 10 * 10_000 - 10_000 * intervals


def reading(at: int, value: int = 100, anomalous: bool = False) -> Reading:
    return Reading(at, value, 100.0, 2.0, float(value), anomalous, 1)


def read(state: State, feed: str, names, intervals: int = 30) -> None:
    """Normal readings up to the last whole interval."""
    for name in names:
        for back in range(intervals, 0, -1):
            state.memory.put_reading(feed, name, reading(ago(back), 98 + back % 5))


def well(page: Page, state: State) -> None:
    """From now on Kafka is read, as far as the page and the fleet can know."""
    state.live.status.as_of = dt.datetime.now(dt.UTC)

    def healthy(route):
        state.live.status.as_of = dt.datetime.now(dt.UTC)
        answer = route.fetch(max_retries=2)
        body = answer.json() | {"remedies": [], "registry_error": None}
        body["kafka"] |= {"state": "connected", "as_of": body["at"]}
        route.fulfill(response=answer, body=json.dumps(body))

    page.route("**/health", healthy)
    page.route("**/dead-letters", lambda route: route.fulfill(json=[]))


@pytest.fixture
def fleet(page, offline, feed):
    """Serving without Kafka, to put readings into: its URL and its state."""
    with served(offline) as (url, state):
        well(page, state)
        yield url, state
        page.unroute_all(behavior="ignoreErrors")


def names(page: Page) -> list[str]:
    return page.locator("#services li .who > :first-child").all_inner_texts()


@ON_A_PHONE_TOO
def test_the_one_of_fifty_that_fails_is_the_first_and_says_since_when(page, fleet, feed):
    url, state = fleet
    read(state, feed.name, [f"service-{number:02}" for number in range(50)])
    for back in range(20, 0, -1):
        state.memory.put_reading(feed.name, "service-37", reading(ago(back), 300, True))
    since = ago(16)  # shown as 3 min for 40 s more
    state.incidents.put(feed.name, replace(of("service-37", since), peak=300.0, peak_expected=100.0))
    page.goto(url)
    expect(page.locator("#headline")).to_have_text("1 of 50 services needs attention")
    first = page.locator("#services li").nth(0)
    expect(first).to_contain_text("service-37")
    expect(first.locator(".pill")).to_have_text("Incident")
    expect(first.locator(".how")).to_have_text("Too high, for 3 min: 300 at its peak, 100 expected")
    local = dt.datetime.fromtimestamp(since / 1000, feed.zone)
    assert first.locator(".how, time").evaluate_all(CUT_OFF) == [], "all of it can be read"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    expect(first.locator("time")).to_have_text(f"since {local:%a %d %b, %H:%M:%S} America/New_York")
    assert first.locator(".value, .expected, .off").all_inner_texts() == ["300", "100", "+200 %"]
    assert page.evaluate(INK, [0, *RED]) > 20, "its anomalies are painted in their colour"
    assert page.evaluate(INK, [1, *RED]) == 0
    assert page.evaluate(INK, [1, *BLUE]) > 20, "readings are painted"
    assert names(page)[1:4] == ["service-00", "service-01", "service-02"]
    expect(page.locator("#feeds")).to_contain_text("50 services · 1 wrong · newest")
    assert [" ".join(each.split()) for each in page.locator("#statuses button").all_inner_texts()] == [
        "All 50",
        "Incident 1",
        "Normal 49",
    ]
    expect(page.locator("#connection")).to_have_text("Live")
    first.click()
    expect(page.locator("#chart-title")).to_have_text("service-37")
    page.get_by_role("link", name="All services").click()
    expect(page.locator("#services li").nth(0)).to_contain_text("service-37")


def test_of_two_thousand_only_those_in_sight_are_drawn(page, fleet, feed):
    url, state = fleet
    read(state, feed.name, [f"service-{number:04}" for number in range(2000)], 3)
    page.goto(url)
    expect(page.locator("#headline")).to_have_text("Nothing is wrong: 2,000 services")
    rows = page.locator("#services li")
    assert 10 < rows.count() < 40
    expect(rows.nth(0)).to_have_attribute("aria-setsize", "2000")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(rows.last).to_contain_text("service-1999")
    expect(rows.last).to_have_attribute("aria-posinset", "2000")
    assert rows.count() < 40
    expect(rows.last).to_be_in_viewport()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    expect(rows.filter(has_text="service-1999")).to_have_count(0)
    shown = names(page)
    assert shown == sorted(shown)
    assert [int(each[-4:]) for each in shown] == list(range(int(shown[0][-4:]), int(shown[0][-4:]) + len(shown)))
    assert 800 < int(shown[0][-4:]) < 1200
    expect(rows.locator("a[tabindex='0']")).to_have_count(1)
    page.keyboard.press("/")
    page.keyboard.type("1999")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("service-1999")


def test_the_keyboard_searches_chooses_and_opens(page, fleet, feed):
    url, state = fleet
    read(state, feed.name, [f"service-{number:02}" for number in range(60)])
    page.goto(f"{url}/?status=normal")
    expect(page.locator("#services li").nth(0)).to_contain_text("service-00")
    focused = "document.activeElement.textContent"
    page.keyboard.press("/")
    page.keyboard.type("SERVICE-0")
    expect(page.locator("#services li")).to_have_count(10)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "service-00"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "service-01"
    assert page.evaluate("location.search") == "?search=SERVICE-0&status=normal"
    page.reload()
    expect(page.locator("#services li")).to_have_count(10)
    expect(page.locator("#search")).to_have_value("SERVICE-0")
    page.locator("#search").press("Escape")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.evaluate(focused) == "service-59"
    expect(page.get_by_role("link", name="service-59")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#chart-title")).to_have_text("service-59")
    page.go_back()
    expect(page.locator("#services li").nth(0)).to_contain_text("service-00")
    assert page.evaluate("location.search") == "?status=normal"


def test_events_alone_bring_news(page, fleet, feed):
    (url, state), now = fleet, ago(0)
    read(state, feed.name, ["a", "b", "c"])
    page.add_init_script(NO_POLLING)
    page.goto(url)
    expect(page.locator("#headline")).to_have_text("Nothing is wrong: 3 services")
    until("the page listens", lambda: state.events.listeners == 1)
    row = page.locator(f'#services li[data-key="{feed.name} c"]')

    def comes(kind: str, record) -> None:
        if kind == SCORED:
            state.memory.put_reading(feed.name, "c", record)
        else:
            state.incidents.put(feed.name, record)
        state.events.publish([Event(kind, feed.name, "c", record)])

    comes(SCORED, reading(now, 104))
    expect(row.locator(".value")).to_have_text("104")
    comes(SCORED, reading(now, 250, True))
    expect(page.locator("#services li").nth(0).locator(".pill")).to_have_text("Anomalous")
    assert names(page) == ["c", "a", "b"]
    comes(INCIDENT, of("c", now))
    expect(row.locator(".pill")).to_have_text("Incident")
    comes(INCIDENT, of("c", now, "closed"))
    expect(row.locator(".pill")).to_have_text("Anomalous")
    comes(SCORED, reading(now, 100))
    expect(page.locator("#headline")).to_have_text("Nothing is wrong: 3 services")
    assert page.evaluate("sundial.state.rows.get('" + feed.name + " c').points.at(-1).value") == 100


def test_a_group_is_one_line_that_unfolds_and_fits_a_phone(page, fleet, feed):
    url, state = fleet
    read(state, feed.name, ["a", "b", "c", "well"])
    start = ago(10)
    group = replace(of("*", start), kind="group", services=3, direction="low", cause="a is the first", peak=None)
    for each in (group, *(replace(of(name, start, group=group.id), direction="low") for name in "abc")):
        state.incidents.put(feed.name, each)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(url)
    rows = page.locator("#services li")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("3 services")
    expect(rows.nth(0).locator(".how")).to_have_text("Too low, for 2 min; a is the first")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    rows.nth(0).get_by_role("button").press("ArrowRight")
    expect(rows).to_have_count(5)
    assert names(page) == ["3 services", "a", "b", "c", "well"]
    expect(rows.nth(0).get_by_role("button")).to_have_attribute("aria-expanded", "true")
    assert [each["y"] for each in map(box, rows.all())] == sorted({each["y"] for each in map(box, rows.all())})
    rows.nth(0).get_by_role("button").click()
    expect(rows).to_have_count(2)
    page.locator("#search").fill("b")
    expect(rows).to_have_count(1)
    expect(rows.get_by_role("link")).to_have_text("b")


def box(row) -> dict:
    return row.bounding_box()


@pytest.mark.full
def test_a_silent_feed_is_one_line_and_nothing_is_live(page, fleet, feed):
    url, state = fleet
    for name in ("a", "b"):
        state.memory.put_reading(feed.name, name, reading(ago(90)))
    page.goto(f"{url}/?only=no-such-feed")
    expect(page.locator("#services li")).to_have_count(1)
    assert page.evaluate("location.search") == ""
    expect(page.locator("#services li .how")).to_have_text("No readings of the whole feed")
    expect(page.locator("#connection")).to_have_text("No readings come")
    expect(page.locator("#headline")).to_have_text("2 of 2 services need attention")


@pytest.mark.full
def test_with_nothing_there_it_says_what_to_run(page, fleet, feed):
    page.goto(fleet[0])
    expect(page.locator("#services-empty")).to_have_text(
        f"No service yet. Start the stream of a feed, and send it readings: sundial replay FILE --feed {feed.name}"
    )
    expect(page.locator("#feeds")).to_contain_text("No baseline yet: 0 of 14 dates")


def test_a_service_name_is_only_ever_text(page, fleet, feed):
    url, state = fleet
    texts = [NASTY, *hostile.TEXTS.values()]
    for text in texts:
        state.memory.put_reading(feed.name, text, reading(ago(1), 300, True))
        state.incidents.put(feed.name, replace(of(text, ago(9)), cause=text))
    page.goto(url)
    expect(page.locator("#services li")).to_have_count(len(texts))
    assert page.locator("main img, main script, main b, main textarea, main iframe, main [onmouseover]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 1300
    page.get_by_role("link", name=NASTY, exact=True).click()
    expect(page.locator("#chart-title")).to_have_text(NASTY)
    assert page.title() == f"{NASTY} · Sundial"
