"""On the page of streams, an operator switches each on and off."""

from playwright.sync_api import expect

from supervision.files import StreamFolder
from tests.serving.conftest import declare_query
from tests.serving.static.operator.dialogs import log_in
from tests.serving.static.test_accessibility import serious


def test_an_operator_switches_streams_and_a_viewer_sees_them(page, site, feed, declared, run_state, airflow):
    declare_query(declared, "fares", "broken")
    broken = StreamFolder.of(run_state, "broken", "queries")
    broken.write_supervisor("attempt-1")
    broken.write_driver({"pid": 7})
    broken.write_heartbeat({"state": "running"})
    url, operator, viewer = site
    page.goto(f"{url.partition('?')[0]}streams")
    rows = page.locator("#streams > li")
    expect(rows.locator("h3")).to_have_text(["broken", feed.name, "incidents"])
    log_in(page, viewer)
    expect(page.locator("header .login")).to_contain_text("victor (viewer)")
    expect(rows).to_have_count(3)
    expect(page.get_by_role("button", name="Switch")).to_have_count(0)
    page.get_by_role("button", name="Log out").click()
    log_in(page, operator)
    expect(rows.nth(0).get_by_role("button")).to_have_text(["Switch on", "Switch off"])
    expect(rows.nth(1).get_by_role("button")).to_have_text(["Switch on"])
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name=f"Switch on {feed.name}").click()
    expect(dialog.get_by_role("heading")).to_have_text(f"Switch the scoring stream of {feed.name} on?")
    assert serious(page) == []
    dialog.get_by_role("button", name="Switch on").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Switch off broken").click()
    expect(dialog.get_by_role("heading")).to_have_text("Switch broken off?")
    dialog.get_by_role("button", name="Switch off").click()
    expect(dialog).to_be_hidden()
    assert airflow.came == [
        (f"supervise_streams.{feed.name}", {"is_paused": False}),
        ("supervise_queries.broken", {"is_paused": True}),
        ("supervise_queries.broken", {"state": "success"}),
    ]
    broken.write_supervisor("")
    expect(rows.locator("h3")).to_have_text([feed.name, "broken", "incidents"], timeout=20_000)
    expect(rows.nth(1).locator(".state")).to_contain_text("Switched off since ")
    expect(rows.nth(1).get_by_role("button")).to_have_text(["Switch on"])
