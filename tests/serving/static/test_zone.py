"""Pages write times in the zone that a person chose: the feed's, UTC or the browser's own. The fixture's browser is in Tokyo."""

import datetime as dt
import re
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from tests.serving import world
from tests.serving.conftest import CHROMIUM
from tests.serving.static.baselines import course
from tests.serving.static.conftest import HOUR, MINUTE, NOON, drawn, place
from tests.serving.static.test_fleet import ago, read, well
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
TICKS = "sundial.chart.plot.axes[0]._splits.map((at, place) => [at, sundial.chart.plot.axes[0]._values[place]])"
FEED, UTC, TOKYO = "feed", "UTC", "Asia/Tokyo"


def choose(page: Page, zone: str) -> None:
    """By the keyboard alone."""
    page.locator("#to-display").press("Enter")
    page.get_by_label("Time zone").select_option(zone)
    page.keyboard.press("Escape")
    expect(page.locator("#display")).to_be_hidden()
    expect(page.locator("#to-display")).to_be_focused()


def asked(page: Page) -> dict[str, list[str]]:
    """The parameters of the page's address."""
    return parse_qs(page.evaluate("location.search.slice(1)"))


def ticks(page: Page) -> list[tuple[float, str]]:
    """Instants and labels of the chart's axis of time."""
    return [(at, label) for at, label in page.evaluate(TICKS)]


def begins(page: Page, at: dt.datetime, label: str) -> None:
    """The axis of time begins so, once the chart is drawn: it is drawn later than the text beside it changes."""
    until(f"the axis begins with {label!r}", lambda: ticks(page)[:1] == [(at.timestamp(), label)], detail=lambda: ticks(page))


def test_all_of_the_page_of_a_service_follows_the_zone_at_once(page, past, lake, feed):
    world.promote(lake, feed, {"a": 100.0}, at="2026-06-30T08:00:00+00:00", run_id="night-1")
    world.gate_result(lake, feed, "night-1", True, [world.expectation()], NOON, 1)
    past.incident("a", NOON + 20 * MINUTE, NOON + 30 * MINUTE)
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    page.mouse.move(*place(page, NOON + 40 * MINUTE))
    shown = [page.locator(each) for each in ("#at", "#instant-text", "#incidents time", "#history time", "#gate time", "#zone")]
    new_york = [
        "Wed 01 Jul, 12:40:00 · 16:40:00 UTC",
        "01 Jul 2026, 12:00:00 to 01 Jul 2026, 13:00:00.",
        "01 Jul 2026, 12:20:00",
        "30 Jun 2026, 04:00:00",
        "01 Jul 2026, 12:00:00",
        "Time (America/New_York)",
    ]
    for each, text in zip(shown, new_york, strict=True):
        expect(each).to_have_text(text)
    begins(page, NOON, "12:00\n01 Jul")
    assert "zone" not in asked(page), "nothing was chosen"
    page.evaluate("globalThis.same = true")
    choose(page, TOKYO)
    expect(page.locator("#to-display")).to_have_text("Display: Asia/Tokyo")
    tokyo = [
        "02 Jul 2026, 01:00:00 to 02 Jul 2026, 02:00:00.",
        "02 Jul 2026, 01:20:00",
        "30 Jun 2026, 17:00:00",
        "02 Jul 2026, 01:00:00",
        "Time (Asia/Tokyo)",
    ]
    for each, text in zip(shown[1:], tokyo, strict=True):
        expect(each).to_have_text(text)
    begins(page, NOON, "01:00\n02 Jul")
    page.mouse.move(*place(page, NOON + 41 * MINUTE))
    expect(shown[0]).to_have_text("Thu 02 Jul, 01:41:00 · 16:41:00 UTC")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#dates-from")).to_have_value("2026-07-02T01:00")
    expect(page.locator("#dates-zone")).to_have_text("Times of Asia/Tokyo.")
    page.locator("#dates-from").fill("2026-07-02T01:30")
    page.locator("#dates-show").click()
    expect(shown[1]).to_have_text("02 Jul 2026, 01:30:00 to 02 Jul 2026, 02:00:00.")
    assert asked(page)["from"] == ["2026-07-01T16:30:00.000Z"]
    choose(page, UTC)
    expect(shown[1]).to_have_text("01 Jul 2026, 16:30:00 to 01 Jul 2026, 17:00:00.")
    begins(page, NOON + 30 * MINUTE, "16:30\n01 Jul")
    expect(shown[0]).to_have_text(re.compile(r"\d\d:\d\d:\d\d UTC$"))
    assert page.evaluate("same"), "the page was not loaded again"


def test_the_zone_is_kept_for_all_pages_and_the_address_has_it(page, past, lake, feed):
    well(page, past.state)
    world.promote(lake, feed, {"a": 100.0}, at="2026-06-30T08:00:00+00:00")
    past.incident("a", NOON, NOON + 30 * MINUTE)
    site = past.url.partition("/?")[0]
    page.goto(f"{site}/incidents?{HOUR}")
    expect(page.locator("#shown")).to_contain_text("01 Jul 2026, 13:00:00 America/New_York.")
    choose(page, TOKYO)
    expect(page.locator("#shown")).to_have_text("02 Jul 2026, 01:00:00 to 02 Jul 2026, 02:00:00 Asia/Tokyo.")
    expect(page.locator("#incidents .when")).to_contain_text("02 Jul 2026, 01:00:00")
    expect(page.locator("#incidents .when")).to_contain_text(TOKYO)
    assert page.locator("#axis .tick").first.inner_text().startswith("01:00")
    assert asked(page)["zone"] == [TOKYO]
    page.get_by_role("link", name="Baselines").click()
    expect(page.locator("#history-note")).to_have_text("Times are those of Asia/Tokyo.")
    expect(page.locator("#history time")).to_have_text("30 Jun 2026, 17:00:00")
    assert asked(page)["zone"] == [TOKYO]
    read(past.state, feed.name, ["a"])
    past.incident("a", dt.datetime.fromtimestamp(ago(16) / 1000, dt.UTC), None)
    page.goto(site)
    expect(page.locator("#services time").first).to_contain_text(TOKYO)
    page.locator("#search").fill("a")
    assert asked(page) == {"search": ["a"], "zone": [TOKYO]}
    choose(page, FEED)
    expect(page.locator("#services time").first).to_contain_text("America/New_York")
    expect(page.locator("#to-display")).to_have_text("Display")
    assert asked(page)["zone"] == [FEED]
    page.unroute_all(behavior="ignoreErrors")


def test_a_baselines_times_of_day_stay_those_of_the_feed(page, baselines, three):
    page.goto(baselines.of(service="up", day=1) + "&zone=UTC")
    expect(page.locator("#course-zone")).to_have_text(
        "Times of day are those of America/New_York, as the slots of the baseline are."
    )
    course(page)
    before = ticks(page), page.locator("#at").inner_text()
    assert before[0][0] == (0, "00:00")
    choose(page, TOKYO)
    expect(page.locator("#history time").first).to_have_text("22 Nov 2026, 17:00:00")
    assert (ticks(page), page.locator("#at").inner_text()) == before


def test_a_link_shows_others_the_same_zone_and_changes_nothing_of_theirs(browser, page, past):
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    choose(page, TOKYO)
    link = page.evaluate("location.href")
    context = browser.new_context(timezone_id="Europe/Berlin")
    other = context.new_page()
    other.goto(f"{past.url}&service=a&{HOUR}")
    drawn(other)
    choose(other, UTC)
    other.goto(link)
    expect(other.locator("#instant-text")).to_contain_text("02 Jul 2026, 01:00:00")
    expect(other.locator("#to-display")).to_have_text("Display: Asia/Tokyo")
    assert other.get_by_label("Time zone").locator("option").all_text_contents() == [
        "the feed's",
        "UTC",
        "mine (Europe/Berlin)",
        "Asia/Tokyo",
    ]
    choose(other, UTC)  # what he keeps already
    expect(other.locator("#instant-text")).to_contain_text("01 Jul 2026, 16:00:00")
    other.goto(f"{past.url}&service=a&{HOUR}")
    expect(other.locator("#instant-text")).to_contain_text("01 Jul 2026, 16:00:00")
    other.goto(f"{past.url}&service=a&{HOUR}&zone=Mars%2FBase<b>")
    expect(other.locator("#instant-text")).to_contain_text("01 Jul 2026, 16:00:00")
    assert asked(other)["zone"] == [UTC]
    context.close()


def test_the_way_back_changes_the_part_of_time_and_not_the_zone(page, past):
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    page.locator("#chart").press("+")
    expect(page.locator("#instant-text")).to_contain_text("12:15:00")
    choose(page, UTC)
    expect(page.locator("#instant-text")).to_contain_text("16:15:00")
    page.go_back()
    expect(page.locator("#instant-text")).to_contain_text("16:00:00")
    assert asked(page)["zone"] == [UTC]


def test_other_pages_of_the_browser_follow_and_own_is_the_browsers_zone(page, past):
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    other = page.context.new_page()
    other.goto(f"{past.url}&service=a&{HOUR}")
    drawn(other)
    choose(other, TOKYO)
    expect(page.locator("#instant-text")).to_contain_text("02 Jul 2026, 01:00:00")
    assert page.evaluate("localStorage.getItem('sundial.zone')") == "own", "elsewhere, it is another"


@pytest.fixture
def berlin(browser) -> Iterator[Page]:
    """A page of a browser whose zone has days of 23 and of 25 hours."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000}, timezone_id="Europe/Berlin")
    yield context.new_page()
    context.close()


def day(page: Page, past, zone: str, start: str, end: str) -> dict[str, int]:
    """How many hours after the start the chart's axis has which label; of those that come twice, with a quote."""
    page.goto(f"{past.url}&service=a&zone={zone}&from={start}Z&to={end}Z")
    drawn(page)
    until("the axis is drawn", lambda: len(ticks(page)) > 3)
    first, found = dt.datetime.fromisoformat(f"{start}Z").timestamp(), {}
    for at, label in ticks(page):
        time = label.partition("\n")[0]
        found[f"{time}'" if time in found else time] = (at - first) / 3600
    return found


def test_the_axis_is_right_on_days_of_23_and_25_hours(berlin, past):
    spring = day(berlin, past, "Europe/Berlin", "2026-03-28T23:00", "2026-03-29T05:00")
    hours = {time: at for time, at in spring.items() if time.endswith(":00")}
    assert hours == {"00:00": 0, "01:00": 1, "03:00": 2, "04:00": 3, "05:00": 4, "06:00": 5, "07:00": 6}
    utc = day(berlin, past, "UTC", "2026-03-28T23:00", "2026-03-29T05:00")
    assert {time: at for time, at in utc.items() if time.endswith(":00")} == {
        f"{(hour + 23) % 24:02}:00": hour for hour in range(7)
    }, "UTC has the hour that the browser's own zone skips"
    autumn = day(berlin, past, "Europe/Berlin", "2026-10-24T22:00", "2026-10-25T05:00")
    assert {time: at for time, at in autumn.items() if time.rstrip("'").endswith(":00")} == {
        "00:00": 0, "01:00": 1, "02:00": 2, "02:00'": 3, "03:00": 4, "04:00": 5, "05:00": 6, "06:00": 7
    }  # fmt: skip
    whole = day(berlin, past, "Europe/Berlin", "2026-10-24T22:00", "2026-10-25T23:00")
    assert all(whole[time] == int(time[:2]) + 1 for time in whole if time[:2] > "03"), "25 hours"
    long = day(berlin, past, "Europe/Berlin", "2026-10-20T22:00", "2026-10-29T23:00")
    assert long["25 Oct"] == 96
    assert long["27 Oct"] == 96 + 25 + 24, "days begin at midnight before and after"


def test_the_date_picker_is_right_on_days_of_23_and_25_hours(berlin, past):
    berlin.goto(f"{past.url}&service=a&zone=Europe/Berlin&from=2026-10-25T01:30:00Z&to=2026-10-25T03:00:00Z")
    drawn(berlin)
    berlin.get_by_role("button", name="Change").click()
    expect(berlin.locator("#dates-from")).to_have_value("2026-10-25T02:30")
    berlin.locator("#dates-to").fill("2026-10-25T05:00")
    berlin.locator("#dates-show").click()
    until("it is chosen", lambda: asked(berlin)["to"] == ["2026-10-25T04:00:00.000Z"])
    assert asked(berlin)["from"] == ["2026-10-25T01:30:00.000Z"], "the later of the two 2:30, which stood there already"
    for start, end, wanted in (
        ("2026-10-25T02:15", "2026-10-25T02:45", ["2026-10-25T00:15:00.000Z", "2026-10-25T00:45:00.000Z"]),
        ("2026-03-29T00:00", "2026-03-30T00:00", ["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"]),
        ("2026-10-25T00:00", "2026-10-26T00:00", ["2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"]),
    ):
        berlin.get_by_role("button", name="Change").click()
        berlin.locator("#dates-from").fill(start)
        berlin.locator("#dates-to").fill(end)
        berlin.locator("#dates-show").click()
        until("it is chosen", lambda wanted=wanted: [asked(berlin)[each][0] for each in ("from", "to")] == wanted)
    berlin.get_by_role("button", name="Change").click()
    berlin.locator("#dates-from").fill("2026-03-29T02:30")
    berlin.locator("#dates-show").click()
    expect(berlin.locator("#dates-problem")).to_have_text("The clocks skipped one of these times. Choose another.")
