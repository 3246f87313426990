"""Everybody sees how the applications of queries are; an operator switches them."""

import pytest
from playwright.sync_api import expect

from supervision.files import StreamFolder
from tests.serving.conftest import NASTY, declare_query
from tests.serving.static.operator.dialogs import log_in
from tests.serving.static.test_accessibility import serious

LONG = "z" * 63


@pytest.fixture
def queries(site, declared, run_state):
    """The page's URL, and the tokens of an operator and of a viewer: `broken` was given up. `calm` has never run, and neither has
    `incidents`, which follows from the feed."""
    for name, application in (("places", "calm"), ("routes", "calm"), ("fares", "broken"), ("long", LONG)):
        declare_query(declared, name, application)
    broken = StreamFolder.of(run_state, "broken", "queries")
    broken.write_supervisor("attempt-1")
    broken.write_driver({"pid": 7})
    broken.write_heartbeat({"state": "running", "last_error": f"no such column {NASTY}"})
    broken.mark_given_up()
    url, operator, viewer = site
    return f"{url.partition('?')[0]}queries", operator, viewer


def test_applications_are_shown_as_they_are_and_switched_by_an_operator(page, queries, run_state, airflow):
    url, operator, viewer = queries
    page.goto(url)
    rows = page.locator("#applications > li")
    expect(rows.locator("strong")).to_have_text(["broken", "calm", "incidents", LONG])
    expect(rows.locator(".pill")).to_have_text(["failing", "off", "off", "off"])
    expect(rows.nth(0).locator(".trouble")).to_have_text(
        ["driver 7 is gone: see broken.queries/driver.log", f"no such column {NASTY}"]
    )
    expect(rows.nth(1)).to_contain_text("places, routes")
    log_in(page, viewer)
    expect(page.locator("header .login")).to_contain_text("victor (viewer)")
    expect(rows).to_have_count(4)
    expect(page.get_by_role("button", name="Switch")).to_have_count(0)
    page.get_by_role("button", name="Log out").click()
    log_in(page, operator)
    expect(rows.nth(0).get_by_role("button")).to_have_text(["Switch on", "Switch off"])
    expect(rows.nth(1).get_by_role("button")).to_have_text(["Switch on"])
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Switch on calm").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Switch calm on?")
    expect(dialog.get_by_role("textbox")).to_be_hidden()
    assert serious(page) == []
    dialog.get_by_role("button", name="Switch on").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Switch off broken").click()
    dialog.get_by_role("button", name="Switch off").click()
    expect(dialog).to_be_hidden()
    assert airflow.came == [
        ("supervise_queries.calm", {"is_paused": False}),
        ("supervise_queries.broken", {"is_paused": True}),
        ("supervise_queries.broken", {"state": "success"}),
    ]
    StreamFolder.of(run_state, "broken", "queries").write_supervisor("")
    expect(rows.locator(".pill")).to_have_text(["off", "off", "off", "off"], timeout=20_000)
    expect(rows.locator(".trouble")).to_have_count(0)
    expect(rows.nth(0).get_by_role("button")).to_have_text(["Switch on"])
    assert page.title() != "owned"


@pytest.mark.full
def test_one_that_runs_is_on(page, queries, run_state):
    url, operator, _ = queries
    calm = StreamFolder.of(run_state, "calm", "queries")
    calm.write_supervisor("attempt-1")
    calm.write_driver({"pid": 8})
    calm.write_heartbeat({"state": "stopping"})  # its supervision launches it again
    page.goto(url)
    log_in(page, operator)
    row = page.locator("#applications > li").nth(1)
    expect(row.locator(".pill")).to_have_text("on")
    expect(row.get_by_role("button")).to_have_text(["Switch off"])
