"""Who logs in, and what a viewer does not get."""

import pytest
from playwright.sync_api import expect

from tests.serving.static.operator.dialogs import log_in


def test_a_viewer_judges_nothing_and_a_wrong_token_is_named(page, site):
    url, _, viewer = site
    page.goto(url)
    log_in(page, "sundial_wrong")
    expect(page.locator("#problem")).to_contain_text("No user has this token")
    page.get_by_label("Token").fill(viewer)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("header .login")).to_contain_text("victor (viewer)")
    expect(page.locator("#incidents > li")).to_have_count(2)
    expect(page.get_by_role("button", name="Judge")).to_have_count(0)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()


@pytest.mark.full
def test_nothing_is_sent_before_the_page_can_send_it(page, site):
    page.route("**/login.js", lambda route: route.abort())
    page.goto(site[0])
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("Token").fill("t")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Log in")).to_be_disabled()


def test_the_login_leads_back_to_the_page_of_queries(page, site):
    url, _, viewer = site
    page.goto(url.replace("/?", "/queries?"))
    log_in(page, viewer)
    expect(page.locator("header .login")).to_contain_text("victor (viewer)")
    assert "/queries" in page.url
