"""What a login by the identity provider is: who it says one is, which role that gives, and how long it counts."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from contracts.users import PROVIDER_PREFIX, Identity, ProviderName, Role
from serving.access.provider_settings import ProviderSettings

SESSION = "provider"  # key of the login in the session


class NoNameError(ValueError):
    """The claim of names has none that Sundial takes."""


class ProviderUser(Identity):
    """A person who has logged in by the provider."""

    name: ProviderName


class _Login(ProviderUser):
    """As the cookie has it. until: epoch seconds."""

    until: float
    fingerprint: str


_LOGIN = TypeAdapter(_Login)


class ProviderLogins:
    def __init__(self, settings: ProviderSettings, clock: Callable[[], float] = time.time):
        self._settings, self._clock = settings, clock

    def user_of(self, claims: Mapping[str, Any]) -> ProviderUser | None:
        """Who the claims of a valid ID token are about; None: they have no role. Raises NoNameError."""
        settings = self._settings
        role = self._role(claims.get(settings.groups_claim))
        if role is None:
            return None
        name = claims.get(settings.name_claim)
        if settings.name_claim == "email" and claims.get("email_verified") is not True:
            raise NoNameError("The provider has not verified the address in the claim email.")
        try:
            return ProviderUser(name=f"{PROVIDER_PREFIX}{name if isinstance(name, str) else ''}", role=role)
        except ValidationError as error:
            wanted = "1 to 100 ASCII letters, digits and . _ @ + | -"
            raise NoNameError(f"The claim {settings.name_claim} has no name that Sundial takes: {wanted}.") from error

    def remembered(self, user: ProviderUser) -> dict[str, Any]:
        """What the session keeps of a login that begins now."""
        until = self._clock() + self._settings.session_seconds
        login = _Login(name=user.name, role=user.role, until=until, fingerprint=self._settings.fingerprint)
        return {SESSION: login.model_dump()}

    def of_session(self, session: Mapping[str, Any]) -> ProviderUser | None:
        """Who logged in, as long as the login counts: until its time is over, or the settings have changed."""
        try:
            login = _LOGIN.validate_python(session.get(SESSION))
        except ValidationError:
            return None
        if login.fingerprint != self._settings.fingerprint or login.until <= self._clock():
            return None
        return ProviderUser(name=login.name, role=login.role)

    def _role(self, groups: Any) -> Role | None:
        """The highest that one of the groups gives."""
        found = {each for each in (groups if isinstance(groups, list) else [groups]) if isinstance(each, str)}
        if found & self._settings.operators:
            return "operator"
        return "viewer" if found & self._settings.viewers else None
