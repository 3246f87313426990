"""Settings of the identity provider: every variable at fault is named, and the secret is shown nowhere."""

import pytest

from serving.access.provider_settings import ProviderSettings, ProviderSettingsError, is_safe

PUBLIC = "https://sundial.example.org"
LEAST = {
    "SUNDIAL_OIDC_ISSUER": "https://login.example.org/realms/one",
    "SUNDIAL_OIDC_CLIENT_ID": "sundial",
    "SUNDIAL_OIDC_CLIENT_SECRET": "hidden",
    "SUNDIAL_OIDC_OPERATORS": "ops, platform",
}


def mistakes(env: dict[str, str], public: str = PUBLIC) -> str:
    with pytest.raises(ProviderSettingsError) as error:
        ProviderSettings.from_environment(env, public)
    assert "hidden" not in str(error.value)
    return str(error.value)


def test_without_an_issuer_there_is_no_provider():
    assert ProviderSettings.from_environment(dict.fromkeys(LEAST, ""), PUBLIC) is None
    assert ProviderSettings.from_environment({}, "") is None


def test_what_is_set_and_what_is_not():
    found = ProviderSettings.from_environment(LEAST, PUBLIC)
    assert (found.issuer, found.client_id, found.client_secret) == ("https://login.example.org/realms/one", "sundial", "hidden")
    assert (found.operators, found.viewers, found.groups_claim) == ({"ops", "platform"}, frozenset(), "groups")
    assert (found.name_claim, found.scopes, found.session_seconds) == ("preferred_username", "openid profile email", 43_200)
    assert (found.label, found.redirect_uri) == ("login.example.org", "https://sundial.example.org/login/callback")
    assert "hidden" not in repr(found)
    more = {"SUNDIAL_OIDC_LABEL": "Example", "SUNDIAL_OIDC_VIEWERS": "all", "SUNDIAL_OIDC_GROUPS_CLAIM": "roles"}
    more |= {"SUNDIAL_OIDC_NAME_CLAIM": "sub", "SUNDIAL_OIDC_SCOPES": "groups openid", "SUNDIAL_OIDC_SESSION_MINUTES": "30"}
    found = ProviderSettings.from_environment(LEAST | more, PUBLIC)
    assert (found.label, found.viewers, found.groups_claim, found.name_claim) == ("Example", {"all"}, "roles", "sub")
    assert (found.scopes, found.session_seconds) == ("openid groups", 1800)


def test_every_variable_at_fault_is_named():
    env = {"SUNDIAL_OIDC_ISSUER": "http://login.example.org", "SUNDIAL_OIDC_NAME_CLAIM": "nickname"}
    env |= {"SUNDIAL_OIDC_SESSION_MINUTES": "721", "SUNDIAL_OIDC_LABEL": "x" * 61}
    said = mistakes(env, "http://sundial.example.org")
    for name in (
        "CLIENT_SECRET or",
        "ISSUER is no https",
        "CLIENT_ID is not set",
        "VIEWERS is set",
        "NAME_CLAIM",
        "LABEL",
        "MINUTES",
    ):
        assert name in said
    assert "SUNDIAL_API is no https:// URL" in said
    assert len(said.splitlines()) == 8


def test_the_secret_is_given_or_in_a_file(tmp_path):
    file = tmp_path / "secret"
    file.write_text("of the file\n")
    env = {name: value for name, value in LEAST.items() if name != "SUNDIAL_OIDC_CLIENT_SECRET"}
    found = ProviderSettings.from_environment(env | {"SUNDIAL_OIDC_CLIENT_SECRET_FILE": str(file)}, PUBLIC)
    assert found.client_secret == "of the file"
    assert "set either" in mistakes(LEAST | {"SUNDIAL_OIDC_CLIENT_SECRET_FILE": str(file)})
    assert "can't be read: FileNotFoundError" in mistakes(env | {"SUNDIAL_OIDC_CLIENT_SECRET_FILE": str(tmp_path / "none")})
    file.write_bytes(b"\xff")
    assert "can't be read: UnicodeDecodeError" in mistakes(env | {"SUNDIAL_OIDC_CLIENT_SECRET_FILE": str(file)})
    file.write_text("")
    assert "SECRET_FILE is empty" in mistakes(env | {"SUNDIAL_OIDC_CLIENT_SECRET_FILE": str(file)})


@pytest.mark.parametrize("minutes", ["0", "-1", "x", "1.5", "²"])
def test_a_length_that_is_none(minutes):
    assert "SUNDIAL_OIDC_SESSION_MINUTES" in mistakes(LEAST | {"SUNDIAL_OIDC_SESSION_MINUTES": minutes})


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://login.example.org/realms/one", True),
        ("http://localhost:8080", True),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("http://login.example.org", False),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1@login.example.org", False),
        ("https://user:password@login.example.org", False),
        ("https://", False),
        ("https://login.example.org:port", False),
        ("https://[::1", False),
        ("ftp://127.0.0.1", False),
        ("javascript:alert(1)", False),
        ("", False),
    ],
)
def test_what_is_safe(url, safe):
    assert is_safe(url) is safe
