"""axe-core on each page and dialog: what it calls serious keeps somebody from using the page."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.serving import world
from tests.serving.conftest import CHROMIUM
from tests.serving.static.conftest import HOUR, MINUTE, NOON, drawn
from tests.serving.static.test_fleet import ago, read, reading, well

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
LOOKS = pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 360)])


def serious(page: Page) -> list[str]:
    violations = Axe().run(page).response["violations"]
    grave = [each for each in violations if each["impact"] in ("serious", "critical")]
    return [f"{each['id']} at {node['target']}: {node['failureSummary']}" for each in grave for node in each["nodes"]]


def looked_at(page: Page, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})


@LOOKS
def test_the_page_of_a_service(page, past, lake, feed, scheme, width):
    looked_at(page, scheme, width)
    world.promote(lake, feed, {"a": 100.0}, candidate_version=9, gate=False, by="omar", reason="a known move", as_of="2026-11-21")
    past.incident("a", NOON + 20 * MINUTE, NOON + 30 * MINUTE, level_shift=True)
    past.incident("b", NOON + 40 * MINUTE, None)
    world.say(lake, feed, 1, "exclude", NOON + 50 * MINUTE)
    page.goto(f"{past.url}&service=a&compare=2026-06-01&{HOUR}")
    drawn(page)
    expect(page.locator("#incidents li")).to_have_count(2)
    page.locator("#excluded-bars button").focus()
    expect(page.locator("#excluded-said")).to_contain_text("excluded by mara")
    assert serious(page) == []
    page.locator("#to-dates").click()
    expect(page.locator("#dates")).to_be_visible()
    assert serious(page) == []


@LOOKS
def test_the_page_of_all_services(page, past, feed, scheme, width):
    looked_at(page, scheme, width)
    well(page, past.state)
    read(past.state, feed.name, ["a", "b", "c"])
    past.state.memory.put_reading(feed.name, "b", reading(ago(1), 200, anomalous=True))
    past.incident("b", NOON, None)
    page.goto(past.url.partition("?")[0])
    expect(page.locator("#services li")).to_have_count(3)
    expect(page.locator("header .login")).to_be_visible()
    assert serious(page) == []
    page.unroute_all(behavior="ignoreErrors")


@LOOKS
def test_the_page_of_all_incidents(page, past, scheme, width):
    looked_at(page, scheme, width)
    well(page, past.state)
    past.incident("a", NOON, None)
    past.incident("b", NOON, NOON + 20 * MINUTE, level_shift=True)
    page.goto(past.url.replace("/?", "/incidents?") + "&" + HOUR)
    expect(page.locator("#incidents > li")).to_have_count(2)
    page.locator(".bar").last.focus()
    expect(page.locator("#pointed > li")).to_have_count(1)
    expect(page.locator("header .login")).to_be_visible()
    assert serious(page) == []
    page.unroute_all(behavior="ignoreErrors")


@LOOKS
def test_the_page_of_baselines(page, baselines, lake, feed, scheme, width):
    looked_at(page, scheme, width)
    world.promote(lake, feed, {"a": 100.0, "b": 80.0, "c": 1.0, "d": 10.0, "gone": 1.0}, days=range(1, 7))
    world.promote(
        lake, feed, {"a": 103.0, "b": 60.0, "c": 1.1, "d": 40.0, "new": 1.0}, gate=False, by="omar", reason="a known move"
    )
    candidate = world.build(lake, feed, scales={"a": 150.0, "b": 60.0, "c": 1.1})
    world.gate_result(lake, feed, "night-2", False, [world.expectation(success=False)], NOON, candidate)
    page.goto(baselines.of(service="a", day=1))
    expect(page.locator("#changes-rows tr")).to_have_count(6)
    expect(page.locator("#key")).to_be_visible()
    expect(page.locator("#gate table")).to_be_visible()
    assert serious(page) == []
    page.get_by_role("button", name="What candidate v0 changes").click()
    expect(page.locator("#name-after")).to_have_text("candidate v0")
    expect(page.locator("#changes-rows tr")).to_have_count(3)
    assert serious(page) == []


@LOOKS
def test_the_page_of_ones_own_chart(page, past, feed, scheme, width):
    looked_at(page, scheme, width)
    line = f"feed={feed.name}&service=a&column="
    lines = f"{line}value&{line}low..high&axis=right&feed=gone&service=b&column=value"
    page.goto(past.url.replace("/?", "/explore?") + f"&{HOUR}&{lines}")
    expect(page.locator("#lines > li")).to_have_count(3)
    expect(page.locator("#lines .quiet").first).to_contain_text("values, lowest 100")
    expect(page.locator("#lines .doubt").last).to_contain_text("No feed 'gone' is declared.")
    expect(page.locator("header .login")).to_be_visible()
    expect(page.get_by_role("button", name="Add line")).to_be_enabled()
    assert serious(page) == []


@LOOKS
def test_the_page_to_log_in(page, past, scheme, width):
    looked_at(page, scheme, width)
    page.goto(past.url.replace("/?", "/login?"))
    expect(page.locator("form")).to_be_visible()
    assert serious(page) == []
