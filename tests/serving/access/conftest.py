"""Serving with an identity provider, and browsers that log in there."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from contracts.users import Users
from serving.access.authentication import Operator
from serving.access.provider_settings import CALLBACK, ProviderSettings
from serving.app import create_app
from tests.serving.access.identity_provider import PUBLIC, IdentityProvider
from tests.serving.static.operator.airflow import listening

OWN = {"sec-fetch-site": "same-origin"}
FROM_THERE = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}  # as browsers say when the provider sends them back


class Browser(TestClient):
    """Calls serving by its public name, and the provider over HTTP."""

    def begin(self, back: str = "", **headers: str) -> httpx.Response:
        return self.post("/api/login/provider", json={"back": back}, headers=OWN | headers)

    def at_provider(self, back: str = "") -> dict[str, str]:
        """Parameters with which the provider sends the browser back."""
        begun = self.begin(back)
        assert begun.status_code == 200, begun.text
        sent_back = httpx.get(begun.json()["url"])
        assert sent_back.status_code == 303, sent_back.text
        address = urlsplit(sent_back.headers["location"])
        assert f"{address.scheme}://{address.netloc}{address.path}" == PUBLIC + CALLBACK
        return {name: value for name, [value] in parse_qs(address.query).items()}

    def back(self, sent: dict[str, str], accept: str = "application/json"):
        return self.get(CALLBACK, params=sent, headers=FROM_THERE | {"accept": accept})

    def log_in(self, back: str = "", accept: str = "application/json"):
        return self.back(self.at_provider(back), accept)


def me(there: TestClient) -> dict[str, str | None]:
    """Who serving takes the browser for."""
    return there.get("/api/me").json()


@pytest.fixture(scope="session")
def provider_server() -> Iterator[tuple[FastAPI, str]]:
    """A server, which each test gives a provider, and its address. Making a server takes longer than most of these tests."""
    serves = FastAPI(openapi_url=None)
    with listening(serves) as address:
        yield serves, address


@pytest.fixture
def provider(provider_server) -> IdentityProvider:
    serves, address = provider_server
    provider = IdentityProvider()
    provider.issuer = address
    serves.router.routes[:] = []
    serves.mount("/", provider.app)
    return provider


@pytest.fixture
def token(tmp_path) -> str:
    """Of olga, a viewer in the file of users."""
    users, token = Users({}).added("olga", "viewer", dt.datetime.now(dt.UTC), None)
    (tmp_path / "users.json").write_text(users.text())
    return token


@pytest.fixture
def app_with(offline, tmp_path, token) -> Callable[[ProviderSettings | None], FastAPI]:
    """app_with(settings): serving with that provider, and with a route that changes something."""

    def made(settings: ProviderSettings | None) -> FastAPI:
        access = {"users": tmp_path / "users.json", "audit": tmp_path / "audit.jsonl", "session_secret": "s" * 32}
        known = {"hosts": ("127.0.0.1", "sundial.example.org"), "page": PUBLIC, "provider": settings}
        app = create_app(dataclasses.replace(offline, **access, **known))

        @app.post("/api/change")
        async def change(user: Operator) -> str:
            return user.name

        return app

    return made


@pytest.fixture
def browser_of() -> Callable[[FastAPI], Browser]:
    return lambda app: Browser(app, base_url=PUBLIC, follow_redirects=False)


@pytest.fixture
def app(app_with, provider) -> FastAPI:
    return app_with(provider.settings())


@pytest.fixture
def there(app, browser_of) -> Browser:
    return browser_of(app)
