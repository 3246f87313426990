"""People log in by an identity provider: who gets in, as whom, for how long, and where that leads."""

import base64
import json

import pytest
from itsdangerous import TimestampSigner

from serving.access.provider_login import ProviderLogins
from serving.access.provider_settings import CALLBACK
from tests.serving.access.conftest import FROM_THERE, OWN, me
from tests.serving.access.identity_provider import unanswered
from tests.serving.conftest import problem


def test_an_operator_logs_in_and_changes_something(there, tmp_path):
    assert there.get("/api/login/provider").json() == {"name": "Example"}
    assert there.get("/api/feeds").status_code == 401
    answer = there.log_in()
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert me(there) == {"name": "oidc/olga", "role": "operator"}
    assert there.get("/api/feeds").status_code == 200
    assert there.post("/api/change", headers=OWN).json() == "oidc/olga"
    problem(there.post("/api/change", headers=FROM_THERE), 403, "other-site")
    [line] = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (line["user"], line["role"], line["act"], line["subject"]) == ("oidc/olga", "operator", "login", "248289761001")
    there.post("/api/logout", headers=OWN)
    assert me(there)["name"] is None
    assert there.get("/api/feeds").status_code == 401


def test_a_viewer_reads_and_changes_nothing(there, provider):
    provider.claims["groups"] = "sundial-viewers"
    there.log_in()
    assert me(there) == {"name": "oidc/olga", "role": "viewer"}
    assert there.get("/api/feeds").status_code == 200
    assert problem(there.post("/api/change", headers=OWN), 403, "not-allowed")["detail"] == "oidc/olga is a viewer."


NO_ROLE = [["staff"], [], "", None, {"sundial-operators": 1}, [["sundial-operators"]], 7, ["Sundial-Operators"]]


@pytest.mark.parametrize("groups", NO_ROLE)
def test_nobody_else_gets_in(there, provider, groups):
    provider.claims["groups"] = groups
    page = there.log_in(accept="text/html")
    assert (page.status_code, page.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "None of your groups at the provider has a role in Sundial." in page.text
    problem(there.log_in(), 403, "not-admitted")
    assert there.get("/api/feeds").status_code == 401


def test_a_user_of_the_provider_is_never_a_local_one(there, provider, token):
    """The local olga is a viewer. Who logs in both ways is who logged in last."""
    there.log_in()
    assert me(there) == {"name": "oidc/olga", "role": "operator"}
    there.post("/api/login", json={"token": token}, headers=OWN)
    assert me(there) == {"name": "olga", "role": "viewer"}
    there.log_in()
    assert me(there) == {"name": "oidc/olga", "role": "operator"}


def test_the_cookies_are_the_browsers_alone(there):
    begun = there.begin()
    [cookie] = begun.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-sundial-login=")
    assert {"httponly", "secure", "samesite=lax", "path=/", "max-age=600"} <= set(cookie.lower().split("; "))
    session, gone = sorted(there.log_in().headers.get_list("set-cookie"), key=lambda each: not each.startswith("sundial="))
    assert {"httponly", "secure", "samesite=strict"} <= set(session.lower().split("; "))
    assert gone.startswith('__Host-sundial-login=""; ')
    assert "Max-Age=0" in gone


@pytest.mark.parametrize(
    ("claim", "more", "name"),
    [
        ("sub", {}, "oidc/248289761001"),
        ("email", {"email": "olga+x@example.org", "email_verified": True}, "oidc/olga+x@example.org"),
        ("email", {"email": "olga@example.org", "email_verified": "true"}, None),
        ("email", {"email": "olga@example.org"}, None),
    ],
)
def test_the_name_is_that_of_the_claim_which_is_set(provider, app_with, browser_of, claim, more, name):
    there = browser_of(app_with(provider.settings(name_claim=claim)))
    provider.claims |= more
    assert there.log_in().status_code == (200 if name else 403)
    assert me(there)["name"] == name


@pytest.mark.parametrize(
    ("back", "address"),
    [
        ("", "/"),
        ("feed=calls&service=a%20b", "/?feed=calls&amp;service=a+b"),
        ("page=queries&query=places", "/queries?query=places"),
        ("page=/evil.example.org", "/"),
        ("page=/evil.example.org&next=//evil.example.org", "/?next=%2F%2Fevil.example.org"),
        ("page=https://evil.example.org", "/"),
        ("page=%0d%0aLocation:%20//evil.example.org", "/"),
        ("a=%22%3E%3Cscript%3E", "/?a=%22%3E%3Cscript%3E"),
    ],
)
def test_the_login_leads_to_pages_of_sundial_alone(there, back, address):
    page = there.log_in(back)
    assert f'<meta http-equiv="refresh" content="0; url={address}">' in page.text
    assert f'<a href="{address}">Go on</a>' in page.text


@pytest.mark.parametrize("back", ["x" * 2001, "a b", "é", 7])
def test_what_is_no_query_is_refused(there, back):
    problem(there.post("/api/login/provider", json={"back": back}, headers=OWN), 422, "invalid-parameter")


def test_the_callback_is_at_the_public_name_whatever_the_request_says(there):
    begun = there.begin(host="127.0.0.1", **{"x-forwarded-host": "evil.example.org"}, **{"sec-fetch-site": "same-origin"})
    assert "redirect_uri=https%3A%2F%2Fsundial.example.org%2Flogin%2Fcallback" in begun.json()["url"]


def test_a_login_ends_with_the_settings_that_let_it_in(provider, app_with, browser_of):
    there = browser_of(app_with(provider.settings()))
    there.log_in()

    def known_to(settings) -> str | None:
        again = browser_of(app_with(settings))
        again.cookies.set("sundial", there.cookies["sundial"])
        return me(again)["name"]

    assert known_to(provider.settings()) == "oidc/olga"
    assert known_to(provider.settings(operators=frozenset({"others"}))) is None
    assert known_to(None) is None


def test_a_login_ends_with_its_time(provider):
    now = [1000.0]
    logins = ProviderLogins(provider.settings(session_seconds=60), lambda: now[0])
    olga = logins.user_of(provider.claims)
    session = logins.remembered(olga)
    now[0] += 59
    assert logins.of_session(session) == olga
    now[0] += 1
    assert logins.of_session(session) is None


@pytest.mark.parametrize("login", [{}, [], "x", {"name": "olga", "role": "operator", "until": 4e9, "fingerprint": ""}])
def test_a_session_that_is_none(there, app, login):
    data = base64.b64encode(json.dumps({"provider": login}).encode())
    there.cookies.set("sundial", TimestampSigner(app.state.sundial.settings.session_secret).sign(data).decode())
    assert me(there) == {"name": None, "role": None}


def test_without_a_provider(app_with, browser_of, token):
    there = browser_of(app_with(None))
    assert there.get("/api/login/provider").json() == {"name": None}
    problem(there.begin(), 404, "no-provider")
    problem(there.back({"code": "c", "state": "s"}), 404, "no-provider")


def test_a_provider_that_does_not_answer(provider, app_with, browser_of, token):
    provider.issuer = unanswered()
    there = browser_of(app_with(provider.settings()))
    body = problem(there.begin(), 503, "provider-down")
    assert body["detail"] == "Example does not answer as it should; the log of serving says why."
    there.post("/api/login", json={"token": token}, headers=OWN)
    assert me(there)["name"] == "olga"


def test_a_provider_that_fails_on_the_way(there, provider):
    sent = there.at_provider()
    provider.down = True
    page = there.back(sent, accept="text/html")
    assert (page.status_code, "Example does not answer as it should" in page.text) == (503, True)
    provider.down = False
    assert there.log_in().status_code == 200


def test_what_one_logs_in_with_is_open(there):
    assert '<p id="provider" hidden>' in there.get("/login").text
    assert there.get(CALLBACK, headers={"accept": "text/html"}).status_code == 401


def test_the_description_names_each_answer_of_the_callback(there, provider, app):
    described = app.openapi()["paths"][CALLBACK]["get"]["responses"]
    seen = set()

    def come_back(sent: dict[str, str]) -> None:
        for accept in ("text/html", "application/json"):
            answer = there.back(sent, accept)
            assert answer.headers["content-type"].partition(";")[0] in described[str(answer.status_code)]["content"]
            seen.add(answer.status_code)

    come_back(there.at_provider())
    provider.claims["groups"] = []
    come_back(there.at_provider())
    sent = there.at_provider()
    provider.down = True
    come_back(sent)
    come_back({"state": "x" * 201})
    for _ in range(10):
        there.begin()
        there.back({"state": "x"})
    come_back({})
    assert seen == {200, 401, 403, 503, 422, 429}
