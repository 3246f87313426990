"""An operator writes notes about incidents; everybody reads them, as plain text."""

import pytest
from playwright.sync_api import expect

from tests.serving.conftest import NASTY
from tests.serving.static.operator.airflow import AT
from tests.serving.static.operator.dialogs import log_in, reason
from tests.serving.static.test_accessibility import serious

LINK = "https://wiki.example.org/deploy-4.2"


def test_notes_are_added_read_by_a_viewer_and_taken_back(page, site, feed, airflow):
    url, operator, viewer = site
    page.goto(url)
    expect(page.locator("#incidents > li")).to_have_count(2)
    expect(page.get_by_role("button", name="Add a note")).to_have_count(0)
    log_in(page, operator)
    row = page.locator("#incidents > li").filter(has=page.get_by_role("button", name="a", exact=True))
    row.get_by_role("button", name="Add a note").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Add a note")
    expect(dialog.get_by_role("radio")).to_have_count(0)
    expect(dialog.get_by_label("Reason")).to_have_count(0)
    assert serious(page) == []
    dialog.get_by_role("textbox", name="Note", exact=True).fill(f"{NASTY} {LINK}")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden(timeout=20_000)
    notes = row.get_by_role("list", name="Notes").get_by_role("listitem")
    expect(notes).to_contain_text(f"{NASTY} {LINK} olga, by admin, 21 Nov 2026")
    row.get_by_role("button", name="Add a note").click()
    longest = "n" * 500
    dialog.get_by_role("textbox", name="Note", exact=True).fill(longest)
    page.keyboard.type("more")
    expect(dialog.get_by_role("textbox", name="Note", exact=True)).to_have_value(longest)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden(timeout=20_000)
    expect(notes).to_have_count(2)
    expect(notes.last).to_contain_text(longest)
    about = {"verdict": "note", "incident": f"a@{round(AT.timestamp() * 1000)}", "user": "olga"}
    dag = f"judge_incident.{feed.name}"
    assert airflow.came == [(dag, about | {"reason": f"{NASTY} {LINK}"}), (dag, about | {"reason": longest})]
    expect(row.locator(".verdict")).to_have_count(0)
    expect(row.get_by_role("button", name="Judge")).to_be_visible()
    assert row.get_by_role("link").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    notes.first.get_by_role("button", name="Take back the note").click()
    expect(dialog).to_contain_text(NASTY)
    reason(page, "it was another deploy", "Keep it")
    expect(notes).to_have_count(1)
    assert airflow.came[2][1] == {"verdict": "take_back", "statement": 1, "reason": "it was another deploy", "user": "olga"}
    page.get_by_role("button", name="Log out").click()
    log_in(page, viewer)
    expect(notes).to_contain_text(longest)
    expect(notes.get_by_role("button")).to_have_count(0)
    assert page.title() != "owned"


@pytest.mark.full
def test_notes_are_on_the_page_of_all_incidents_also_after_a_verdict(page, site, airflow):
    url, operator, _ = site
    page.goto(url.replace("/?", "/incidents?").replace("&service=a", "&state=open&kind=deviation"))
    log_in(page, operator)
    row = page.locator("#incidents > li")
    for text in ("deploy 4.2 caused it", NASTY):
        row.get_by_role("button", name="Add a note").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox", name="Note", exact=True).fill(text)
        dialog.get_by_role("button", name="Keep it").click()
        expect(dialog).to_be_hidden(timeout=20_000)
    expect(row.locator(".notes > li")).to_contain_text(["deploy 4.2 caused it olga, by admin", NASTY])
    expect(page.locator("#headline")).to_have_text("1 open incident in 1 feed")
    row.get_by_role("button", name="Judge").click()
    page.get_by_label("A false alarm").check()
    reason(page, "a drill", "Keep it")
    expect(row.locator(".verdict")).to_contain_text("False alarm, says olga, by admin")
    expect(row.locator(".notes > li")).to_have_count(2)
    expect(row.get_by_role("button", name="Add a note")).to_be_visible()
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title() != "owned"
