"""What a candidate changes, as the page of baselines draws it: from the gate's result to the picture and the chart."""

import datetime as dt
import html

import pytest
from deltalake import DeltaTable
from playwright.sync_api import expect

from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.baselines import WIDTHS, course, fits, rows

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
JUDGED = dt.datetime(2026, 11, 23, 8, tzinfo=dt.UTC)
SHOW = "What candidate v1 changes"
QUERY = "location.search"


@pytest.fixture
def refused(lake, feed, three):
    """Candidate v1, which the gate compared with v1 and refused; v2 is in force. It expects more of one service, and of another
    what v1 expects; it has found one that has a name of markup."""
    world.build(lake, feed, scales={"up": 1.0})
    candidate = world.build(lake, feed, scales={"up": 25.0, "far": 20.0, f"{NASTY} 2": 4.0})
    sample = [
        {"MovedShare": 0.9, "ServiceName": "up", "DayType": 3},
        {"MovedShare": 0.8, "ServiceName": html.escape(f"{NASTY} 2"), "DayType": 7},
    ]
    failed = world.expectation(success=False, sample=sample)
    world.gate_result(lake, feed, "night-10", False, [failed], JUDGED, candidate, compared_with=1)
    world.gate_result(lake, feed, "night-9", True, [world.expectation()], JUDGED - dt.timedelta(days=1), 0, compared_with=0)


@WIDTHS
def test_a_refused_result_leads_to_the_picture_and_back(page, baselines, refused, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(baselines.of(**{"from": 0, "to": 2}))
    expect(page.locator("#changes-title")).to_have_text("From v0 to v2")
    results = page.locator("#gate > li")
    expect(results.locator(".quiet").nth(0)).to_contain_text("night-10 · compared with v1")
    expect(page.get_by_role("button", name="What candidate")).to_have_count(1)  # of the refused one
    page.get_by_role("button", name=SHOW).click()
    expect(page.locator("#changes-title")).to_have_text("From v1 to candidate v1")
    expect(page.locator("#changes-title")).to_be_in_viewport()
    expect(page.locator("#changes-rows tr")).to_have_count(5)
    assert rows(page) == {
        NASTY: ["gone"] * 7,
        f"{NASTY} 2": ["new"] * 7,
        "down": ["gone"] * 7,
        "same": ["gone"] * 7,
        "up": ["+100 %"] * 7,
    }
    expect(page.locator("#changes-words")).to_have_text(
        "Candidate v1 expects more of 1 service, up to +100 %; 1 service is new; 3 services are gone."
    )
    assert page.evaluate(QUERY) == f"?{baselines.query}&from=1&candidate=1"
    expect(page.get_by_label("After").locator("option:checked")).to_have_text("candidate v1")
    expect(page.locator("#gate > li[aria-current]")).to_contain_text("night-10")
    expect(page.locator("#history > li.selected")).to_have_count(1)  # v1, before
    fits(page, width)
    page.go_back()
    expect(page.locator("#changes-title")).to_have_text("From v0 to v2")
    expect(page.locator("#gate > li[aria-current]")).to_have_count(0)
    page.go_forward()
    expect(page.locator("#changes-title")).to_have_text("From v1 to candidate v1")
    page.get_by_label("After").select_option("v0")
    expect(page.locator("#changes-title")).to_have_text("From v1 to v0")
    expect(page.get_by_label("After").locator("option")).to_have_text(["v2", "v1", "v0"])
    assert page.evaluate(QUERY) == f"?{baselines.query}&from=1&to=0"


@WIDTHS
@pytest.mark.full
def test_a_row_at_fault_leads_to_what_the_candidate_expects_there(page, baselines, refused, feed, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(baselines.of())
    at_fault = page.locator("#gate .samples button")
    at_fault.first.click()
    expect(page.locator("#course-title")).to_have_text("up, Wednesday")
    expect(page.locator("#name-before")).to_have_text("v1")
    expect(page.locator("#name-after")).to_have_text("candidate v1")
    assert page.evaluate(QUERY) == f"?{baselines.query}&from=1&candidate=1&service=up&day=3"
    seconds, before, after, low, high = course(page)
    noon = feed.slots // 2
    assert len(seconds) == feed.slots
    assert (before[noon], after[noon]) == pytest.approx(
        (world.shape(noon, feed.slots, 12.5), world.shape(noon, feed.slots, 25.0))
    )
    assert (low[noon], high[noon]) == pytest.approx((after[noon] - 0.5, after[noon] + 0.5)), "the candidate is the newer"
    expect(page.locator("#changes-rows button[aria-current]")).to_have_text("+100 %")
    at_fault.last.click()
    expect(page.locator("#course-title")).to_have_text(f"{NASTY} 2, Sunday")
    expect(page.locator("#course-empty")).to_have_text("v1 knows nothing of this service on such a day.")
    assert course(page)[2][noon] == pytest.approx(world.shape(noon, feed.slots, 4.0))
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
    fits(page, width)
    page.go_back()
    expect(page.locator("#course-title")).to_have_text("up, Wednesday")
    page.reload()
    expect(page.locator("#name-after")).to_have_text("candidate v1")
    assert course(page)[2][noon] == pytest.approx(world.shape(noon, feed.slots, 25.0))


@pytest.mark.full
def test_an_address_that_names_a_candidate_is_completed_by_what_it_was_compared_with(page, baselines, refused, lake, feed):
    page.goto(baselines.of(candidate=1))
    expect(page.locator("#changes-title")).to_have_text("From v1 to candidate v1")
    page.get_by_label("Before").select_option("v2")
    expect(page.locator("#changes-title")).to_have_text("From v2 to candidate v1")
    assert page.evaluate(QUERY) == f"?{baselines.query}&from=2&candidate=1"
    page.get_by_role("button", name="What v1 changed").click()
    expect(page.locator("#changes-title")).to_have_text("From v0 to v1")
    candidate = world.build(lake, feed, scales={"up": 10.0})
    page.goto(baselines.of(candidate=candidate))
    expect(page.locator("#changes-title")).to_have_text(f"From v2 to candidate v{candidate}")  # not judged: what is in force


@pytest.mark.full
def test_a_candidate_that_is_not_kept_or_never_was_is_said_to_be(page, baselines, refused, lake, feed):
    table = DeltaTable(str(lake / "baseline_candidate" / feed.table))
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    page.goto(baselines.of(candidate=0, service="up", day=1))
    for place in ("#changes-empty", "#course-empty"):
        expect(page.locator(place)).to_contain_text("The files of candidate 0")
    page.goto(baselines.of(candidate=9))
    expect(page.locator("#changes-empty")).to_contain_text(f"Feed {feed.name} has no candidate 9.")
    expect(page.locator("#problem")).to_be_hidden()


@pytest.mark.full
def test_a_candidate_before_the_first_version_shows_what_it_expects(page, baselines, lake, feed):
    candidate = world.build(lake, feed, scales={"a": 10.0})
    failed = world.expectation(success=False)
    world.gate_result(lake, feed, "night-1", False, [failed], JUDGED, candidate, compared_with=-1)
    page.goto(baselines.of())
    page.locator("#gate .samples button").click()
    expect(page.locator("#changes-empty")).to_have_text("Candidate v0 is the first: no version was in force before it.")
    expect(page.locator("#name-after")).to_have_text("candidate v0")
    assert course(page)[2][9] == pytest.approx(world.shape(9, feed.slots, 10.0))
