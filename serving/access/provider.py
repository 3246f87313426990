"""The identity provider: where browsers log in, and what it says about who did. OpenID Connect, authorization code with PKCE."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc.jwk import KeySet

from serving.access.begun_logins import BegunLogin, BegunLogins
from serving.access.id_token import IdTokenError, UnknownKeyError, claims_of, keys_of
from serving.access.provider_login import ProviderLogins
from serving.access.provider_settings import ProviderSettings, is_safe

log = logging.getLogger("serving.access")

DISCOVERY = "/.well-known/openid-configuration"
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
FRESH = 3600.0  # seconds that what was discovered counts
BRAKE = 30.0  # seconds between two looks for a key that is not there, which anybody's token may name
AFTER_FAILURE = 5.0  # seconds without another try
PATIENCE = 5.0  # seconds for one answer of the provider


class ProviderDownError(Exception):
    """The provider does not answer, or not as a provider does."""


class LoginRefusedError(Exception):
    """The provider refuses the code, or what it says about who logged in is not valid."""


class Provider:
    """Serving asks it for its addresses and keys at a login, not before: so serving starts without it."""

    def __init__(self, settings: ProviderSettings, session_secret: str, clock: Callable[[], float] = time.monotonic):
        self.settings, self.begun, self.logins = settings, BegunLogins(session_secret), ProviderLogins(settings)
        self._clock, self._lock = clock, asyncio.Lock()
        self._metadata: dict[str, Any] = {}
        self._keys = KeySet([])
        self._fresh_until = self._no_key_until = self._down_until = float("-inf")

    async def address(self, login: BegunLogin) -> str:
        """Where the browser goes to log in. Raises ProviderDownError."""
        async with self._client() as client:
            await self._discover(client)
            endpoint = self._metadata["authorization_endpoint"]
            address, _ = client.create_authorization_url(
                endpoint, state=login.state, nonce=login.nonce, code_verifier=login.verifier
            )
        return address

    async def claims(self, login: BegunLogin, code: str) -> dict[str, Any]:
        """What the provider says about who logged in, by a code that it gave the browser. Raises ProviderDownError and
        LoginRefusedError."""
        async with self._client() as client:
            await self._discover(client)
            token = await self._token(client, login, code)
            try:
                return await self._checked(client, login, token)
            except IdTokenError as error:
                raise LoginRefusedError(f"The provider's ID token is not valid: {error}.") from error

    async def _token(self, client: AsyncOAuth2Client, login: BegunLogin, code: str) -> dict[str, Any]:
        basic = "client_secret_basic" in self._metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        client.token_endpoint_auth_method = "client_secret_basic" if basic else "client_secret_post"
        try:
            return await client.fetch_token(self._metadata["token_endpoint"], code=code, code_verifier=login.verifier)
        except OAuthError as error:
            if error.error == "invalid_grant":
                raise LoginRefusedError("The provider does not accept the code that the browser brought.") from error
            raise _down(f"its answer to a code is an error, {error.error!r:.80}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError) as error:
            raise _down(f"{type(error).__name__} when it was asked for tokens") from error

    async def _checked(self, client: AsyncOAuth2Client, login: BegunLogin, token: dict[str, Any]) -> dict[str, Any]:
        known = self.settings.issuer, self.settings.client_id, login.nonce, token.get("access_token")
        try:
            return claims_of(token.get("id_token"), self._keys, *known)
        except UnknownKeyError:
            async with self._lock:
                if self._clock() >= self._no_key_until:
                    self._no_key_until = self._clock() + BRAKE
                    self._keys = keys_of(await self._json(client, self._metadata["jwks_uri"]))
            return claims_of(token.get("id_token"), self._keys, *known)

    async def _discover(self, client: AsyncOAuth2Client) -> None:
        """Addresses and keys, unless they are known and fresh."""
        async with self._lock:
            if self._clock() < self._fresh_until:
                return
            if self._clock() < self._down_until:
                raise ProviderDownError
            self._down_until = self._clock() + AFTER_FAILURE  # unless what follows succeeds
            found = await self._json(client, self.settings.issuer.rstrip("/") + DISCOVERY)
            if found.get("issuer") != self.settings.issuer:
                raise _down(f"it calls itself {found.get('issuer')!r:.200}, not {self.settings.issuer}")
            if unsafe := [name for name in ENDPOINTS if not is_safe(str(found.get(name, "")))]:
                raise _down(f"{', '.join(unsafe)} is no https:// URL")
            try:
                self._keys = keys_of(await self._json(client, found["jwks_uri"]))
            except IdTokenError as error:
                raise _down(str(error)) from error
            self._metadata, self._fresh_until, self._down_until = found, self._clock() + FRESH, float("-inf")

    async def _json(self, client: AsyncOAuth2Client, url: str) -> dict[str, Any]:
        try:
            answer = await client.request("GET", url, withhold_token=True)
            found = answer.raise_for_status().json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise _down(f"{type(error).__name__} at {url}") from error
        if not isinstance(found, dict):
            raise _down(f"no JSON object at {url}")
        return found

    def _client(self) -> AsyncOAuth2Client:
        known = self.settings
        return AsyncOAuth2Client(
            known.client_id,
            known.client_secret,
            scope=known.scopes,
            redirect_uri=known.redirect_uri,
            code_challenge_method="S256",
            timeout=PATIENCE,
            follow_redirects=False,
        )


def _down(why: str) -> ProviderDownError:
    log.error("the login by the identity provider does not work: %s", why)
    return ProviderDownError(why)
