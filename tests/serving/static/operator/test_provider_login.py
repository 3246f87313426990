"""In a real browser, people log in by an identity provider on another site, and get the page that they came from."""

import dataclasses

import pytest
from playwright.sync_api import expect

from tests.serving.access.identity_provider import answering
from tests.serving.static.operator.dialogs import reason
from tests.serving.static.test_accessibility import serious


@pytest.fixture
def provider():
    with answering() as provider:
        yield provider


@pytest.fixture
def offline(offline, provider):
    return dataclasses.replace(offline, provider=provider.settings())


@pytest.fixture
def site(site_and_state, provider):
    """Serving knows its own address."""
    site, state = site_and_state
    state.provider.settings = provider.settings(public=site[0].partition("/?")[0])
    return site


@pytest.fixture
def page(page):
    """Of somebody elsewhere."""
    page.set_extra_http_headers({"X-Forwarded-For": "203.0.113.9"})
    return page


def test_an_operator_logs_in_by_the_provider_and_judges(page, site, airflow):
    url = f"{site[0]}&minutes=240"
    page.goto(url)
    page.get_by_role("button", name="Log in with Example").click()
    page.get_by_role("link", name="I am Olga").click()
    expect(page.locator("header .login")).to_contain_text("oidc/olga (operator)")
    expect(page).to_have_url(url)
    page.locator("#incidents > li").first.get_by_role("button", name="Judge").click()
    page.get_by_role("dialog").get_by_label("A false alarm").check()
    reason(page, "load test", "Keep it")
    expect(page.locator(".verdict").first).to_contain_text("says oidc/olga, by admin")
    assert airflow.came[0][1]["user"] == "oidc/olga"
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in with Example")).to_be_visible()


@pytest.mark.full
def test_a_person_without_a_role_is_not_let_in(page, site, provider):
    provider.claims["groups"] = ["staff"]
    page.goto(site[0])
    page.get_by_role("button", name="Log in with Example").click()
    page.get_by_role("link", name="I am Olga").click()
    expect(page.get_by_role("alert")).to_contain_text("None of your groups at the provider has a role in Sundial.")
    assert serious(page) == []
    page.get_by_role("link", name="Back to the login").click()
    expect(page.get_by_role("button", name="Log in with Example")).to_be_visible()
    assert serious(page) == []


@pytest.mark.full
def test_a_provider_that_is_down_is_named_and_a_token_still_counts(page, site, provider):
    url, _, viewer = site
    provider.down = True
    page.goto(url)
    page.get_by_role("button", name="Log in with Example").click()
    expect(page.locator("#problem")).to_contain_text("Example does not answer as it should")
    page.get_by_label("Token").fill(viewer)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.locator("header .login")).to_contain_text("victor (viewer)")
