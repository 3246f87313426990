"""An operator looks after incidents and judges them."""

import pytest
from playwright.sync_api import expect

from tests.serving.conftest import NASTY
from tests.serving.static.operator.airflow import AT
from tests.serving.static.operator.dialogs import log_in, reason
from tests.serving.static.test_accessibility import serious


def test_an_operator_looks_after_an_incident_judges_it_and_takes_that_back(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    expect(page.locator("#incidents > li")).to_have_count(2)
    expect(page.get_by_role("button", name="Judge")).to_have_count(0)
    page.get_by_label("Window").select_option("240")
    expect(page).to_have_url(f"{url}&minutes=240")
    log_in(page, operator)
    expect(page).to_have_url(f"{url}&minutes=240")
    expect(page.locator("header .login")).to_contain_text("olga (operator)")
    row = page.locator("#incidents > li").filter(has_text="img src")
    row.get_by_role("button", name="Judge").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(NASTY)
    assert serious(page) == []
    expect(dialog.get_by_label("I look after it")).to_be_checked()
    dialog.get_by_label("Reason").fill("on it")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden(timeout=20_000)
    expect(row.locator(".verdict")).to_contain_text("Acknowledged, says olga, by admin")
    row.get_by_role("button", name="Judge").click()
    expect(dialog.get_by_label("I look after it")).to_have_count(0)
    dialog.get_by_label("Nobody looks after it any more").check()
    dialog.get_by_label("A false alarm").check()
    dialog.get_by_label("Reason").fill(NASTY)
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden(timeout=20_000)
    expect(row.locator(".verdict").last).to_contain_text("False alarm, says olga, by admin")
    incident = {"incident": f"{NASTY}@{round(AT.timestamp() * 1000)}", "user": "olga"}
    [(dag, first), (_, conf)] = airflow.came
    assert dag == f"judge_incident.{feed.name}"
    assert first == incident | {"verdict": "acknowledge", "reason": "on it"}
    assert conf == incident | {"verdict": "false", "reason": NASTY}
    row.get_by_role("button", name="Take back").click()
    expect(dialog.get_by_role("radio")).to_have_count(0)
    dialog.get_by_label("Reason").fill("it was one")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden(timeout=20_000)
    expect(row.locator(".verdict")).to_have_count(1)
    assert airflow.came[2][1] == {"verdict": "take_back", "statement": 2, "reason": "it was one", "user": "olga"}
    assert page.title() != "owned"


def test_readings_are_excluded_by_their_span(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    log_in(page, operator)
    page.locator("#incidents > li").filter(has_not_text="img src").get_by_role("button", name="Judge").click()
    page.get_by_label("Not normal").check()
    page.get_by_label("Reason").fill("load test")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("#incidents .verdict")).to_contain_text("Left out of the normal, says olga, by admin", timeout=20_000)
    [(_, conf)] = airflow.came
    assert (conf["service"], conf["from"], conf["to"]) == ("a", "2026-07-01T12:00:00Z", "2026-07-01T12:10:00Z")


def test_an_operator_looks_after_an_incident_on_the_page_of_all(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url.replace("/?", "/incidents?").replace("&service=a", "&state=open&kind=deviation"))
    row = page.locator("#incidents > li")
    expect(row).to_have_count(1)
    expect(page.get_by_role("button", name="Judge")).to_have_count(0)
    log_in(page, operator)
    expect(page.locator("header .login")).to_contain_text("olga (operator)")
    assert "state=open" in page.url
    row.get_by_role("button", name="Judge").click()
    assert serious(page) == []
    reason(page, "on it", "Keep it")
    expect(row.locator(".verdict")).to_contain_text("Acknowledged, says olga, by admin")
    assert airflow.came[0][1]["verdict"] == "acknowledge"
    row.get_by_role("button", name="Judge").click()
    page.get_by_label("A false alarm").check()
    reason(page, NASTY, "Keep it")
    expect(page.locator("#headline")).to_have_text("No incident is open")
    row.get_by_role("button", name="Take back").click()
    reason(page, "it was one", "Keep it")
    expect(page.locator("#headline")).to_have_text("1 open incident in 1 feed")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title() != "owned"


@pytest.mark.full
def test_what_airflow_could_not_do_is_said_with_the_way_to_its_log(page, site, airflow):
    url, operator, _ = site
    airflow.ends = "failed"
    page.goto(url)
    log_in(page, operator)
    page.get_by_role("button", name="Judge").first.click()
    page.get_by_label("Reason").fill("r")
    page.get_by_role("button", name="Keep it").click()
    said = page.locator("#act-said")
    expect(said).to_contain_text("Nothing was kept", timeout=20_000)
    assert said.get_by_role("link").get_attribute("href").endswith("/runs/manual__1")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
