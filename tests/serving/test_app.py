"""The app as a whole: its headers, its description, and that it needs its settings."""

import os

import pytest
import uvicorn

from serving.settings import SettingsError


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


def test_the_description_explains_every_path_and_field(client):
    described = client.get("/openapi.json").json()
    assert {"/health", "/api/feeds", "/api/streams", "/api/events"} < set(described["paths"])
    for path, methods in described["paths"].items():
        assert methods["get"]["summary"], path
    point = described["components"]["schemas"]["Point"]["properties"]
    assert all(point[name].get("description") for name in ("at", "value", "expected", "low", "high", "pct"))


def test_the_app_does_not_start_without_its_settings(monkeypatch):
    for name in [name for name in os.environ if name.startswith("SUNDIAL_")]:
        monkeypatch.delenv(name)
    with pytest.raises(SettingsError, match="SUNDIAL_KAFKA is not set"):
        uvicorn.Config("serving.app:app").load()
