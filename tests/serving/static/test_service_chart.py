"""The chart of one service in a real browser, without Kafka: the incidents in it, and what it says at the pointer."""

import datetime as dt
from dataclasses import replace
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from tests.serving import world
from tests.serving.conftest import CHROMIUM, ON_A_PHONE_TOO
from tests.serving.static.conftest import HOUR, MINUTE, NOON, drawn, ms, place, readings_come
from tests.serving.static.fingers import point
from tests.serving.test_incidents import of
from tests.serving.test_past_incidents import night
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

PIXEL = """([x, y]) => {
  const context = document.querySelector("#chart canvas").getContext("2d");
  return Array.from(context.getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data);
}"""


def ink(page: Page, at: dt.datetime, value: float) -> list[int]:
    """Red, green and blue that are painted there, on white."""
    box = page.locator("#chart canvas").bounding_box()
    assert box is not None
    x, y = place(page, at, value)
    *colours, opacity = page.evaluate(PIXEL, [round(x - box["x"]), round(y - box["y"])])
    return [round(each * opacity / 255 + 255 - opacity) for each in colours]


def shaded(page: Page, minute: int) -> bool:
    """Whether a place of no line and no grid is painted reddish, in that minute of the hour."""
    red, green, blue = ink(page, NOON + minute * MINUTE + MINUTE / 3, 310)
    return red > max(green, blue) + 10


def test_incidents_are_shaded_from_start_to_end_with_their_peak_and_named_at_the_pointer(page, past):
    past.incident("a", NOON + 20 * MINUTE, NOON + 30 * MINUTE)
    past.incident("a", NOON + 50 * MINUTE, None, peak=30.0, direction="low", group="g")  # a group's member, open
    past.incident("b", NOON + 5 * MINUTE, NOON + 10 * MINUTE)
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    until("they are shaded", lambda: shaded(page, 25))
    assert [minute for minute in range(1, 60, 2) if shaded(page, minute)] == [21, 23, 25, 27, 29, 51, 53, 55, 57, 59], (
        "the open one to the right edge, that of b not at all"
    )
    ring = [ink(page, NOON + 22 * MINUTE, 400 + off) for off in range(-12, 13)]
    assert any(red > 190 and green < 110 for red, green, _ in ring), "a ring at the peak"
    expect(page.locator("#at-incident")).to_be_hidden()
    page.mouse.move(*place(page, NOON + 25 * MINUTE))
    expect(page.locator("#at-incident")).to_have_text("Incident: Too high, 10 min long: 400 at its peak, 100 expected")
    expect(page.locator("#at")).to_have_text("Wed 01 Jul, 12:25:00 · 16:25:00 UTC")
    page.mouse.move(*place(page, NOON + 52 * MINUTE))
    expect(page.locator("#at-incident")).to_contain_text("Incident: Too low, for")
    page.mouse.move(*place(page, NOON + 40 * MINUTE))
    expect(page.locator("#at-incident")).to_be_hidden()


def test_an_incident_that_only_the_table_has_is_shaded_as_well(page, past, lake, feed):
    night(lake, feed, replace(of("a", ms(NOON + 20 * MINUTE), "closed"), end=ms(NOON + 30 * MINUTE)))
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    until("it is shaded", lambda: shaded(page, 25))
    assert [minute for minute in range(1, 60, 2) if shaded(page, minute)] == [21, 23, 25, 27, 29]


def test_an_incident_comes_into_sight_from_the_chart_and_from_its_row(page, past):
    past.incident("a", NOON + 20 * MINUTE, NOON + 30 * MINUTE)
    past.incident("b", NOON + 40 * MINUTE, NOON + 41 * MINUTE)
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    until("it is shaded", lambda: shaded(page, 25))
    page.mouse.click(*place(page, NOON + 25 * MINUTE))
    expect(page.locator("#instant-text")).to_have_text("01 Jul 2026, 12:15:00 to 01 Jul 2026, 12:35:00.")
    until("its readings are drawn", lambda: drawn(page)[0][0] == (NOON + 15 * MINUTE).timestamp())
    page.locator("#incidents li", has_text="12:40:00").locator("p").first.click()
    expect(page.locator("#chart-title")).to_have_text("b")
    expect(page.locator("#instant-text")).to_have_text("01 Jul 2026, 12:36:00 to 01 Jul 2026, 12:45:00.")


def test_an_open_incident_comes_into_sight_in_a_range_that_goes_on(page, past, monkeypatch):
    now = dt.datetime.now(dt.UTC)
    readings_come(past.state, monkeypatch)
    past.incident("b", now - 50 * MINUTE, None)
    page.goto(f"{past.url}&service=a&minutes=1440&{HOUR}")
    page.locator("#incidents li").click()
    expect(page.locator("#chart-title")).to_have_text("b")
    expect(page.locator("#instant")).to_be_hidden()
    assert page.evaluate("new URLSearchParams(location.search).get('minutes')") == "60"


def earlier(page: Page) -> dict[str, float]:
    """What the chart compares with, by the local time in New York of what is shown."""
    until("it is drawn", lambda: page.evaluate("(sundial.chart.data[8] ?? []).some((value) => value !== null)"))
    seconds, values = page.evaluate("[0, 8].map((column) => Array.from(sundial.chart.data[column]))")
    zone = ZoneInfo("America/New_York")
    both = zip(seconds, values, strict=True)
    return {f"{dt.datetime.fromtimestamp(at, zone):%H:%M:%S}": value for at, value in both if value is not None}


@ON_A_PHONE_TOO
def test_a_range_is_compared_with_the_day_and_the_week_before_and_with_a_date(page, past, feed, lake):
    before = {1: 111, 7: 777, 30: 333}
    world.archive(lake, feed, {("a", NOON - dt.timedelta(days=days)): value for days, value in before.items()})
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    expect(page.locator("#key-earlier")).to_be_hidden()
    page.locator("#comparison").select_option("the day before")
    assert earlier(page) == {"12:00:00": 111}
    page.locator("#chart").scroll_into_view_if_needed()
    point(page, *place(page, NOON))
    expect(page.locator("#key-earlier")).to_have_text("Tue 30 Jun 111")
    page.locator("#comparison").select_option("the week before")
    until("the week before is drawn", lambda: earlier(page) == {"12:00:00": 777})
    page.locator("#comparison").select_option("a date…")
    page.locator("#comparison-date").fill("2026-06-01")
    until("the date is drawn", lambda: earlier(page) == {"12:00:00": 333})
    assert "compare=2026-06-01" in page.url
    page.reload()
    until("the date is drawn", lambda: earlier(page) == {"12:00:00": 333})
    expect(page.locator("#comparison-date")).to_have_value("2026-06-01")
    page.locator("#comparison").select_option("nothing")
    expect(page.locator("#key-earlier")).to_be_hidden()
    assert "compare" not in page.url


def test_a_comparison_is_of_the_same_local_time_when_the_clocks_were_set(page, past, feed, lake):
    set_back = dt.datetime(2026, 11, 1, tzinfo=feed.zone)
    set_forward = dt.datetime(2026, 3, 8, tzinfo=feed.zone)
    hours = {day + number * dt.timedelta(hours=1): 10 * number for day in (set_back, set_forward) for number in range(24)}
    world.archive(lake, feed, {("a", at.astimezone(dt.UTC)): value for at, value in hours.items() if real(at)})
    page.goto(f"{past.url}&service=a&compare=day&from=2026-11-02T05:00:00Z&to=2026-11-02T17:00:00Z")
    found = earlier(page)
    assert {time: value for time, value in found.items() if time.endswith(":00:00")} == {
        f"{hour:02}:00:00": 10 * hour for hour in range(13)
    }
    page.goto(f"{past.url}&service=a&compare=day&from=2026-03-09T04:00:00Z&to=2026-03-09T16:00:00Z")
    until("the day of March is drawn", lambda: "02:00:00" not in earlier(page))
    assert earlier(page) == {f"{hour:02}:00:00": 10 * hour for hour in range(13) if hour != 2}, "the clocks skipped 2:00"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_at_360_pixels_the_figures_lie_below_the_chart_and_cover_nothing(page, past, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 800})
    past.incident("a", NOON + 20 * MINUTE, NOON + 30 * MINUTE, level_shift=True)
    page.goto(f"{past.url}&service=a&compare=2026-06-01&{HOUR}")
    drawn(page)
    expect(page.locator("#key-earlier")).to_be_visible()
    before = page.locator("#incidents-card").bounding_box()
    page.locator("#chart").scroll_into_view_if_needed()
    page.mouse.move(*place(page, NOON + 25 * MINUTE))
    expect(page.locator("#at-incident")).to_contain_text("the level has shifted for good")
    boxes = [page.locator(each).bounding_box() for each in ("#chart", "#at", "#at-incident", "#key ul", "#incidents-card")]
    for above, below in pairwise(filter(None, boxes)):
        assert above["y"] + above["height"] <= below["y"] + 1
        assert below["x"] >= 0
        assert below["x"] + below["width"] <= 360
    page.evaluate("scrollTo(0, 0)")
    assert page.locator("#incidents-card").bounding_box() == before, "nothing moved"


def real(at: dt.datetime) -> bool:
    """Whether the clocks do not skip that local time."""
    return at.astimezone(dt.UTC).astimezone(at.tzinfo).replace(tzinfo=None) == at.replace(tzinfo=None)
