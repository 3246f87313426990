"""The app as a whole: its headers, its description, and that it needs its settings."""

import os

import pytest
import uvicorn
from fastapi.testclient import TestClient

from serving.app import create_app
from serving.settings import SettingsError
from tests.serving.conftest import problem


def test_the_page_and_the_api_run_nothing_from_elsewhere(client):
    for path in ("/", "/static/app.js", "/health", "/api/feeds", "/api/feeds/nope", "/nope"):
        headers = client.get(path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'", path
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'", path
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    page = client.get("/").text
    for inline in ("<script>", "style=", "onclick=", "http://", "https://"):
        assert inline not in page


@pytest.mark.parametrize(
    "path", ["/", "/health", "/metrics", "/static/app.js", "/api/feeds", "/api/feeds/nope", "/nope", "/openapi.json"]
)
def test_head_is_answered_as_get_is_without_the_body(client, path):
    asked, got = client.head(path), client.get(path)
    same = {name: value for name, value in got.headers.items() if name not in ("date", "content-length")}
    assert (asked.status_code, asked.content) == (got.status_code, b"")
    assert {name: value for name, value in asked.headers.items() if name != "content-length"} == same


def test_head_of_the_events_ends_and_leaves_no_listener(client, feed):
    answer = client.head(f"/api/events?feed={feed.name}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert client.app.state.sundial.events.listeners == 0


@pytest.mark.parametrize("path", ["/health", "/api/feeds", "/static/app.js", "/"])
def test_another_method_is_refused_with_those_that_there_are(client, path):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = client.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
        assert answer.headers["content-type"] == "application/problem+json"


def test_an_unexpected_error_is_a_problem_with_all_headers(offline, feed, monkeypatch):
    app = create_app(offline)
    monkeypatch.setattr(app.state.sundial.live, "status", None)
    client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    answer, well = client.get("/health"), client.get("/api/feeds/nope")
    problem(answer, 500, "unexpected")
    unlike = {"content-length", "date"}
    assert {k: v for k, v in answer.headers.items() if k not in unlike} == {
        k: v for k, v in well.headers.items() if k not in unlike
    }


@pytest.mark.parametrize("path", ["/", "/health", "/api/feeds", "/static/app.js", "/openapi.json", "/nope"])
def test_a_host_name_that_is_not_declared_is_refused_with_the_setting_that_declares_it(client, path):
    for host in ("rebound.example", "127.0.0.1.rebound.example:80", "", "a b"):
        answer = client.get(path, headers={"Host": host})
        body = problem(answer, 400, "unknown-host")
        assert repr(host) in body["detail"]
        assert "SUNDIAL_API_HOSTS" in body["remedy"]
        policy, well = answer.headers["content-security-policy"], client.get("/health").headers
        assert (policy, answer.headers["x-frame-options"]) == (well["content-security-policy"], "DENY")
    assert client.get("/health", headers={"Host": "LOCALHOST:18000"}).status_code == 200
    assert client.head(path, headers={"Host": "rebound.example"}).status_code == 400


def test_the_description_says_of_each_path_that_other_host_names_are_refused(client):
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method in methods.values():
            refused = method["responses"]["400"]
            assert "SUNDIAL_API_HOSTS" in refused["description"], path
            assert refused["content"]["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}


def test_the_description_explains_every_path_and_field(client):
    described = client.get("/openapi.json").json()
    assert {"/health", "/api/feeds", "/api/streams", "/api/events"} < set(described["paths"])
    for path, methods in described["paths"].items():
        assert all(method["summary"] for method in methods.values()), path
    point = described["components"]["schemas"]["Point"]["properties"]
    assert all(point[name].get("description") for name in ("at", "value", "expected", "low", "high", "pct"))


def test_the_app_does_not_start_without_its_settings(monkeypatch):
    for name in [name for name in os.environ if name.startswith("SUNDIAL_")]:
        monkeypatch.delenv(name)
    with pytest.raises(SettingsError, match="SUNDIAL_KAFKA is not set"):
        uvicorn.Config("serving.app:app").load()
