"""The chart of one service is moved and zoomed by wheel, pointer, touch and keys, and by choosing dates."""

import datetime as dt
from collections.abc import Callable
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from tests.serving.conftest import CHROMIUM, ON_A_PHONE_TOO, PHONE
from tests.serving.static.conftest import HOUR, MINUTE, NOON, drawn, place
from tests.serving.static.fingers import touch
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
SETTLED = """(() => {
  const { series, view } = sundial.chart;
  return view === null && series !== null && series.span?.from === new URLSearchParams(location.search).get("from");
})()"""


def moves(page: Page, what: str, act: Callable[[], object]) -> tuple[float, float]:
    """Start in minutes after noon and length in minutes of the span that `act` leads to, once that is drawn."""
    before = page.evaluate("location.search")
    act()
    until(f"{what} chooses a span", lambda: page.evaluate("location.search") != before)
    until("it is drawn", lambda: page.evaluate(SETTLED))
    span = parse_qs(page.evaluate("location.search.slice(1)"))
    start, end = (dt.datetime.fromisoformat(span[name][0]) for name in ("from", "to"))
    return (start - NOON) / MINUTE, (end - start) / MINUTE


def still(page: Page) -> None:
    """Hides the messages above the chart: each would move it, whenever it comes or goes, from under the hand."""
    page.locator("#problem, .as-of").evaluate_all("(messages) => messages.forEach(({ style }) => (style.display = 'none'))")


def plot(page: Page) -> float:
    """Width of the plot in pixels."""
    return page.evaluate("sundial.chart.plot.over.clientWidth")


def test_wheel_pointer_and_keys_move_and_zoom_down_to_ten_seconds(page, past):
    page.set_viewport_size({"width": 1000, "height": 620})
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    still(page)
    page.mouse.move(*place(page, NOON + 45 * MINUTE))
    page.keyboard.down("Control")
    start, length = moves(page, "the wheel with Ctrl", lambda: page.mouse.wheel(0, -350))
    page.keyboard.up("Control")
    assert length == pytest.approx(60 / 1.002**350, abs=0.1)
    assert start + 0.75 * length == pytest.approx(45, abs=0.2), "what is under the pointer stays there"
    assert moves(page, "the wheel sideways", lambda: page.mouse.wheel(-200, 0)) == (
        pytest.approx(start - 200 * length / plot(page), abs=0.1),
        pytest.approx(length),
    )

    def drag(x: float, y: float, by: float) -> None:
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + by, y, steps=3)
        page.mouse.up()

    def middle(of: str) -> tuple[float, float]:
        """Where it is now."""
        box = page.locator(of).first.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + 10

    assert moves(page, "the axis", lambda: drag(*middle("#chart .u-axis"), -200)) == (
        pytest.approx(start, abs=0.1),
        pytest.approx(length),
    )
    page.keyboard.down("Shift")
    assert moves(page, "Shift", lambda: drag(*middle("#chart .u-over"), 200)) == (
        pytest.approx(start - 200 * length / plot(page), abs=0.1),
        pytest.approx(length),
    )
    page.keyboard.up("Shift")
    for _ in range(8):
        _, length = moves(page, "a key", lambda: page.locator("#chart").press("="))
    assert length == pytest.approx(10 / 60)
    page.mouse.wheel(0, 100)
    until("the page scrolls", lambda: page.evaluate("scrollY > 0"))
    assert page.evaluate("sundial.chart.view") is None, "the wheel alone is the page's"


@pytest.mark.parametrize("screen", [PHONE])
def test_a_finger_moves_and_two_zoom_down_to_ten_seconds(page, past):
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    still(page)
    page.locator("#chart").scroll_into_view_if_needed()
    wide = plot(page)
    assert moves(page, "a finger", lambda: touch(page, (200, 100))) == (pytest.approx(6000 / wide, abs=0.2), pytest.approx(60))
    start, length = moves(page, "two fingers", lambda: touch(page, (110, 90), (150, 170)))
    assert length == pytest.approx(30, abs=0.3)
    assert start + length * 130 / wide == pytest.approx((6000 + 60 * 130) / wide, abs=0.4), "what is between them stays there"
    for _ in range(3):
        between, before = start + length * 130 / plot(page), length
        start, length = moves(page, "two fingers", lambda: touch(page, (120, 50), (140, 210)))
        # The numbers beside the plot may take more or less of its width, whatever the fingers do.
        assert start + length * 130 / plot(page) == pytest.approx(between, abs=before / 20)
    assert length == pytest.approx(10 / 60)


@ON_A_PHONE_TOO
def test_dates_are_chosen_by_the_clock_of_the_feed(page, past):
    page.goto(f"{past.url}&service=a&minutes=60&{HOUR}")
    drawn(page)
    expect(page.locator("#window")).to_have_value("dates")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#dates-from")).to_have_value("2026-07-01T12:00")
    expect(page.locator("#dates-zone")).to_have_text("Times of America/New_York.")
    page.locator("#dates-from").fill("2026-03-08T02:30")
    page.locator("#dates-show").click()
    expect(page.locator("#dates-problem")).to_have_text("The clocks skipped one of these times. Choose another.")
    page.locator("#dates-from").fill("2026-03-08T03:30")
    page.locator("#dates-show").click()
    expect(page.locator("#dates-problem")).to_have_text("At most 45 days can be shown.")
    for chosen, problem in (
        ("2026-07-01T12:59:51", "The shortest window is 10 seconds."),
        ("2026-07-01T13:00:00", "“From” must be before “to”."),
    ):
        page.locator("#dates-from").fill(chosen)
        page.locator("#dates-show").click()
        expect(page.locator("#dates-problem")).to_have_text(problem)
    page.locator("#dates-from").fill("2026-07-01T12:10:30")
    page.locator("#dates-show").click()
    expect(page.locator("#instant-text")).to_have_text("01 Jul 2026, 12:10:30 to 01 Jul 2026, 13:00:00.")
    expect(page.locator("#dates")).to_be_hidden()
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator("#window")).to_have_value("60")
    page.locator("#window").select_option("dates…")
    expect(page.locator("#dates")).to_be_visible()
    page.locator("#dates-cancel").click()
    expect(page.locator("#window")).to_have_value("60")


def test_an_address_asks_for_no_window_that_is_too_short(page, past):
    page.goto(f"{past.url}&service=a&minutes=60&from=2026-07-01T16:00:00Z&to=2026-07-01T16:00:09Z")
    expect(page.locator("#window")).to_have_value("60")
    page.goto(f"{past.url}&service=a&minutes=60&from=2026-07-01T16:00:00Z&to=2026-07-01T16:00:10Z")
    expect(page.locator("#window")).to_have_value("dates")
    expect(page.locator("#instant-text")).to_have_text("01 Jul 2026, 12:00:00 to 01 Jul 2026, 12:00:10.")
