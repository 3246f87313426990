"""An identity provider of the test's own, over HTTP: discovery, a page on which everybody is Olga, tokens and keys."""

import base64
import contextlib
import hashlib
import secrets
import socket
import time
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from joserfc import jwt
from joserfc.jwk import RSAKey

from serving.access.provider_settings import ProviderSettings
from tests.serving.static.operator.airflow import listening

CLIENT, SECRET = "sundial", "the client's secret"
PUBLIC = "https://sundial.example.org"


class IdentityProvider:
    """claims: what an ID token says, over what is right. signed: makes a token of the claims. Each code counts once, and only
    with its verifier. `asked` counts the requests by path."""

    def __init__(self) -> None:
        self.issuer, self.app, self.asked = "", FastAPI(), {}
        self.claims: dict[str, Any] = {"preferred_username": "olga", "groups": ["staff", "sundial-operators"]}
        self.key = _key("first")
        self.header: dict[str, str] = {"alg": "RS256", "kid": "first"}
        self.down, self.metadata, self.signed = False, {}, self.sign
        self._codes: dict[str, dict[str, str]] = {}
        self.app.middleware("http")(self._counted)
        self.app.get("/.well-known/openid-configuration")(self._discovery)
        self.app.get("/authorize")(self._authorize)
        self.app.post("/token")(self._token)
        self.app.get("/jwks")(lambda: {"keys": [self.key.as_dict(private=False, use="sig", alg="RS256")]})

    def settings(self, **more: Any) -> ProviderSettings:
        known = {"issuer": self.issuer, "client_id": CLIENT, "client_secret": SECRET, "public": PUBLIC, "label": "Example"}
        roles = {"operators": frozenset({"sundial-operators"}), "viewers": frozenset({"sundial-viewers"})}
        return ProviderSettings(**(known | roles | more))

    def sign(self, claims: dict[str, Any]) -> str:
        return jwt.encode(self.header, claims, self.key)

    def rotate(self) -> None:
        self.key = _key("second")
        self.header = {"alg": "RS256", "kid": "second"}

    async def _counted(self, request: Request, call_next):
        self.asked[request.url.path] = self.asked.get(request.url.path, 0) + 1
        return JSONResponse({}, 503) if self.down else await call_next(request)

    def _discovery(self) -> dict[str, Any]:
        found = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks", "token_endpoint": f"{self.issuer}/token"}
        return found | {"authorization_endpoint": f"{self.issuer}/authorize"} | self.metadata

    def _authorize(self, request: Request) -> Response:
        """People see a page: what they choose on it comes from the provider's site, for a browser."""
        asked = dict(request.query_params)
        assert (asked["client_id"], asked["response_type"], asked["code_challenge_method"]) == (CLIENT, "code", "S256")
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe()
        self._codes[code] = asked
        back = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
        if "text/html" in request.headers["accept"]:
            return HTMLResponse(f'<title>Example</title><a href="{escape(back)}">I am Olga</a>')
        return RedirectResponse(back, 303)

    def _token(self, request: Request, code: str = Form(), redirect_uri: str = Form(), code_verifier: str = Form()):
        asked = self._codes.pop(code, None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {basic}":
            return JSONResponse({"error": "invalid_client"}, 401)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(code_verifier.encode()).digest()).decode().rstrip("=")
        if asked is None or (asked["redirect_uri"], asked["code_challenge"]) != (redirect_uri, challenge):
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        right = {"iss": self.issuer, "aud": CLIENT, "sub": "248289761001", "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims = {name: value for name, value in (right | self.claims).items() if value is not None}
        return {"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "id_token": self.signed(claims)}


@cache
def _key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid})


@contextlib.contextmanager
def answering() -> Iterator[IdentityProvider]:
    """By the name `localhost`: for a browser, that is another site than 127.0.0.1."""
    provider = IdentityProvider()
    with listening(provider.app) as address:
        provider.issuer = address.replace("127.0.0.1", "localhost")
        yield provider


def unanswered() -> str:
    """An address at which nobody answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"
