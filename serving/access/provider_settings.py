"""What serving needs to know of the identity provider: SUNDIAL_OIDC_*. Without an issuer there is none."""

import hashlib
import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

CALLBACK = "/login/callback"  # where the provider sends browsers back to
ISSUER, CLIENT_ID = "SUNDIAL_OIDC_ISSUER", "SUNDIAL_OIDC_CLIENT_ID"
SECRET, SECRET_FILE = "SUNDIAL_OIDC_CLIENT_SECRET", "SUNDIAL_OIDC_CLIENT_SECRET_FILE"
LABEL, SCOPES, NAME_CLAIM = "SUNDIAL_OIDC_LABEL", "SUNDIAL_OIDC_SCOPES", "SUNDIAL_OIDC_NAME_CLAIM"
GROUPS_CLAIM, OPERATORS, VIEWERS = "SUNDIAL_OIDC_GROUPS_CLAIM", "SUNDIAL_OIDC_OPERATORS", "SUNDIAL_OIDC_VIEWERS"
MINUTES = "SUNDIAL_OIDC_SESSION_MINUTES"
NAME_CLAIMS = ("preferred_username", "email", "sub")
MOST_MINUTES = 12 * 60  # as long as a login with a token
LONGEST_LABEL = 60  # characters: it stands on a button


class ProviderSettingsError(ValueError):
    """The variables contradict each other or have wrong values; the message lists all of it and never shows the secret."""


@dataclass(frozen=True)
class ProviderSettings:
    """label: what the login page calls the provider. operators, viewers: values of the claim of groups."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    public: str  # address of the dashboard for browsers
    label: str
    operators: frozenset[str]
    viewers: frozenset[str]
    groups_claim: str = "groups"
    name_claim: str = "preferred_username"
    scopes: str = "openid profile email"
    session_seconds: int = MOST_MINUTES * 60

    @classmethod
    def from_environment(cls, env: Mapping[str, str], public: str) -> "ProviderSettings | None":
        """None without an issuer. Raises ProviderSettingsError naming every variable at fault."""
        issuer = env.get(ISSUER, "")
        if not issuer:
            return None
        client_id, label = env.get(CLIENT_ID, ""), env.get(LABEL) or urlsplit(issuer).netloc
        name_claim, minutes = env.get(NAME_CLAIM) or cls.name_claim, env.get(MINUTES) or str(MOST_MINUTES)
        operators, viewers = (frozenset(_listed(env.get(name, ""))) for name in (OPERATORS, VIEWERS))
        secret, mistakes = _secret(env)
        if not is_safe(issuer) or urlsplit(issuer).query or urlsplit(issuer).fragment:
            mistakes.append(f"{ISSUER} is no https:// URL; http:// is for a provider on this machine alone")
        if not is_safe(public):
            mistakes.append(f"SUNDIAL_API is no https:// URL, as {ISSUER} needs: the provider sends browsers back to it")
        if not client_id:
            mistakes.append(f"{CLIENT_ID} is not set: {ISSUER} goes with it")
        if not operators | viewers:
            mistakes.append(f"neither {OPERATORS} nor {VIEWERS} is set: no group would have a role")
        if name_claim not in NAME_CLAIMS:
            mistakes.append(f"{NAME_CLAIM} is none of {', '.join(NAME_CLAIMS)}")
        if not label.isprintable() or len(label) > LONGEST_LABEL:
            mistakes.append(f"{LABEL} has more than {LONGEST_LABEL} characters, or some that can't be printed")
        if not minutes.isdecimal() or not 1 <= int(minutes) <= MOST_MINUTES:
            mistakes.append(f"{MINUTES} is no number from 1 to {MOST_MINUTES}")
        if mistakes:
            raise ProviderSettingsError("\n".join(mistakes))
        scopes = env.get(SCOPES, "").split() or cls.scopes.split()
        return cls(
            issuer=issuer,
            client_id=client_id,
            client_secret=secret,
            public=public.rstrip("/"),
            label=label,
            operators=operators,
            viewers=viewers,
            groups_claim=env.get(GROUPS_CLAIM) or cls.groups_claim,
            name_claim=name_claim,
            scopes=" ".join(dict.fromkeys(["openid", *scopes])),
            session_seconds=int(minutes) * 60,
        )

    @property
    def redirect_uri(self) -> str:
        return self.public + CALLBACK

    @property
    def fingerprint(self) -> str:
        """Of all that decides who gets in. A login counts as long as this stays the same."""
        deciding = [self.issuer, self.client_id, self.name_claim, self.groups_claim, sorted(self.operators), sorted(self.viewers)]
        return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()


def is_safe(url: str) -> bool:
    """Whether what is sent there can be neither read nor changed on the way: by TLS, or because it stays on this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.username is not None or not host:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _secret(env: Mapping[str, str]) -> tuple[str, list[str]]:
    """(the client's secret, what is wrong with it)."""
    given, file = env.get(SECRET, ""), env.get(SECRET_FILE, "")
    if bool(given) == bool(file):
        return "", [f"set either {SECRET} or {SECRET_FILE}"]
    try:
        secret = given or Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        return "", [f"{SECRET_FILE} can't be read: {type(error).__name__}"]
    if not secret or not secret.isprintable():
        return "", [f"{SECRET if given else SECRET_FILE} is empty, or has characters that can't be printed"]
    return secret, []
