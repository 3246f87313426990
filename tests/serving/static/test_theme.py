"""Pages are light or dark as the system is, or as a person chose: from their first moment on, charts included."""

import pytest
from playwright.sync_api import Page, expect

from tests.serving.conftest import CHROMIUM
from tests.serving.static.conftest import HOUR, MINUTE, NOON, drawn
from tests.serving.static.test_accessibility import serious
from tests.serving.static.test_fleet import read, well
from tests.serving.static.test_zone import asked, choose
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
FIRST = """new MutationObserver(() => {
  if (!document.body) return;
  const scheme = document.querySelector("meta[name=color-scheme]").content;
  globalThis.first ??= `${document.documentElement.dataset.theme} ${scheme}`;
}).observe(document, { childList: true, subtree: true })"""
BLOCKED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('blocked', 'SecurityError'); } })"
LIGHT, DARK = "rgb(244, 245, 247)", "rgb(14, 19, 27)"
BACK = "getComputedStyle(document.body).backgroundColor"
LINE = "sundial.chart.plot.series[1]._stroke"
# The colours of its pixels, one after the other; empty before it is drawn.
SPARKLINE = """(() => {
  const canvas = document.querySelector("#services canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.some((each) => each > 0) ? data.join() : "";
})()"""
BLUE = {"light": "#1f6feb", "dark": "#6cb0ff"}


def theme(page: Page, name: str) -> None:
    page.locator("#to-display").click()
    page.get_by_label("Theme").select_option(label=name)
    page.keyboard.press("Escape")


def test_the_page_follows_the_system_until_a_person_chooses(page, past):
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    assert (page.evaluate(BACK), page.evaluate(LINE)) == (LIGHT, BLUE["light"])
    page.emulate_media(color_scheme="dark")
    until("it is dark", lambda: (page.evaluate(BACK), page.evaluate(LINE)) == (DARK, BLUE["dark"]))
    theme(page, "light")
    assert (page.evaluate(BACK), page.evaluate(LINE)) == (LIGHT, BLUE["light"])
    scheme = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
    assert scheme == "light", "also of the browser's own controls"
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(BACK) == LIGHT, "the system counts no longer"
    theme(page, "as the system")
    assert (page.evaluate(BACK), page.evaluate(LINE)) == (DARK, BLUE["dark"])


def test_no_page_begins_in_another_theme(page, past):
    page.goto(past.url.replace("/?", "/login?"))
    theme(page, "dark")
    page.add_init_script(FIRST)
    site = past.url.partition("/?")[0]
    for path in ("/", f"/?{past.url.partition('?')[2]}", "/incidents", "/explore", "/baselines", "/queries", "/login"):
        page.goto(f"{site}{path}")
        assert page.evaluate("first") == "dark dark", path
        assert page.evaluate(BACK) == DARK, path


def test_the_sparklines_and_other_pages_of_the_browser_follow(page, past, feed):
    well(page, past.state)
    read(past.state, feed.name, ["a", "b"])
    page.goto(past.url.partition("?")[0])
    expect(page.locator("#services canvas")).to_have_count(2)
    until("its line is drawn", lambda: page.evaluate(SPARKLINE) != "")
    before = page.evaluate(SPARKLINE)
    other = page.context.new_page()
    other.goto(past.url.replace("/?", "/login?"))
    theme(other, "dark")
    until("the page is dark", lambda: page.evaluate(BACK) == DARK)
    until("its lines are others", lambda: page.evaluate(SPARKLINE) not in ("", before))
    page.unroute_all(behavior="ignoreErrors")


def test_if_the_browser_keeps_nothing_the_page_still_has_the_choice(page, past):
    page.add_init_script(BLOCKED)
    page.goto(f"{past.url}&service=a&{HOUR}")
    drawn(page)
    theme(page, "dark")
    assert page.evaluate(BACK) == DARK
    choose(page, "UTC")
    expect(page.locator("#instant-text")).to_contain_text("16:00:00")
    assert asked(page)["zone"] == ["UTC"]
    page.reload()
    expect(page.locator("#instant-text")).to_contain_text("16:00:00")
    assert page.evaluate(BACK) == LIGHT


@pytest.mark.parametrize(("name", "width"), [("light", 1300), ("dark", 360)])
def test_the_choices_are_named_and_fit_in_each_theme(page, past, name, width):
    page.emulate_media(color_scheme="dark" if name == "light" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    past.incident("a", NOON + 20 * MINUTE, NOON + 30 * MINUTE)
    page.goto(f"{past.url}&service=a&{HOUR}&zone=America/Argentina/ComodRivadavia")
    drawn(page)
    expect(page.locator("header .login")).to_be_visible()
    theme(page, name)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Display").click()
    expect(page.get_by_role("group", name="Display of all pages")).to_be_visible()
    assert serious(page) == []
    for each in (page.locator("#display"), page.locator("#to-display"), page.get_by_label("Theme")):
        box = each.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    header, display = page.locator("#to-display").bounding_box(), page.locator("#display").bounding_box()
    assert header is not None
    assert display is not None
    assert header["y"] + header["height"] <= display["y"], "the button can still be seen"
    page.keyboard.press("Tab")
    expect(page.get_by_label("Time zone")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Theme")).to_be_focused()
