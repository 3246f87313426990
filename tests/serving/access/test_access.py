"""Who gets in: everybody who reads on this machine; from elsewhere users alone; and only operators change something."""

import dataclasses
import datetime as dt
import json

import httpx
import pytest
from fastapi.testclient import TestClient

from contracts.users import Users
from serving.access.authentication import Operator
from serving.access.guard import OPEN
from serving.app import create_app
from tests.serving.conftest import problem, served

NOW = dt.datetime.now(dt.UTC)
LOCAL, ELSEWHERE = "http://127.0.0.1", "https://sundial.example.org"
OWN = {"sec-fetch-site": "same-origin"}


@pytest.fixture
def tokens(tmp_path) -> dict[str, str]:
    """By name; the users are in users.json."""
    users, found = Users({}), {}
    for name, role, until in (("olga", "operator", None), ("victor", "viewer", None), ("past", "operator", NOW)):
        users, found[name] = users.added(name, role, NOW, until)
    (tmp_path / "users.json").write_text(users.text())
    return found


@pytest.fixture
def app(offline, tmp_path):
    """With a route that changes something."""
    settings = dataclasses.replace(
        offline,
        users=tmp_path / "users.json",
        audit=tmp_path / "audit.jsonl",
        hosts=("127.0.0.1", "localhost", "sundial.example.org", "evil.example.org"),
    )
    app = create_app(settings)

    @app.post("/api/change")
    async def change(user: Operator) -> str:
        return user.name

    return app


@pytest.fixture
def at(app):
    """at(address, headers): a client that calls serving by that address."""
    return lambda address=LOCAL, **headers: TestClient(app, base_url=address, headers=headers)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


READ = ("/api/feeds", "/metrics", "/openapi.json", "/api/events?feed=x", "/api/nothing")


def test_on_this_machine_reading_needs_no_login(at):
    for name in ("127.0.0.1", "localhost:8000", "127.0.0.1:18000"):
        assert at(headers_host := LOCAL, host=name).get("/api/feeds").status_code == 200, headers_host
    assert at().get("/").status_code == 200


@pytest.mark.parametrize("path", READ)
def test_from_elsewhere_nothing_is_read_without_a_login(at, path):
    refused = at(ELSEWHERE).get(path)
    assert "log in" in problem(refused, 401, "login-needed")["remedy"].lower()
    assert refused.headers["www-authenticate"] == "Bearer"


def test_what_is_answered_without_a_login_is_described(app, at):
    answered = {}
    for path, operations in app.openapi()["paths"].items():
        for method, described in operations.items():
            if path == "/api/change":
                continue
            answer = at(ELSEWHERE).request(method, path.replace("{", "").replace("}", ""))
            answered[method, path] = answer.status_code
            assert str(answer.status_code) in described["responses"], (method, path)
            if answer.status_code == 401:
                assert "application/problem+json" in described["responses"]["401"]["content"]
    assert answered["get", "/health"] == 204
    assert answered["get", "/api/feeds/{feed}"] == answered["get", "/metrics"] == answered["post", "/api/logout"] == 401
    assert {path for (_, path), status in answered.items() if status != 401} == {"/health", *OPEN[1:]}


def test_a_name_of_elsewhere_is_not_local_though_the_call_comes_from_this_machine(at):
    """As through a proxy on this machine, or by DNS rebinding."""
    problem(at(LOCAL, host="sundial.example.org").get("/api/feeds"), 401, "login-needed")


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip", "via", "x-forwarded-host"])
def test_what_a_proxy_passes_on_is_not_local_whatever_its_name(at, header):
    """By default, nginx sends the address of serving as the host."""
    problem(at(LOCAL, **{header: "203.0.113.9"}).get("/api/feeds"), 401, "login-needed")


def test_a_call_that_did_not_come_to_a_loopback_address_is_not_local(app):
    there = TestClient(app, base_url="http://192.0.2.7", headers={"host": "127.0.0.1"})
    problem(there.get("/api/feeds"), 401, "login-needed")


def test_probes_and_what_one_logs_in_with_are_open(at):
    there = at(ELSEWHERE)
    assert (there.get("/health").status_code, there.get("/health").content) == (204, b"")
    assert at().get("/health").json()["status"] == "ok"
    assert '<h2 id="login-title">' in there.get("/login").text
    for name in ("login.js", "style.css"):
        assert there.get(f"/static/{name}").status_code == 200
    assert there.get("/api/me").json() == {"name": None, "role": None}


def test_a_page_leads_to_the_login_and_keeps_what_was_asked_for(at):
    there = at(ELSEWHERE).get("/?feed=calls&service=a%20b", follow_redirects=False)
    assert (there.status_code, there.headers["location"]) == (303, "/login?feed=calls&service=a%20b")
    there = at(ELSEWHERE).get("/queries?query=places", follow_redirects=False)
    assert (there.status_code, there.headers["location"]) == (303, "/login?page=queries&query=places")
    there = at(ELSEWHERE).get("/incidents", follow_redirects=False)
    assert (there.status_code, there.headers["location"]) == (303, "/login?page=incidents")


def test_a_token_lets_in(at, tokens):
    for name in ("olga", "victor"):
        there = at(ELSEWHERE)
        assert there.get("/api/feeds", headers=bearer(tokens[name])).status_code == 200
        assert there.get("/api/me", headers=bearer(tokens[name])).json()["name"] == name
        assert there.get("/api/feeds").status_code == 401, "it is not remembered"


@pytest.mark.parametrize("address", [LOCAL, ELSEWHERE])
def test_a_wrong_token_is_refused_even_where_none_is_needed_for_a_change(at, tokens, address):
    for token in ("sundial_x", "", tokens["past"]):
        problem(at(address).post("/api/change", headers=bearer(token)), 401, "unknown-token")


def test_only_operators_change_something(at, tokens):
    for address in (LOCAL, ELSEWHERE):
        there = at(address)
        problem(there.post("/api/change"), 401, "login-needed")
        body = problem(there.post("/api/change", headers=bearer(tokens["victor"])), 403, "not-allowed")
        assert body["detail"] == "victor is a viewer."
        assert there.post("/api/change", headers=bearer(tokens["olga"])).json() == "olga"


def test_a_login_is_remembered_in_a_cookie_that_only_this_site_sends(at, tokens, tmp_path):
    there = at(ELSEWHERE)
    answer = there.post("/api/login", json={"token": f" {tokens['olga']}\n"}, headers=OWN)
    assert answer.json() == {"name": "olga", "role": "operator"}
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert tokens["olga"] not in cookie
    assert there.get("/api/feeds").status_code == 200
    assert there.post("/api/change", headers=OWN).json() == "olga"
    assert there.post("/api/change", headers={"origin": ELSEWHERE}).json() == "olga"
    assert there.post("/api/logout", headers=OWN).status_code == 204
    lines = list(map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines()))
    assert [(line["user"], line["role"], line["act"]) for line in lines] == [
        ("olga", "operator", "login"),
        ("olga", "operator", "logout"),
    ]
    assert there.get("/api/feeds").status_code == 401


@pytest.mark.parametrize(
    "sent", [{"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example.org"}, {}]
)
def test_another_sites_page_changes_nothing_by_a_login(at, tokens, sent):
    there = at(ELSEWHERE)
    there.post("/api/login", json={"token": tokens["olga"]}, headers=OWN)
    problem(there.post("/api/change", headers=sent), 403, "other-site")


def test_another_sites_page_logs_nobody_in_or_out(at, tokens):
    there, sent = at(ELSEWHERE), {"sec-fetch-site": "cross-site"}
    problem(there.post("/api/login", json={"token": tokens["olga"]}, headers=sent), 403, "other-site")
    there.post("/api/login", json={"token": tokens["olga"]}, headers=OWN)
    problem(there.post("/api/logout", headers=sent), 403, "other-site")
    assert there.get("/api/me").json()["name"] == "olga"


def test_a_cookie_is_signed(at, app, tokens):
    there = at(ELSEWHERE)
    there.post("/api/login", json={"token": tokens["victor"]}, headers=OWN)
    [(name, value)] = there.cookies.items()
    forged = value[:-2] + ("AA" if value[-2:] != "AA" else "BB")
    assert at(ELSEWHERE, cookie=f"{name}={value}").get("/api/feeds").status_code == 200
    assert at(ELSEWHERE, cookie=f"{name}={forged}").get("/api/feeds").status_code == 401


def test_who_is_removed_is_out_at_once(at, tokens, tmp_path):
    there, file = at(ELSEWHERE), tmp_path / "users.json"
    there.post("/api/login", json={"token": tokens["olga"]}, headers=OWN)
    file.write_text(Users.read(file).without("olga").text())
    assert there.get("/api/feeds").status_code == 401
    problem(there.get("/api/feeds", headers=bearer(tokens["olga"])), 401, "unknown-token")
    assert there.get("/api/feeds", headers=bearer(tokens["victor"])).status_code == 200


def test_a_damaged_file_lets_nobody_in_and_health_says_so(at, tokens, tmp_path):
    (tmp_path / "users.json").write_text("[")
    problem(at(ELSEWHERE).get("/api/feeds", headers=bearer(tokens["olga"])), 401, "unknown-token")
    assert at().get("/api/feeds").status_code == 200
    assert any("users.json is damaged" in each for each in at().get("/health").json()["remedies"])


def test_guessing_is_slowed_down_and_names_no_other_address(at, tokens, tmp_path):
    there = at(ELSEWHERE)
    for _ in range(10):
        problem(there.post("/api/login", json={"token": "guess"}, headers=OWN), 401, "unknown-token")
    for _ in range(5):
        body = problem(there.post("/api/login", json={"token": "guess"}, headers=OWN), 429, "too-often")
        assert body["remedy"].startswith("Try again in ")
    *lines, blocked = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert [(line["user"], line["act"], line["outcome"]) for line in lines] == [(None, "login refused", "unknown-token")] * 10
    assert lines[0]["address"] == "testclient"
    assert (blocked["user"], blocked["act"], blocked["address"]) == (None, "logins blocked", "testclient")
    assert 50 < blocked["seconds"] <= 60
    assert there.post("/api/login", json={"token": tokens["olga"]}, headers=OWN).status_code == 200, "others do not lock her out"


def test_callers_behind_a_proxy_are_told_apart_by_what_it_passes_on(offline, tokens, tmp_path):
    with served(dataclasses.replace(offline, users=tmp_path / "users.json")) as (url, _):

        def guess(address: str) -> int:
            return httpx.post(f"{url}/api/login", json={"token": "guess"}, headers={"x-forwarded-for": address}).status_code

        assert [guess("192.0.2.1") for _ in range(11)] == [401] * 10 + [429]
        assert guess("192.0.2.2") == 401


def test_a_stream_of_events_ends_when_its_user_is_removed(offline, tokens, tmp_path):
    file, elsewhere = tmp_path / "users.json", {"x-forwarded-for": "192.0.2.1"}
    with served(dataclasses.replace(offline, users=file)) as (url, _):
        with httpx.stream("GET", f"{url}/api/events", headers=bearer(tokens["victor"]) | elsewhere, timeout=60) as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": listening"
            file.write_text(Users.read(file).without("victor").text())
            assert not [line for line in lines if line.startswith("event: ")], "it has ended before the first sign of life"
        assert httpx.get(f"{url}/api/feeds", headers=elsewhere).status_code == 401
