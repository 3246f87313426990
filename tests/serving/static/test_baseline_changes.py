"""What differs between two versions of a baseline, as the page draws it: the picture of all services, and the chart of one."""

import pytest
from playwright.sync_api import expect

from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.baselines import WIDTHS, course, fits, rows

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@WIDTHS
def test_the_picture_has_what_the_tables_were_written_with(page, baselines, three, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(baselines.of())
    page.get_by_role("button", name="What v1 changed").click()
    expect(page.locator("#changes-title")).to_have_text("From v0 to v1")
    expect(page.locator("#changes-rows tr")).to_have_count(5)
    found = rows(page)
    assert found == {
        NASTY: ["new"] * 7,
        "lost": ["gone"] * 7,
        "far": ["+100 %"] * 7,
        "up": ["+25 %"] * 7,
        "down": ["−10 %"] * 7,
    }
    assert list(found) == [NASTY, "lost", "far", "up", "down"], "the largest change comes first"
    expect(page.locator("#changes-words")).to_have_text(
        "v1 expects more of 2 services, up to +100 %, less of 1 service, down to −10 %; 1 service is new; 1 service is gone."
    )
    colours = [
        page.locator("#changes-rows tr", has_text=name)
        .locator("td")
        .first.evaluate("(cell) => getComputedStyle(cell).backgroundColor")
        for name in ("far", "up", "down")
    ]
    assert len(set(colours)) == 3, "a change of another size or direction has another colour"
    fits(page, width)
    page.get_by_label("Service", exact=True).fill("O")
    expect(page.locator("#changes-rows th")).to_have_text([NASTY, "lost", "down"])
    page.get_by_label("Service", exact=True).fill("zz")
    expect(page.locator("#changes-none")).to_have_text("No service that changed has this in its name.")
    expect(page.locator("#changes-rows tr")).to_have_count(0)


def test_a_day_type_of_which_nothing_changed_is_told_from_the_others(page, baselines, lake, feed):
    world.promote(lake, feed, {"a": 10.0, "b": 10.0}, days=[1, 2])
    world.promote(lake, feed, {"a": 10.0, "b": 10.0}, days=[1, 2, 3])
    page.goto(baselines.of())
    expect(page.locator("#changes-words")).to_have_text("2 services are new on some days.")
    assert rows(page) == {name: ["=", "=", "new", "=", "=", "=", "="] for name in ("a", "b")}
    expect(page.locator("#changes-rows td.same")).to_have_count(12)
    world.promote(lake, feed, {"a": 10.0, "b": 10.0}, days=[1, 2, 3])
    page.goto(baselines.of())
    expect(page.locator("#changes-title")).to_have_text("From v1 to v2")
    expect(page.locator("#changes-words")).to_have_text("v2 expects the same as v1 of 2 services.")
    expect(page.locator("#changes")).to_be_hidden()


@WIDTHS
def test_a_cell_draws_both_versions_by_time_of_day(page, baselines, three, feed, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(baselines.of(**{"from": 0, "to": 1}))
    cell = page.locator("#changes-rows tr", has_text="up").locator("button").nth(2)
    cell.click()
    expect(page.locator("#course-title")).to_have_text("up, Wednesday")
    expect(cell).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(baselines.of(**{"from": 0, "to": 1, "service": "up", "day": 3}))
    seconds, before, after, low, high = course(page)
    noon = feed.slots // 2
    assert (len(seconds), seconds[1], seconds[-1]) == (feed.slots, 10, 86390)
    for slot in (0, noon, feed.slots - 1):
        wanted = world.shape(slot, feed.slots, 10.0), world.shape(slot, feed.slots, 12.5)
        assert (before[slot], after[slot]) == pytest.approx(wanted)
        assert (low[slot], high[slot]) == pytest.approx((max(0, wanted[1] - 0.25), wanted[1] + 0.25))
    assert page.locator("#at").inner_text() == "Largest change: 14:24:00"
    assert page.locator("#at-before").inner_text() == "22"
    assert page.locator("#at-after").inner_text() == "27.5"
    assert page.locator("#at-change").inner_text() == "+5.5 (+25 %)"
    page.locator("#chart").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#at")).to_have_text("14:38:20")
    page.keyboard.press("Escape")
    expect(page.locator("#at")).to_have_text("Largest change: 14:24:00")
    fits(page, width)
    page.locator("#day").select_option("Sunday")
    expect(page.locator("#course-title")).to_have_text("up, Sunday")
    page.go_back()
    expect(page.locator("#course-title")).to_have_text("up, Wednesday")
    page.reload()
    expect(page.locator("#course-title")).to_have_text("up, Wednesday")
    assert course(page)[1][noon] == pytest.approx(world.shape(noon, feed.slots, 10.0))


def test_the_band_is_that_of_the_newer_version_whichever_comes_first(page, baselines, three, feed):
    page.goto(baselines.of(**{"from": 1, "to": 0, "service": "up", "day": 1}))
    _, before, after, _, high = course(page)
    assert (before[9], after[9]) == pytest.approx((world.shape(9, feed.slots, 12.5), world.shape(9, feed.slots, 10.0)))
    assert high[9] == pytest.approx(before[9] + 0.25)
    page.goto(baselines.of(**{"from": 0, "to": 1, "service": "lost", "day": 1}))
    expect(page.locator("#course-empty")).to_have_text("v1 knows nothing of this service on such a day.")
    assert course(page)[2][9] is None
    page.goto(baselines.of(**{"from": 0, "to": 1, "service": "nobody", "day": 1}))
    expect(page.locator("#course-empty")).to_contain_text("nobody")
    expect(page.locator("#key")).to_be_hidden()


def test_the_keys_reach_each_cell(page, baselines, three):
    page.goto(baselines.of(**{"from": 0, "to": 1}))
    expect(page.locator("#changes-rows tr")).to_have_count(5)
    page.locator("#find").focus()
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#course-title")).to_have_text("far, Tuesday")
    page.keyboard.press("Tab")
    expect(page.locator("#day")).to_be_focused()


@pytest.mark.full
def test_many_services_are_shown_part_by_part(page, baselines, lake, feed):
    names = [f"s{number:03d}" for number in range(60)]
    world.promote(lake, feed, dict.fromkeys(names, 10.0), days=[1])
    world.promote(lake, feed, {name: 11.0 + place for place, name in enumerate(names)}, days=[1])
    page.goto(baselines.of())
    found = page.locator("#changes-rows tr")
    expect(found).to_have_count(50)
    expect(found.first.locator("th")).to_have_text("s059")
    page.get_by_role("button", name="Show more of 60 services").click()
    expect(found).to_have_count(60)
    expect(page.locator("#changes-more")).to_be_hidden()
