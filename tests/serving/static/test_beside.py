"""Other services in the chart of one, in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from serving.kept_events import SCORED, Event
from tests.serving.conftest import CHROMIUM
from tests.serving.static.conftest import HOUR, MINUTE, NOON, drawn, place
from tests.serving.static.test_accessibility import serious
from tests.serving.static.test_fleet import ago, read, reading, well
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def lines(page: Page) -> list[list]:
    """The values of the services beside the one of the page."""
    return page.evaluate("sundial.chart.data.slice(9).map((column) => Array.from(column))")


def test_services_are_added_to_the_chart_and_taken_out_and_the_url_keeps_them(page, past, feed):
    page.goto(f"{past.url}&service=a&{HOUR}")
    values = drawn(page)[1]
    assert lines(page) == []
    page.get_by_label("Beside it").select_option("b")
    until("b is drawn", lambda: len(lines(page)) == 1)
    assert drawn(page)[1] == values
    assert {*lines(page)[0]} - {None} == {100}, "a's reading of 400 is none of b"
    assert [value is None for value in lines(page)[0]] == [value is None for value in values]
    page.mouse.move(*place(page, NOON + 22 * MINUTE))
    expect(page.locator("#key .beside")).to_have_text("b 100")
    expect(page.locator("#at-value")).to_have_text("400")
    expect(page.get_by_label("Beside it")).to_be_disabled()  # the feed has no other service
    assert "&beside=b" in page.url
    assert serious(page) == []
    page.reload()
    drawn(page)
    assert len(lines(page)) == 1
    page.get_by_role("link", name="Explore it in a chart of your own").click()
    expect(page.locator("#lines .name")).to_have_text([f"{feed.name} · {each} · value" for each in ("a", "b")])
    expect(page.locator("#lines .quiet").first).to_contain_text("highest 400")
    page.go_back()
    drawn(page)
    page.get_by_role("button", name="Take b out of the chart").click()
    until("b is gone", lambda: lines(page) == [])
    expect(page.locator("#key .beside")).to_have_count(0)
    assert "beside" not in page.url


def test_a_service_is_not_beside_itself_and_what_the_feed_does_not_have_is_nowhere(page, past):
    page.goto(f"{past.url}&service=a&beside=b&beside=c&beside=a&beside=b&{HOUR}")
    drawn(page)
    expect(page.locator("#key .beside")).to_have_text(["b 100"])
    page.locator("#service").select_option("b")
    until("b is the one of the page", lambda: lines(page) == [])
    assert "beside" not in page.url


def test_readings_of_a_service_beside_come_live(page, past, feed):
    well(page, past.state)
    read(past.state, feed.name, ["a", "b"])
    page.goto(f"{past.url.partition('?')[0]}?feed={feed.name}&service=a&beside=b&minutes=15")
    drawn(page)
    until("b is drawn", lambda: len(lines(page)) == 1)
    came = reading(ago(0), 777)
    past.state.memory.put_reading(feed.name, "b", came)
    past.state.events.publish([Event(SCORED, feed.name, "b", came)])
    until("the reading is drawn", lambda: 777 in lines(page)[0])
    assert 777 not in drawn(page)[1]
    page.unroute_all(behavior="ignoreErrors")
