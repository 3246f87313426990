"""Readings in a chart of one's own, in a real browser: what is drawn, what the URL keeps, what the page says of nothing."""

import datetime as dt
from urllib.parse import parse_qsl, urlencode

import pytest
from playwright.sync_api import Page, expect

from serving.kept_events import SCORED, Event
from serving.memory import Reading
from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.conftest import HOUR, MINUTE, NOON, ms, readings_come
from tests.serving.static.explore.conftest import add, columns, drawn, values
from tests.serving.static.test_fleet import ago, read, reading, well
from tests.support import hostile
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
SAW = [float(100 + number % 7) for number in range(360)]
IN_EACH_RUN = ("markup", "quotes", "long")


def line(feed: str, service: str, column: str = "value", **more) -> str:
    return urlencode({"feed": feed, "service": service, "column": column} | more)


def query(page: Page) -> list[tuple[str, str]]:
    return parse_qsl(page.evaluate("location.search.slice(1)"))


def test_lines_are_added_and_taken_out_and_the_url_restores_the_chart(page, explored):
    page.goto(f"{explored.url}?{HOUR}")
    expect(page.locator("#chart-empty")).to_have_text("No line is chosen. Add one above.")
    expect(page.locator("#connection")).to_have_text("Nothing chosen")
    expect(page.get_by_role("button", name="CSV")).to_be_disabled()
    source = f"readings of {explored.feed}"
    add(page, source, "a", "value")
    add(page, source, "a", "band", "right")
    add(page, source, NASTY, "value", "right")
    drawn(page, 4)
    assert values(page, 1) == {10.0 * number: each for number, each in enumerate(SAW)}
    low, high = values(page, 2), values(page, 3)
    assert len(low) == len(high) == 361
    assert all(low[at] < high[at] for at in low)
    assert {*values(page, 4).values()} == {50}
    chosen = query(page)
    assert [each for each in chosen if each[0] in ("column", "axis")] == [
        ("column", "value"),
        ("column", "low..high"),
        ("axis", "right"),
        ("column", "value"),
        ("axis", "right"),
    ]
    before = columns(page)
    other = page.context.new_page()
    other.goto(page.url)
    drawn(other, 4)
    assert columns(other) == before
    assert other.evaluate("sundial.chart.plot.series.slice(1).map((each) => each.scale)") == ["left", "right", "right", "right"]
    name = f"{explored.feed} · a · band"
    other.get_by_label(f"Axis of {name}").select_option("left")
    until("it is on the other axis", lambda: other.evaluate("sundial.chart.plot.series[2].scale") == "left")
    other.get_by_role("button", name=f"Remove {name}").click()
    drawn(other, 2)
    assert [value for key, value in query(other) if key == "service"] == ["a", NASTY]


@pytest.mark.full
def test_the_list_says_in_words_what_is_drawn_and_what_is_at_the_pointer(page, explored):
    page.goto(f"{explored.url}?{HOUR}&{line(explored.feed, 'a')}&{line(explored.feed, 'b')}")
    drawn(page, 2)
    rows = page.locator("#lines > li")
    expect(rows.nth(0).locator(".quiet")).to_have_text("360 values, lowest 100, highest 106, newest 102 at Wed 01 Jul, 12:59:50.")
    expect(rows.nth(1).locator(".quiet")).to_have_text("1 value, lowest 7, highest 7, newest 7 at Wed 01 Jul, 12:05:00.")
    expect(page.locator("#shown")).to_have_text("01 Jul 2026, 12:00:00 to 01 Jul 2026, 13:00:00 America/New_York.")
    box = page.locator("#chart .u-over").bounding_box()
    assert box is not None
    left = page.evaluate("(at) => sundial.chart.plot.valToPos(at, 'x')", NOON.timestamp() + 600)
    page.mouse.move(box["x"] + left, box["y"] + 50)
    expect(rows.nth(0).locator(".value")).to_have_text("104")
    expect(rows.nth(1).locator(".value")).to_have_text("–")
    expect(page.locator("#at")).to_have_text("Wed 01 Jul, 12:10:00 · 16:10:00 UTC")


@pytest.mark.full
def test_dragging_and_keys_choose_another_part_of_time(page, explored):
    page.goto(f"{explored.url}?{HOUR}&{line(explored.feed, 'a')}")
    drawn(page, 1)
    page.locator("#chart").focus()
    page.keyboard.press("+")
    until("the middle half is drawn", lambda: min(values(page, 1)) == 900 and max(values(page, 1)) == 2700)
    assert dict(query(page))["from"] == "2026-07-01T16:15:00.000Z"
    box = page.locator("#chart .u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 50, steps=5)
    page.mouse.up()
    until("the later half is drawn", lambda: abs(min(values(page, 1)) - 1800) <= 10 and abs(max(values(page, 1)) - 2700) <= 10)
    page.locator("#to-now").click()
    assert ("minutes", "60") in query(page)
    expect(page.locator("#shown")).to_have_text("The last 1 hour, until now. Times of America/New_York.")
    expect(page.locator("#chart-empty")).to_have_text("No line has a value in this window.")


def test_the_browsers_way_back_undoes_a_zoom_and_brings_a_line_back(page, explored):
    page.goto(f"{explored.url}?{HOUR}&{line(explored.feed, 'a')}&{line(explored.feed, 'b')}")
    drawn(page, 2)
    page.locator("#chart").press("+")
    until("the middle half is drawn", lambda: min(values(page, 1)) == 900 and max(values(page, 1)) == 2700)
    page.get_by_role("button", name=f"Remove {explored.feed} · b · value").click()
    drawn(page, 1)
    page.go_back()
    drawn(page, 2)
    assert min(values(page, 1)) == 900
    page.go_back()
    until("the hour is drawn", lambda: len(values(page, 1)) == 360)
    assert dict(query(page))["from"] == f"{NOON:%Y-%m-%dT%H:%M:%SZ}"
    expect(page.locator("#shown")).to_contain_text("12:00:00 to 01 Jul 2026, 13:00:00")
    page.go_forward()
    until("the middle half is drawn again", lambda: min(values(page, 1)) == 900)


@pytest.mark.full
def test_the_longest_part_of_time_is_drawn(page, explored):
    page.goto(f"{explored.url}?from=2026-06-01T00:00:00Z&to=2026-07-16T00:00:00Z&{line(explored.feed, 'a')}")
    drawn(page, 1)
    means = [*values(page, 1).values()]
    assert len(means) in (2, 3), "buckets of nearly an hour"
    assert means == pytest.approx([103] * len(means), abs=0.2)


def test_live_readings_come_at_once_of_the_lines_services_only(page, explored):
    well(page, explored.state)
    read(explored.state, explored.feed, ["a", "b"])
    page.goto(f"{explored.url}?minutes=15&{line(explored.feed, 'a')}")
    drawn(page, 1)
    expect(page.locator("#connection")).to_have_text("Live")
    page.route("**/series?*", lambda route: route.abort())  # only an event can bring it
    for service, value in (("b", 555), ("a", 777)):
        explored.state.events.publish([Event(SCORED, explored.feed, service, reading(ago(0), value))])
    until("the reading is drawn", lambda: page.evaluate("sundial.chart.data[1].includes(777)"))
    assert 555 not in columns(page)[1]
    expect(page.locator("#lines .value")).to_have_text("777")
    assert "newest 777 at" in page.locator("#lines .quiet").inner_text()
    page.unroute_all(behavior="ignoreErrors")


@pytest.mark.full
def test_a_service_that_is_gone_is_named_and_the_others_are_drawn(page, explored):
    page.goto(f"{explored.url}?{HOUR}&{line(explored.feed, 'gone')}&{line(explored.feed, 'a')}")
    expect(page.locator("#lines > li").nth(0)).to_contain_text("It is not loaded.")
    expect(page.locator("#lines > li").nth(0)).to_contain_text("knows no service 'gone'")
    until("the other is drawn", lambda: len(values(page, 2)) == 360)
    assert values(page, 1) == {}
    page.get_by_role("button", name=f"Remove {explored.feed} · gone · value").click()
    expect(page.locator("#problem")).not_to_contain_text("gone")
    drawn(page, 1)


def test_what_can_not_be_loaded_is_said_and_loaded_again(page, explored, monkeypatch):
    well(page, explored.state)
    readings_come(explored.state, monkeypatch)
    page.route("**/series?*", lambda route: route.abort())
    page.goto(f"{explored.url}?{HOUR}&{line(explored.feed, 'a')}")
    expect(page.locator("#chart-empty")).to_have_text("No line could be loaded.")
    expect(page.locator("#connection")).to_have_text("Serving does not answer")
    expect(page.locator("#lines .doubt")).to_contain_text("Trying again")
    page.unroute("**/series?*")
    until("it is drawn", lambda: page.evaluate("sundial.chart.data.length") == 2)
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#connection")).to_have_text("Live")
    page.unroute_all(behavior="ignoreErrors")


@pytest.mark.full
def test_an_empty_window_says_so_and_leads_to_the_newest_readings(page, explored):
    last = ms(NOON + 59 * MINUTE)
    explored.state.memory.put_reading(explored.feed, "a", Reading(last, 103, 100.0, 2.0, 103.0, False, 1))
    page.goto(f"{explored.url}?minutes=15&{line(explored.feed, 'a')}")
    expect(page.locator("#chart-empty")).to_have_text("No line has a value in this window.")
    page.get_by_role("button", name="Show the newest readings, of 01 Jul 2026, 12:59:50").click()  # of history
    until("they are drawn", lambda: page.evaluate("sundial.chart.data.length") == 2)
    assert values(page, 1)[59 * 60.0] == 103
    expect(page.locator("#chart-empty")).to_be_hidden()


@pytest.mark.full
def test_what_the_url_can_not_mean_is_left_out(page, explored):
    several = "&".join(line(explored.feed, f"s{number}") for number in range(9))
    odd = "&".join([line(explored.feed, "a", "<img>"), line(explored.feed, ""), "query=q&key=k&column=P50", "service=a"])
    page.goto(f"{explored.url}?minutes=7&axis=right&{odd}&{line(explored.feed, 's0')}&{several}")
    expect(page.locator("#lines > li")).to_have_count(8)
    expect(page.locator("#window")).to_have_value("60")
    expect(page.get_by_role("button", name="Add line")).to_be_disabled()
    expect(page.locator("#add-note")).to_have_text("A chart has at most 8 lines. Remove one to add another.")
    assert [value for key, value in query(page) if key == "service"] == [f"s{number}" for number in range(8)]


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, id=name, marks=() if name in IN_EACH_RUN else pytest.mark.full) for name, text in hostile.TEXTS.items()],
)
def test_a_name_is_text(page, explored, text):
    page.set_viewport_size({"width": 360, "height": 740})
    now = round(dt.datetime.now(dt.UTC).timestamp() * 1000)
    explored.state.memory.put_reading(explored.feed, text, Reading(now, 90, 45.0, 1.0, 200.0, True, 1))
    page.goto(explored.url)
    add(page, f"readings of {explored.feed}", text, "value")
    until("it is drawn", lambda: page.evaluate("sundial.chart.data.length") == 2)
    expect(page.locator("#lines .name")).to_contain_text(" ".join(text.split()), use_inner_text=False)
    assert page.title() == "Explore · Sundial"
    assert page.locator("main img, main script, main b, main iframe, main [onmouseover]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.reload()
    until("it is drawn again", lambda: page.evaluate("sundial.chart?.data.length") == 2)
