"""The page of a feed's baselines in a real browser: versions, what differs between two, what the gate found."""

import datetime as dt
from typing import NamedTuple

import pytest
from deltalake import DeltaTable
from playwright.sync_api import Page, expect

from serving import lake as lake_module
from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY, served
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
JUDGED = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
MOVED = {"notes": "The idea of normal does not jump overnight.", "observed": "14 rows at fault"}
WIDTHS = pytest.mark.parametrize("width", [1300, pytest.param(360, marks=pytest.mark.full)])


class Site(NamedTuple):
    url: str
    query: str  # of the feed

    def of(self, **choice) -> str:
        return "&".join([f"{self.url}?{self.query}", *(f"{name}={value}" for name, value in choice.items())])


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)


@pytest.fixture
def site(offline, feed):
    with served(offline) as (url, _):
        yield Site(f"{url}/baselines", f"feed={feed.name}")


@pytest.fixture
def three(lake, feed):
    """v0; v1, which expects more of two services, less of one, has lost one and found one; v2 is v0 again."""
    before = {"up": 10.0, "far": 10.0, "down": 10.0, "same": 10.0, "lost": 10.0}
    after = {"up": 12.5, "far": 20.0, "down": 9.0, "same": 10.0, NASTY: 10.0}
    world.promote(lake, feed, before, candidate_version=8, at="2026-11-19T08:00:00+00:00", run_id="night-8")
    approved = {"gate": False, "by": "omar", "reason": "a known move", "as_of": "2026-11-21"}
    world.promote(lake, feed, after, candidate_version=9, at="2026-11-21T08:00:00+00:00", run_id="night-9", **approved)
    world.roll_back(lake, feed, 0, reason="the move was undone", at="2026-11-22T08:00:00+00:00")


def rows(page: Page) -> dict[str, list[str]]:
    """The figures of the picture by service."""
    read = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    return {name: cells for name, *cells in page.locator("#changes-rows tr").evaluate_all(read)}


def course(page: Page) -> list[list]:
    """What the chart of the chosen service and day type has drawn."""
    until("the chart is drawn", lambda: page.evaluate("globalThis.sundial?.chart.data.length ?? 0") == 5)
    return page.evaluate("sundial.chart.data.map((column) => Array.from(column))")


def fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == width, "nothing is pushed off the page"


@WIDTHS
def test_each_version_says_who_put_it_in_force_when_and_why(page, site, three, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(site.of())
    versions = page.locator("#history > li")
    expect(versions).to_have_count(3)
    assert versions.locator(".how").all_inner_texts() == [
        "Rolled back to v0 by mara: the move was undone",
        "Approved by omar although the gate refused: a known move",
        "Promoted by nightly_baseline: passed the gate",
    ]
    assert versions.locator("time").all_inner_texts() == [
        "22 Nov 2026, 03:00:00", "21 Nov 2026, 03:00:00", "19 Nov 2026, 03:00:00"
    ]  # fmt: skip
    assert versions.locator(".quiet").all_inner_texts() == [
        "candidate v8 · as of 2026-11-20 · run rollback-1 · compared, after",
        "candidate v9 · as of 2026-11-21 · run night-9 · compared, before",
        "candidate v8 · as of 2026-11-20 · run night-8",
    ]
    assert versions.locator(".pill").all_inner_texts() == ["in force", "gate passed", "gate refused", "gate passed"]
    expect(page.locator("#history-note")).to_have_text("Times are those of America/New_York.")
    expect(page.locator("#connection")).to_have_text("Up to date")
    expect(page.get_by_role("link", name="Baselines")).to_have_attribute("aria-current", "page")
    fits(page, width)


@WIDTHS
def test_the_picture_has_what_the_tables_were_written_with(page, site, three, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(site.of())
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


def test_at_first_the_one_in_force_is_compared_with_the_one_before(page, site, three):
    page.goto(site.of())
    expect(page.locator("#changes-title")).to_have_text("From v1 to v2")
    expect(page.locator("#changes-words")).to_have_text(
        "v2 expects more of 1 service, up to +11.1 %, less of 2 services, down to −50 %; 1 service is new; 1 service is gone; "
        "1 service is as before."
    )
    expect(page).to_have_url(site.of() + "&from=1&to=2")


def test_a_day_type_of_which_nothing_changed_is_told_from_the_others(page, site, lake, feed):
    world.promote(lake, feed, {"a": 10.0, "b": 10.0}, days=[1, 2])
    world.promote(lake, feed, {"a": 10.0, "b": 10.0}, days=[1, 2, 3])
    page.goto(site.of())
    expect(page.locator("#changes-words")).to_have_text("2 services are new on some days.")
    assert rows(page) == {name: ["=", "=", "new", "=", "=", "=", "="] for name in ("a", "b")}
    expect(page.locator("#changes-rows td.same")).to_have_count(12)
    world.promote(lake, feed, {"a": 10.0, "b": 10.0}, days=[1, 2, 3])
    page.goto(site.of())
    expect(page.locator("#changes-title")).to_have_text("From v1 to v2")
    expect(page.locator("#changes-words")).to_have_text("v2 expects the same as v1 of 2 services.")
    expect(page.locator("#changes")).to_be_hidden()


@WIDTHS
def test_a_cell_draws_both_versions_by_time_of_day(page, site, three, feed, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(site.of(**{"from": 0, "to": 1}))
    cell = page.locator("#changes-rows tr", has_text="up").locator("button").nth(2)
    cell.click()
    expect(page.locator("#course-title")).to_have_text("up, Wednesday")
    expect(cell).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(site.of(**{"from": 0, "to": 1, "service": "up", "day": 3}))
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


def test_the_band_is_that_of_the_newer_version_whichever_comes_first(page, site, three, feed):
    page.goto(site.of(**{"from": 1, "to": 0, "service": "up", "day": 1}))
    _, before, after, _, high = course(page)
    assert (before[9], after[9]) == pytest.approx((world.shape(9, feed.slots, 12.5), world.shape(9, feed.slots, 10.0)))
    assert high[9] == pytest.approx(before[9] + 0.25)
    page.goto(site.of(**{"from": 0, "to": 1, "service": "lost", "day": 1}))
    expect(page.locator("#course-empty")).to_have_text("v1 knows nothing of this service on such a day.")
    assert course(page)[2][9] is None
    page.goto(site.of(**{"from": 0, "to": 1, "service": "nobody", "day": 1}))
    expect(page.locator("#course-empty")).to_contain_text("nobody")
    expect(page.locator("#key")).to_be_hidden()


def test_the_keys_reach_each_cell(page, site, three):
    page.goto(site.of(**{"from": 0, "to": 1}))
    expect(page.locator("#changes-rows tr")).to_have_count(5)
    page.locator("#find").focus()
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#course-title")).to_have_text("far, Tuesday")
    page.keyboard.press("Tab")
    expect(page.locator("#day")).to_be_focused()


def test_a_version_that_is_no_longer_kept_is_said_to_be(page, site, lake, feed):
    world.promote(lake, feed, {"a": 10.0})
    world.promote(lake, feed, {"a": 20.0})
    DeltaTable(world.baseline_path(lake, feed)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    page.goto(site.of(service="a", day=1))
    for place in ("#changes-empty", "#course-empty"):
        expect(page.locator(place)).to_contain_text("The files of version 0 of the baseline")
        expect(page.locator(place)).to_contain_text("Ask for a newer version")
    expect(page.locator("#changes")).to_be_hidden()
    expect(page.locator("#problem")).to_be_hidden()
    page.goto(site.of(**{"from": 0, "to": 7}))
    expect(page.locator("#changes-empty")).to_contain_text(f"Feed {feed.name} has no baseline 7.")


@WIDTHS
def test_a_refusal_shows_its_rows_and_leads_to_the_service(page, site, three, lake, feed, width):
    page.set_viewport_size({"width": width, "height": 900})
    sample = [
        {"MovedShare": 0.91234, "ServiceName": "up", "DayType": 3},
        {"MovedShare": None, "ServiceName": "&lt;b&gt;&amp;lt;", "DayType": 7},
    ]
    failed = world.expectation(success=False, sample=sample, **MOVED)
    world.gate_result(lake, feed, "night-9", False, [world.expectation(), failed], JUDGED)
    page.goto(site.of())
    refused = page.locator("#gate > li")
    expect(refused.locator(".pill")).to_have_text("refused")
    expect(refused.locator(".trouble")).to_have_text(f"Failed: {MOVED['notes']} Observed: 14 rows at fault")
    expect(refused.locator("table th")).to_have_text(["Service", "Day type", "MovedShare"])
    cells = refused.locator("tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert cells == [["up", "Wednesday", "0.912"], ["<b>&lt;", "Sunday", "none"]]
    fits(page, width)
    refused.get_by_role("button", name="up").click()
    expect(page.locator("#course-title")).to_have_text("up, Wednesday")
    assert page.evaluate("document.querySelectorAll('main b').length") == 0


def test_older_versions_and_results_are_shown_when_asked_for(page, site, lake, feed):
    for number in range(22):
        world.promote(lake, feed, {"a": 10.0 + number}, days=[1], candidate_version=number)
    for number in range(12):
        world.gate_result(lake, feed, f"night-{number}", True, [world.expectation()], JUDGED + dt.timedelta(days=number))
    page.goto(site.of())
    versions, results = page.locator("#history > li"), page.locator("#gate > li")
    expect(versions).to_have_count(20)
    expect(results).to_have_count(10)
    page.get_by_role("button", name="Show more versions").click()
    page.get_by_role("button", name="Show more gate results").click()
    expect(versions).to_have_count(22)
    expect(results).to_have_count(12)
    for name in ("Show more versions", "Show more gate results"):
        expect(page.get_by_role("button", name=name)).to_be_hidden()
    page.get_by_label("Before").select_option("v0")
    expect(page.locator("#changes-words")).to_have_text("v21 expects more of 1 service, up to +210 %.")
    assert rows(page) == {"a": ["+210 %", *["="] * 6]}


def test_a_long_difference_is_read_page_by_page(page, site, three, feed):
    page.goto(site.of())
    script = "(path) => import('/static/loads.js').then(({ getAll }) => getAll(path))"
    whole, parts = (
        page.evaluate(script, f"/api/feeds/{feed.name}/baseline/diff?from=0&to=1&limit={limit}") for limit in (1000, 4)
    )
    assert (parts, len(parts)) == (whole, 5 * 7)


def test_the_page_of_a_service_leads_here(page, site, lake, feed):
    for number in range(5):
        world.promote(lake, feed, {"a": 10.0 + number}, days=[1])
        world.gate_result(lake, feed, f"night-{number}", True, [world.expectation()], JUDGED + dt.timedelta(days=number))
    page.goto(site.of().replace("/baselines?", "/?"))
    expect(page.locator("#history > li")).to_have_count(3)
    expect(page.locator("#gate > li")).to_have_count(3)
    expect(page.get_by_role("link", name="All gate results")).to_have_attribute("href", f"/baselines?{site.query}")
    page.get_by_role("link", name="All versions").click()
    expect(page.locator("#history > li")).to_have_count(5)
    expect(page.locator("#gate > li")).to_have_count(5)


@pytest.mark.full
def test_many_services_are_shown_part_by_part(page, site, lake, feed):
    names = [f"s{number:03d}" for number in range(60)]
    world.promote(lake, feed, dict.fromkeys(names, 10.0), days=[1])
    world.promote(lake, feed, {name: 11.0 + place for place, name in enumerate(names)}, days=[1])
    page.goto(site.of())
    found = page.locator("#changes-rows tr")
    expect(found).to_have_count(50)
    expect(found.first.locator("th")).to_have_text("s059")
    page.get_by_role("button", name="Show more of 60 services").click()
    expect(found).to_have_count(60)
    expect(page.locator("#changes-more")).to_be_hidden()


def test_a_feed_without_a_baseline_says_what_to_run(page, site, lake, feed):
    page.goto(site.of())
    expect(page.locator("#history")).to_contain_text(f"trigger the DAG nightly_baseline.{feed.name}")
    expect(page.locator("#gate")).to_contain_text(f"trigger the DAG nightly_baseline.{feed.name}")
    expect(page.locator("#changes-empty")).to_have_text("There is no version yet.")
    world.promote(lake, feed, {"a": 10.0})
    expect(page.locator("#changes-empty")).to_have_text("v0 is the first version: none was in force before it.", timeout=15_000)
    world.promote(lake, feed, {"a": 20.0})
    expect(page.locator("#changes-words")).to_have_text("v1 expects more of 1 service, up to +100 %.", timeout=15_000)


def test_what_fails_is_said_and_tried_again(page, site, three):
    broken = {"detail": "The table is damaged.", "remedy": "Restore it.", "status": 500}
    page.route("**/baseline/diff**", lambda route: route.fulfill(status=500, json=broken))
    page.goto(site.of())
    expect(page.locator("#problem")).to_have_text("The table is damaged. Restore it.")
    expect(page.locator("#connection")).to_have_text("Not up to date")
    expect(page.locator("#changes-empty")).to_have_text("Comparing the two versions …")
    page.unroute("**/baseline/diff**")
    expect(page.locator("#changes-rows tr")).to_have_count(5, timeout=15_000)
    expect(page.locator("#problem")).to_be_hidden()
