"""Everybody sees which ranges of a service are excluded, by whom, when and why; nothing follows Kafka here."""

import datetime as dt

import pytest
from playwright.sync_api import Page, expect

from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.conftest import HOUR, MINUTE, NOON, drawn, place
from tests.serving.static.test_service_chart import ink
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
WIDTHS = pytest.mark.parametrize("width", [1300, 360])


def hatched(page: Page, minute: int) -> bool:
    """Whether a line of the hatching crosses a height without other lines in that minute of the hour or the next."""
    seconds = [dt.timedelta(seconds=each) for each in range(0, 120, 8)]
    return any(max(ink(page, NOON + minute * MINUTE + each, 310)) < 245 for each in seconds)


@WIDTHS
def test_excluded_ranges_are_hatched_and_say_who_when_and_why(page, past, lake, feed, width):
    page.set_viewport_size({"width": width, "height": 800})
    ten = 10 * MINUTE
    world.say(lake, feed, 1, "exclude", NOON + ten, ServiceName="a", End=NOON + 2 * ten, By=NASTY, Reason=NASTY)
    world.say(lake, feed, 2, "exclude", NOON + 3 * ten, End=NOON + 4 * ten)
    world.say(lake, feed, 3, "exclude", NOON + 5 * ten, ServiceName="b", End=NOON + 6 * ten)
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    bars = page.locator("#excluded-bars button")
    expect(bars).to_have_count(2)
    until("they are hatched", lambda: hatched(page, 12))
    assert [minute for minute in (5, 12, 15, 17, 25, 32, 35, 37, 45, 55) if hatched(page, minute)] == [12, 15, 17, 32, 35, 37]
    box = bars.nth(0).bounding_box()
    assert box["x"] == pytest.approx(place(page, NOON + ten)[0], abs=2)
    assert box["x"] + box["width"] == pytest.approx(max(place(page, NOON + 2 * ten)[0], box["x"] + 24), abs=2)
    said = page.locator("#excluded-said")
    expect(said).to_have_text("")
    first = f"a, 01 Jul 2026, 12:10:00 to 01 Jul 2026, 12:20:00: excluded by {NASTY} (21 Nov 2026, 04:30:00): {NASTY}"
    second = "All services, 01 Jul 2026, 12:30:00 to 01 Jul 2026, 12:40:00: excluded by mara (21 Nov 2026, 04:30:00): a drill"
    bars.nth(0).focus()
    expect(said).to_have_text(first)
    assert bars.nth(0).get_attribute("aria-label") == first
    page.keyboard.press("ArrowRight")
    expect(bars.nth(1)).to_be_focused()
    expect(said).to_have_text(second)
    page.mouse.move(*place(page, NOON + 15 * MINUTE))
    expect(said).to_have_text(first)
    page.mouse.move(*place(page, NOON + 25 * MINUTE))
    expect(said).to_have_text(first)
    bars.nth(1).hover()
    expect(said).to_have_text(second)
    expect(page.get_by_role("button", name="Take back this exclusion")).to_be_hidden()
    expect(page.get_by_role("button", name="Exclude a range")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title() != "owned"


@WIDTHS
def test_short_ranges_can_be_met_one_by_one_and_follow_the_chart(page, past, lake, feed, width):
    page.set_viewport_size({"width": width, "height": 800})
    for number in range(1, 4):
        world.say(lake, feed, number, "exclude", NOON + (56 + number) * MINUTE, End=NOON + (57 + number) * MINUTE)
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    bars = page.locator("#excluded-bars button")
    expect(bars).to_have_count(3)
    boxes = [bars.nth(number).bounding_box() for number in range(3)]
    assert all(each["width"] >= 24 and each["height"] >= 24 for each in boxes)
    apart = [
        one["x"] + one["width"] <= other["x"] + 1 or one["y"] + one["height"] <= other["y"] + 1
        for number, one in enumerate(boxes)
        for other in boxes[number + 1 :]
    ]
    assert all(apart), boxes
    bars.nth(2).hover()
    expect(page.locator("#excluded-said")).to_contain_text("12:59:00 to 01 Jul 2026, 13:00:00")
    page.locator("#chart").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#excluded")).to_be_hidden()
    page.locator("#chart").focus()
    page.keyboard.press("ArrowRight")
    expect(bars).to_have_count(3)
    page.locator("#service").select_option("b")
    expect(page.locator("#chart-title")).to_have_text("b")
    expect(bars).to_have_count(3)


def test_another_service_has_its_own(page, past, lake, feed):
    world.say(lake, feed, 1, "exclude", NOON + 10 * MINUTE, ServiceName="a")
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    expect(page.locator("#excluded-bars button")).to_have_count(1)
    page.locator("#service").select_option("b")
    expect(page.locator("#chart-title")).to_have_text("b")
    drawn(page)
    expect(page.locator("#excluded")).to_be_hidden()
