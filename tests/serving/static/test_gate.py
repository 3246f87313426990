"""What the page says of promotions and of the gate, and Great Expectations' own report, in a real browser without network."""

import datetime as dt
import json
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest
from playwright.sync_api import expect

from contracts.declarations import SCHEMAS
from contracts.feeds import load_feed
from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY, served

RUN = "manual__2026-11-21T00:00:00+00:00"
JUDGED = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
HIGHEST = {"notes": "No average is beyond what is plausible.", "observed": "1 rows at fault"}
EXPECTATIONS = len(json.loads((SCHEMAS / "expectations" / "baseline.json").read_text())["expectations"])
MOVED = {"notes": "The idea of normal does not jump overnight.", "observed": "14 rows at fault"}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture
def site(offline, feed, lake):
    with served(offline) as (url, _):
        yield url


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """Data Docs as the gate writes them: a failed expectation, a failed warning, and a service with a name of markup."""
    # costly to import, and only here asked for
    from jobs.backends import expectations

    good = {"Lost": False, "Rows": 1, "Slots": 24, "CoveredShare": 1.0, "Finite": True, "Lowest": 1.0, "LowestSpread": 0.1}
    amiss = {"AgeDays": 1, "MovedShare": 0.9, "HoldoutLoss": 0.0, "NormalLoss": 0.0, "Highest": 5e13}
    rows = [{"ServiceName": name, "DayType": day} | good | amiss for name in ("a", NASTY) for day in range(1, 8)]
    folder = tmp_path_factory.mktemp("docs")
    expectations.validate(pd.DataFrame(rows), load_feed("road-traffic"), str(folder))
    return folder


def test_the_panel_says_who_rolled_back_or_approved_and_why(page, site, feed, lake):
    world.promote(lake, feed, {"a": 100.0}, candidate_version=8, at="2026-11-19T08:00:00+00:00")
    world.promote(lake, feed, {"a": 100.0}, candidate_version=9, gate=False, by="omar", reason="a known move", as_of="2026-11-21")
    world.roll_back(lake, feed, 0, reason="the move was undone")
    page.goto(f"{site}/?feed={feed.name}")
    expect(page.locator("#baseline .version")).to_have_text("v2")
    expect(page.locator("#baseline .how")).to_have_text("Rolled back to v0 by mara: the move was undone")
    expect(page.locator("#baseline .facts")).to_contain_text("rollback-1")
    expect(page.locator("#baseline .facts")).not_to_contain_text("upkeep")
    history = page.locator("#history li")
    assert history.locator(".how").all_inner_texts() == [
        "Rolled back to v0 by mara: the move was undone",
        "Approved by omar although the gate refused: a known move",
        "Promoted by nightly_baseline: passed the gate",
    ]
    assert history.locator(".pill").all_inner_texts() == ["gate passed", "gate refused", "gate passed"]
    assert history.locator(".quiet").all_inner_texts()[1] == "candidate v9 · as of 2026-11-21"


def test_upkeep_and_a_write_by_hand_are_told_apart(page, site, feed, lake):
    world.promote(lake, feed, {"a": 100.0}, candidate_version=8)
    world.promote(lake, feed, {"a": 100.0}, candidate_version=None, gate=None, by=None, reason=None)
    world.keep_up(lake, feed)
    page.goto(f"{site}/?feed={feed.name}")
    expect(page.locator("#baseline .version")).to_have_text("v1")
    expect(page.locator("#baseline .how")).to_have_text(
        "No promotion: somebody wrote the table, and the commit names no candidate"
    )
    expect(page.locator("#baseline .pill")).to_have_text("past the gate")
    expect(page.locator("#baseline .facts")).not_to_contain_text("v5")  # upkeep adds versions and changes no row
    expect(page.locator("#history li")).to_have_count(2)


def test_the_gate_tells_failed_from_warning(page, site, feed, lake):
    warned = [world.expectation(), world.expectation(success=False, severity="warning", **HIGHEST)]
    world.gate_result(lake, feed, "nightly-1", True, [world.expectation()], JUDGED - dt.timedelta(days=2))
    world.gate_result(lake, feed, "nightly-2", True, warned, JUDGED - dt.timedelta(days=1))
    world.gate_result(lake, feed, "nightly-3", False, [*warned, world.expectation(success=False, **MOVED)], JUDGED)
    page.goto(f"{site}/?feed={feed.name}")
    results = page.locator("#gate > li")
    expect(results).to_have_count(3)
    assert results.locator(".pill").all_inner_texts() == ["refused", "passed, 1 warning", "passed"]
    refused = results.nth(0)
    expect(refused.locator(".quiet").nth(0)).to_have_text("21 Nov 2026, 03:00:00 · nightly-3")
    expect(refused.locator(".trouble")).to_have_text(f"Failed: {MOVED['notes']} Observed: 14 rows at fault")
    expect(refused.locator(".doubt")).to_have_text(f"Warning: {HIGHEST['notes']} Observed: 1 rows at fault")
    assert refused.locator("p").all_inner_texts()[1].startswith("Failed"), "what refused it comes first"
    assert page.evaluate("getComputedStyle(document.querySelector('#gate .trouble')).color") != page.evaluate(
        "getComputedStyle(document.querySelector('#gate .doubt')).color"
    )
    refused.locator("summary").click()
    expect(refused.locator("summary")).to_have_text("1 of 3 expectations held")
    assert refused.locator("details li").all_inner_texts() == [
        f"held{HIGHEST['notes']} critical", f"warning{HIGHEST['notes']} warning", f"failed{MOVED['notes']} critical",
    ]  # fmt: skip
    page.evaluate("window.before = document.querySelector('#gate > li')")
    with page.expect_response(lambda answer: "/gate-results" in answer.url, timeout=10_000):
        pass
    page.wait_for_timeout(300)
    expect(refused.locator("details")).to_have_attribute("open", "")
    assert page.evaluate("window.before.isConnected"), "drawn anew only when something changed"


def test_each_result_links_to_its_report(page, site, feed, lake):
    world.gate_result(lake, feed, RUN, True, [world.expectation()], JUDGED)
    world.gate_result(lake, feed, "cleaned-up", True, [world.expectation()], JUDGED - dt.timedelta(days=1))
    world.data_docs(lake, feed, RUN, text="<h1>The report</h1>")
    page.goto(f"{site}/?feed={feed.name}")
    expect(page.locator("#gate > li")).to_have_count(2)
    expect(page.get_by_role("link", name="Data Docs")).to_have_count(1)
    with page.context.expect_page() as opened:
        page.locator("#gate > li").nth(0).get_by_role("link", name="Data Docs").click()
    expect(opened.value.locator("h1")).to_have_text("The report")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_real_report_is_readable_and_nothing_in_it_runs(browser, site, feed, lake, report, scheme):
    folder = lake / "data_docs" / feed.table / RUN
    folder.parent.mkdir(parents=True)
    report.rename(folder)
    context = browser.new_context(viewport={"width": 1300, "height": 1000}, color_scheme=scheme)
    try:
        page, answered = context.new_page(), []
        page.on("response", lambda answer: answered.append(urlsplit(answer.url)))
        page.goto(f"{site}/gate/{feed.name}/{RUN.replace('+', '%2B')}/")
        states = page.locator("i.text-success, i.text-danger")
        shown = [state.evaluate("(icon) => getComputedStyle(icon, '::before').content") for state in states.all()]
        assert (shown.count('"✓ held"'), shown.count('"✗ failed"')) == (EXPECTATIONS - 2, 2)
        expect(page.get_by_text("14 unexpected values found").first).to_be_visible()
        expect(page.get_by_text("Failed Only")).to_be_hidden()
        page.get_by_role("link", name="Show more info").click()
        expect(page.get_by_text("Great Expectations Version")).to_be_visible()
        assert page.title() == "Data documentation compiled by Great Expectations", "the service's name ran nothing"
        assert page.evaluate("origin") == "null", "no origin that could call the API"
        page.get_by_role("link", name="Home").click()
        expect(page.get_by_text("14 unexpected values found").first).to_be_visible()
        page.get_by_role("link", name="baseline", exact=True).click()
        expect(page.get_by_text(f"This Expectation suite currently contains {EXPECTATIONS} total Expectations")).to_be_visible()
        assert {each.netloc for each in answered} == {urlsplit(site).netloc}
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 360
    finally:
        context.close()
        folder.rename(report)
