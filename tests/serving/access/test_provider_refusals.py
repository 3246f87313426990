"""Logins by an identity provider that do not count: forged, replayed, or of somebody whose name is not one."""

import json

import pytest

from tests.serving.access.conftest import OWN, me
from tests.serving.conftest import NASTY, problem


@pytest.mark.parametrize(
    ("claims", "wrong"),
    [
        ({"nonce": "of another login"}, "invalid_claim nonce"),
        ({"nonce": None}, "missing_claim nonce"),
        ({"exp": 1_000_000_000}, "expired_token exp"),
        ({"exp": None}, "missing_claim exp"),
        ({"iat": 4_000_000_000}, "invalid_claim iat"),
        ({"iss": "https://other.example.org"}, "invalid_claim iss"),
        ({"aud": "another client"}, "invalid_claim aud"),
        ({"aud": ["sundial", "another client"]}, "missing_claim azp"),
        ({"azp": "another client"}, "invalid_claim azp"),
        ({"at_hash": "of another token"}, "invalid_claim at_hash"),
        ({"sub": None}, "missing_claim sub"),
    ],
)
def test_an_id_token_that_says_something_wrong(there, provider, claims, wrong):
    provider.claims |= claims
    assert problem(there.log_in(), 401, "login-refused")["detail"] == f"The provider's ID token is not valid: {wrong}."
    assert me(there)["name"] is None


def test_a_state_of_another_login(there):
    sent = there.at_provider()
    problem(there.back(sent | {"state": "x"}), 401, "login-refused")
    problem(there.back(sent), 401, "login-refused")  # the first answer took the cookie away
    assert me(there)["name"] is None


def test_another_browsers_answer_logs_nobody_in(app, browser_of):
    """As if somebody made another person log in as them."""
    one, other = browser_of(app), browser_of(app)
    sent = one.at_provider()
    problem(other.back(sent), 401, "login-refused")
    other.begin()
    problem(other.back(sent), 401, "login-refused")
    assert me(other)["name"] is None


def test_an_answer_counts_once(there, provider, app, browser_of):
    sent = there.at_provider()
    [kept] = there.cookies.items()
    assert there.back(sent).status_code == 200
    again = browser_of(app)
    again.cookies.set(*kept)
    asked = provider.asked["/token"]
    problem(again.back(sent), 401, "login-refused")
    assert provider.asked["/token"] == asked, "the provider is not even asked"
    assert me(again)["name"] is None


def test_a_code_counts_once(there):
    used = there.at_provider()
    assert there.back(used).status_code == 200
    fresh = there.at_provider()
    detail = problem(there.back(fresh | {"code": used["code"]}), 401, "login-refused")["detail"]
    assert detail == "The provider does not accept the code that the browser brought."


def test_the_provider_did_not_log_in(there):
    sent = there.at_provider()
    page = there.back({"state": sent["state"], "error": "access_denied", "error_description": NASTY}, accept="text/html")
    assert (page.status_code, "The provider did not log you in." in page.text) == (401, True)
    assert "<img src=x" not in page.text


@pytest.mark.parametrize(
    "name", [NASTY, "", "a b", "a\nb", "a/../b", "x" * 101, "olga\u202e", "ölga", None, 7, ["olga"], {"a": 1}, "olga, by admin"]
)
def test_a_hostile_name_gets_nobody_in(there, provider, name, tmp_path):
    provider.claims["preferred_username"] = name
    page = there.log_in(accept="text/html")
    assert page.status_code == 403
    assert "The claim preferred_username has no name that Sundial takes" in page.text
    assert NASTY not in page.text
    [line] = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (line["user"], line["act"], line["outcome"]) == (None, "login refused", "not-admitted")
    assert me(there)["name"] is None


def test_another_sites_page_begins_no_login(there):
    problem(there.begin(**{"sec-fetch-site": "cross-site"}), 403, "other-site")


def test_failing_too_often(there, token):
    """A login with a token and one by the provider count together. A call without a begun login does not: others can cause it."""
    for _ in range(20):
        problem(there.back({"code": "c", "state": "s"}), 401, "login-refused")
    for _ in range(10):
        there.begin()
        problem(there.back({"code": "c", "state": "s"}), 401, "login-refused")
    problem(there.begin(), 429, "too-often")
    problem(there.back({"code": "c", "state": "s"}), 429, "too-often")
    problem(there.post("/api/login", json={"token": "guess"}, headers=OWN), 429, "too-often")
