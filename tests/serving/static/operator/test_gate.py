"""An operator answers the gate and rolls back."""

from playwright.sync_api import expect

from tests.serving.static.operator.dialogs import log_in, reason


def test_a_refused_candidate_is_approved(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    expect(page.locator("#gate")).to_contain_text("refused")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    log_in(page, operator)
    page.get_by_role("button", name="Approve").click()
    reason(page, "a known change", "Approve")
    said = {"chosen_options": ["Approve"], "params_input": {"reason": "olga: a known change"}}
    assert airflow.came == [(f"nightly_baseline.{feed.name}", said)]


def test_an_earlier_version_is_put_in_force_again(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    log_in(page, operator)
    expect(page.get_by_role("button", name="Roll back to")).to_have_count(1)
    page.get_by_role("button", name="Roll back to v0").click()
    reason(page, "v1 is too high", "Roll back")
    assert airflow.came == [(f"rollback_baseline.{feed.name}", {"version": 0, "reason": "v1 is too high", "user": "olga"})]
