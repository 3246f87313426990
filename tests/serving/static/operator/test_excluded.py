"""An operator excludes a range on the page of a service, and takes that back."""

import datetime as dt

import pytest
from playwright.sync_api import expect

from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.operator.dialogs import log_in, reason
from tests.serving.static.test_accessibility import serious

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
HOUR = "&from=2025-07-01T16:00:00Z&to=2025-07-01T17:00:00Z"  # from noon in New York


def test_the_range_that_the_chart_shows_is_excluded_and_taken_back(page, site, feed, airflow):
    url, operator, viewer = site
    page.goto(url + HOUR)
    exclude = page.get_by_role("button", name="Exclude a range")
    log_in(page, viewer)
    expect(page.locator("header .login")).to_contain_text("victor (viewer)")
    expect(page.locator("#chart canvas")).to_be_visible()
    expect(exclude).to_be_hidden()
    page.get_by_role("button", name="Log out").click()
    log_in(page, operator)
    exclude.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("From", exact=True)).to_have_value("2025-07-01T12:00")
    expect(dialog.get_by_label("To", exact=True)).to_have_value("2025-07-01T13:00")
    expect(dialog).to_contain_text("Times of America/New_York.")
    expect(dialog.get_by_label("This service only: a")).to_be_checked()
    expect(dialog.get_by_text("This time comes twice").locator("visible=true")).to_have_count(0)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert dialog.evaluate("(dialog) => dialog.scrollWidth <= dialog.clientWidth")
    keep = dialog.get_by_role("button", name="Keep it")
    keep.click()
    assert not dialog.get_by_label("Reason").evaluate("(field) => field.validity.valid"), "a reason is required"
    dialog.get_by_label("Reason").fill(NASTY)
    dialog.get_by_label("To", exact=True).fill("2999-01-01T00:00:00")
    keep.click()
    expect(page.locator("#act-said")).to_have_text("“To” must not be in the future.")
    dialog.get_by_label("To", exact=True).fill("2025-07-01T12:00:00")
    keep.click()
    expect(page.locator("#act-said")).to_have_text("“From” must be before “to”.")
    dialog.get_by_label("From", exact=True).fill("2025-03-09T02:30:00")
    keep.click()
    expect(page.locator("#act-said")).to_have_text("The clocks skipped one of these times. Choose another.")
    assert airflow.came == []
    dialog.get_by_label("From", exact=True).fill("2025-07-01T12:10:00")
    dialog.get_by_label("To", exact=True).fill("2025-07-01T12:40:30")
    keep.click()
    expect(dialog).to_be_hidden(timeout=20_000)
    [(dag, conf)] = airflow.came
    assert dag == f"judge_incident.{feed.name}"
    span = {"from": "2025-07-01T16:10:00Z", "to": "2025-07-01T16:40:30Z"}
    assert conf == span | {"verdict": "exclude", "service": "a", "reason": NASTY, "user": "olga"}
    bar = page.locator("#excluded-bars button")
    expect(bar).to_have_count(1)
    bar.click()
    words = f"a, 01 Jul 2025, 12:10:00 to 01 Jul 2025, 12:40:30: excluded by olga, by admin (21 Nov 2026, 04:30:00): {NASTY}"
    expect(page.locator("#excluded-said")).to_have_text(words)
    assert serious(page) == []
    page.get_by_role("button", name="Take back this exclusion").click()
    expect(dialog).to_contain_text(words)
    expect(dialog.get_by_label("From", exact=True)).to_be_hidden()
    reason(page, "the test was another day", "Keep it")
    assert airflow.came[1][1] == {"verdict": "take_back", "statement": 1, "reason": "the test was another day", "user": "olga"}
    expect(page.locator("#excluded")).to_be_hidden()
    assert page.title() != "owned"


def test_readings_of_all_services_are_excluded_until_now(page, site, airflow):
    url, operator, _ = site
    page.goto(url)
    log_in(page, operator)
    page.get_by_role("button", name="Exclude a range").click()
    page.get_by_label("All services of").check()
    reason(page, "load test", "Keep it")
    [(_, conf)] = airflow.came
    first, last = (dt.datetime.fromisoformat(conf[name]) for name in ("from", "to"))
    assert abs(dt.datetime.now(dt.UTC) - last) < dt.timedelta(minutes=2), "not the time ahead, which the chart shows, too"
    assert first < last
    assert (conf["verdict"], "service" in conf) == ("exclude", False)
    page.locator("#excluded-bars button").focus()
    expect(page.locator("#excluded-said")).to_contain_text("All services, ")


def test_a_time_that_comes_twice_has_a_choice(page, site, airflow):
    url, operator, _ = site
    page.goto(f"{url}&from=2025-11-02T05:30:00Z&to=2025-11-02T06:30:00Z")
    log_in(page, operator)
    page.get_by_role("button", name="Exclude a range").click()
    dialog = page.get_by_role("dialog")
    which = [dialog.locator(f"#act-{edge}-which") for edge in ("from", "to")]
    for edge, offset in zip(which, ("UTC−04:00", "UTC−05:00"), strict=True):
        expect(edge.locator("option")).to_have_text(["UTC−04:00", "UTC−05:00"])
        expect(edge.locator("option:checked")).to_have_text(offset)
    for edge in ("From", "To"):
        expect(dialog.get_by_label(edge, exact=True)).to_have_value("2025-11-02T01:30")
    assert serious(page) == []
    assert dialog.evaluate("(dialog) => dialog.scrollWidth <= dialog.clientWidth")
    dialog.get_by_label("Reason").fill("the clocks")
    which[0].select_option("UTC−05:00")
    dialog.get_by_role("button", name="Keep it").click()
    expect(page.locator("#act-said")).to_have_text("“From” must be before “to”.")
    which[0].select_option("UTC−04:00")
    reason(page, "the clocks", "Keep it")
    assert (airflow.came[0][1]["from"], airflow.came[0][1]["to"]) == ("2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z")
    page.get_by_role("button", name="Exclude a range").click()
    dialog.get_by_label("From", exact=True).fill("2025-11-02T00:59:59")
    expect(which[0]).to_be_hidden()
    reason(page, "the hour before, too", "Keep it")
    assert (airflow.came[1][1]["from"], airflow.came[1][1]["to"]) == ("2025-11-02T04:59:59Z", "2025-11-02T06:30:00Z")


def test_what_airflow_could_not_keep_is_said_with_the_way_to_its_log(page, site, lake, feed, airflow):
    url, operator, _ = site
    world.say(lake, feed, 7, "exclude", dt.datetime(2025, 7, 1, 16, 10, tzinfo=dt.UTC))
    airflow.ends = "failed"
    page.goto(url + HOUR)
    log_in(page, operator)
    page.get_by_role("button", name="Exclude a range").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("r")
    dialog.get_by_role("button", name="Keep it").click()
    said = page.locator("#act-said")
    expect(said).to_contain_text("Nothing was kept.", timeout=20_000)
    assert said.get_by_role("link").get_attribute("href").endswith("/runs/manual__1")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator("#excluded-bars button")).to_have_count(1)
    assert [conf["verdict"] for _, conf in airflow.came] == ["exclude"]
