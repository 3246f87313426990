"""The page of a feed's baselines in a real browser: versions, what the gate found, and what is said when something is missing."""

import datetime as dt

import pytest
from deltalake import DeltaTable
from playwright.sync_api import expect

from contracts.public_holidays import Holidays
from tests.serving import world
from tests.serving.conftest import CHROMIUM, declare
from tests.serving.static.baselines import WIDTHS, fits, rows

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
JUDGED = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
MOVED = {"notes": "The idea of normal does not jump overnight.", "observed": "14 rows at fault"}


@WIDTHS
def test_each_version_says_who_put_it_in_force_when_and_why(page, baselines, three, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(baselines.of())
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


def test_at_first_the_one_in_force_is_compared_with_the_one_before(page, baselines, three):
    page.goto(baselines.of())
    expect(page.locator("#changes-title")).to_have_text("From v1 to v2")
    expect(page.locator("#changes-words")).to_have_text(
        "v2 expects more of 1 service, up to +11.1 %, less of 2 services, down to −50 %; 1 service is new; 1 service is gone; "
        "1 service is as before."
    )
    expect(page).to_have_url(baselines.of() + "&from=1&to=2")


def test_a_table_that_cannot_be_read_is_said_so(page, baselines, three, lake, feed):
    world.archive(lake, feed, {("a", JUDGED): 5})
    (lake / "history" / feed.table / "_delta_log" / "00000000000000000000.json").write_text("{")
    page.goto(baselines.of())
    expect(page.locator("#problem")).to_contain_text(f"Tables of feed {feed.name} can't be read: ")
    expect(page.locator("#history > li")).to_have_count(3)


def test_a_version_that_is_no_longer_kept_is_said_to_be(page, baselines, lake, feed):
    world.promote(lake, feed, {"a": 10.0})
    world.promote(lake, feed, {"a": 20.0})
    DeltaTable(world.baseline_path(lake, feed)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    page.goto(baselines.of(service="a", day=1))
    for place in ("#changes-empty", "#course-empty"):
        expect(page.locator(place)).to_contain_text("The files of version 0 of the baseline")
        expect(page.locator(place)).to_contain_text("Ask for a newer version")
    expect(page.locator("#changes")).to_be_hidden()
    expect(page.locator("#problem")).to_be_hidden()
    page.goto(baselines.of(**{"from": 0, "to": 7}))
    expect(page.locator("#changes-empty")).to_contain_text(f"Feed {feed.name} has no version 7 of the baseline.")


@pytest.fixture
def holidays(declared, feed):
    """The feed has public holidays."""
    declare(declared, feed.model_copy(update={"holidays": Holidays(country="US")}))


@WIDTHS
def test_holidays_and_special_days_say_what_they_are_compared_with_and_why(holidays, page, baselines, lake, feed, width):
    page.set_viewport_size({"width": width, "height": 900})
    why = {"2026-11-11": "<b>Veterans Day</b> was like its weekday", "2026-11-26": "as declared: the 4 others do not agree"}
    kinds = {"2026-11-11": "weekday", "2026-11-26": "sunday", "2026-10-12": "itself"}
    world.promote(lake, feed, {"a": 10.0}, as_of="2026-11-20", special_days=kinds, special_days_why=why)
    page.goto(baselines.of())
    days = page.locator("#days > li")
    expect(days).to_have_count(3)
    assert days.locator(".line").all_inner_texts() == [
        "Thanksgiving Day\nThursday, 2026-11-26", "Veterans Day\nWednesday, 2026-11-11", "Columbus Day\nMonday, 2026-10-12"
    ]  # fmt: skip
    assert days.locator(".how").all_inner_texts() == [
        "Compared with Sundays", "Compared with its weekday", "Like no other day: compared with nothing"
    ]  # fmt: skip
    assert days.locator(".quiet").all_inner_texts() == [why["2026-11-26"], why["2026-11-11"], "by evidence"]
    assert page.evaluate("document.querySelectorAll('main b').length") == 0
    fits(page, width)


@WIDTHS
def test_a_refusal_shows_its_rows_and_leads_to_the_service(page, baselines, three, lake, feed, width):
    page.set_viewport_size({"width": width, "height": 900})
    sample = [
        {"MovedShare": 0.91234, "ServiceName": "up", "DayType": 3},
        {"MovedShare": None, "ServiceName": "&lt;b&gt;&amp;lt;", "DayType": 7},
    ]
    failed = world.expectation(success=False, sample=sample, **MOVED)
    world.gate_result(lake, feed, "night-9", False, [world.expectation(), failed], JUDGED)
    page.goto(baselines.of())
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


def test_older_versions_and_results_are_shown_when_asked_for(page, baselines, lake, feed):
    for number in range(22):
        world.promote(lake, feed, {"a": 10.0 + number}, days=[1], candidate_version=number)
    for number in range(12):
        world.gate_result(lake, feed, f"night-{number}", True, [world.expectation()], JUDGED + dt.timedelta(days=number))
    page.goto(baselines.of())
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


def test_a_long_difference_is_read_page_by_page(page, baselines, three, feed):
    page.goto(baselines.of())
    script = "(path) => import('/static/loads.js').then(({ getAll }) => getAll(path))"
    whole, parts = (
        page.evaluate(script, f"/api/feeds/{feed.name}/baseline/diff?from=0&to=1&limit={limit}") for limit in (1000, 4)
    )
    assert (parts, len(parts)) == (whole, 5 * 7)


def test_the_page_of_a_service_leads_here(page, baselines, lake, feed):
    for number in range(5):
        world.promote(lake, feed, {"a": 10.0 + number}, days=[1])
        world.gate_result(lake, feed, f"night-{number}", True, [world.expectation()], JUDGED + dt.timedelta(days=number))
    page.goto(baselines.of().replace("/baselines?", "/?"))
    expect(page.locator("#history > li")).to_have_count(3)
    expect(page.locator("#gate > li")).to_have_count(3)
    expect(page.get_by_role("link", name="All gate results")).to_have_attribute("href", f"/baselines?{baselines.query}")
    page.get_by_role("link", name="All versions").click()
    expect(page.locator("#history > li")).to_have_count(5)
    expect(page.locator("#gate > li")).to_have_count(5)


def test_a_feed_without_a_baseline_says_what_to_run(page, baselines, lake, feed):
    page.goto(baselines.of())
    expect(page.locator("#history")).to_contain_text(f"trigger the DAG nightly_baseline.{feed.name}")
    expect(page.locator("#gate")).to_contain_text(f"trigger the DAG nightly_baseline.{feed.name}")
    expect(page.locator("#changes-empty")).to_have_text("There is no version yet.")
    expect(page.locator("#days")).to_have_text("There is none in the past months or the next two weeks.")
    world.promote(lake, feed, {"a": 10.0})
    expect(page.locator("#changes-empty")).to_have_text("v0 is the first: no version was in force before it.", timeout=15_000)
    world.promote(lake, feed, {"a": 20.0})
    expect(page.locator("#changes-words")).to_have_text("v1 expects more of 1 service, up to +100 %.", timeout=15_000)


def test_what_fails_is_said_and_tried_again(page, baselines, three):
    broken = {"detail": "The table is damaged.", "remedy": "Restore it.", "status": 500}
    page.route("**/baseline/diff**", lambda route: route.fulfill(status=500, json=broken))
    page.goto(baselines.of())
    expect(page.locator("#problem")).to_have_text("The table is damaged. Restore it.")
    expect(page.locator("#connection")).to_have_text("Not up to date")
    expect(page.locator("#changes-empty")).to_have_text("Comparing the two versions …")
    page.unroute("**/baseline/diff**")
    expect(page.locator("#changes-rows tr")).to_have_count(5, timeout=15_000)
    expect(page.locator("#problem")).to_be_hidden()
