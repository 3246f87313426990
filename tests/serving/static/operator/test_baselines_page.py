"""An operator answers the gate and rolls back on the page of baselines."""

import pytest
from playwright.sync_api import expect

from tests.serving import world
from tests.serving.static.operator.dialogs import log_in, reason


@pytest.fixture
def baselines(site):
    """Its URL, and the tokens of an operator and of a viewer."""
    url, operator, viewer = site
    return url.replace("/?", "/baselines?").removesuffix("&service=a"), operator, viewer


def test_a_refused_candidate_is_approved_or_rejected(page, baselines, feed, airflow):
    url, operator, _ = baselines
    page.goto(url)
    expect(page.locator("#gate")).to_contain_text("refused")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    log_in(page, operator)
    expect(page).to_have_url(f"{url}&from=0&to=1")
    page.get_by_role("button", name="Approve").click()
    reason(page, "a known change", "Approve")
    page.get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("too high")
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.get_by_role("dialog")).to_be_hidden(timeout=20_000)
    said = [("Approve", "olga: a known change"), ("Reject", "olga: too high")]
    assert airflow.came == [
        (f"nightly_baseline.{feed.name}", {"chosen_options": [answer], "params_input": {"reason": why}}) for answer, why in said
    ]


def test_what_a_candidate_changes_is_seen_before_it_is_approved(page, baselines, feed, lake, airflow):
    url, operator, _ = baselines
    scales = [{}, {}, {}, {"a": 22.0}]
    assert [world.build(lake, feed, scales=each) for each in scales][-1] == 3, "the one that the gate refused"
    page.goto(url)
    log_in(page, operator)
    page.get_by_role("button", name="What candidate v3 changes").click()
    expect(page.locator("#changes-words")).to_have_text("Candidate v3 expects more of 1 service, up to +100 %.")
    page.get_by_role("button", name="Approve").click()
    reason(page, "as many as the new customer said", "Approve")
    said = {"chosen_options": ["Approve"], "params_input": {"reason": "olga: as many as the new customer said"}}
    assert airflow.came == [(f"nightly_baseline.{feed.name}", said)]
    expect(page.locator("#changes-title")).to_have_text("From v1 to candidate v3")


def test_an_earlier_version_is_put_in_force_again(page, baselines, feed, airflow):
    url, operator, viewer = baselines
    page.goto(url)
    log_in(page, viewer)
    expect(page.locator("#history > li")).to_have_count(2)
    expect(page.get_by_role("button", name="Roll back to")).to_have_count(0)
    page.get_by_role("button", name="Log out").click()
    log_in(page, operator)
    expect(page.get_by_role("button", name="Roll back to")).to_have_count(1)
    page.get_by_role("button", name="Roll back to v0").click()
    reason(page, "v1 is too high", "Roll back")
    assert airflow.came == [(f"rollback_baseline.{feed.name}", {"version": 0, "reason": "v1 is too high", "user": "olga"})]
