"""What a hand does to the chart of a phone, and what a mouse does instead."""

from playwright.sync_api import Page

from tests.serving.conftest import PHONE


def on_a_phone(page: Page) -> bool:
    size = page.viewport_size
    return size is not None and size["width"] == PHONE


def touch(page: Page, *fingers: tuple[float, float]) -> None:
    """Fingers that move sideways over the plot, from and to so many pixels of it."""
    box = page.locator("#chart .u-over").bounding_box()
    assert box is not None
    devtools = page.context.new_cdp_session(page)
    for step in range(6):
        at = [{"x": box["x"] + a + (b - a) * step / 5, "y": box["y"] + 60, "id": i} for i, (a, b) in enumerate(fingers)]
        devtools.send("Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": at})
    devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    devtools.detach()


def zoom_in(page: Page, x: float) -> None:
    """Zoom at so many pixels of the plot: two fingers, or a drag over what lies around it."""
    if on_a_phone(page):
        return touch(page, (x - 8, x - 80), (x + 8, x + 80))
    box = page.locator("#chart .u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x - 20, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + x + 20, box["y"] + 60, steps=4)
    page.mouse.up()


def tap_twice(page: Page) -> None:
    """On the chart."""
    over = page.locator("#chart .u-over")
    if not on_a_phone(page):
        return over.dblclick()
    over.tap()
    over.tap()


def point(page: Page, x: float, y: float) -> None:
    """At that place of the page."""
    if on_a_phone(page):
        page.touchscreen.tap(x, y)
    else:
        page.mouse.move(x, y)
