"""What serving makes of a provider's addresses, keys and signatures. Each login is a real one over HTTP."""

import asyncio
import base64
import hmac
import json
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt

from serving.access.provider import AFTER_FAILURE, BRAKE, FRESH, LoginRefusedError, Provider, ProviderDownError
from tests.serving.access.identity_provider import PUBLIC, unanswered


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ours(provider, clock) -> Provider:
    return Provider(provider.settings(), "s" * 32, clock)


def claims(ours: Provider) -> dict:
    """Of a login from its begin to its end."""

    async def log_in() -> dict:
        login, _ = ours.begun.begin("")
        address = await ours.address(login)
        sent_back = urlsplit(httpx.get(address).headers["location"])
        query = parse_qs(sent_back.query)
        assert query["state"] == [login.state]
        return await ours.claims(login, query["code"][0])

    return asyncio.run(log_in())


def test_what_the_provider_is_asked_for(ours, provider):
    login, _ = ours.begun.begin("")
    asked = parse_qs(urlsplit(asyncio.run(ours.address(login))).query)
    assert asked["redirect_uri"] == [f"{PUBLIC}/login/callback"]
    assert (asked["state"], asked["nonce"], asked["scope"]) == ([login.state], [login.nonce], ["openid profile email"])
    assert (asked["code_challenge_method"], len(asked["code_challenge"][0])) == (["S256"], 43)
    assert login.verifier not in str(asked)


def test_a_key_is_looked_up_again_when_the_provider_has_new_ones_but_not_often(ours, provider, clock):
    assert claims(ours)["sub"] == "248289761001"
    provider.rotate()
    assert claims(ours)["sub"] == "248289761001"
    assert provider.asked["/jwks"] == 2
    provider.header["kid"] = "unheard of"
    for _ in range(3):
        with pytest.raises(LoginRefusedError, match="unknown key"):
            claims(ours)
    assert provider.asked["/jwks"] == 2
    clock.now += BRAKE
    with pytest.raises(LoginRefusedError, match="unknown key"):
        claims(ours)
    assert provider.asked["/jwks"] == 3


def test_addresses_and_keys_are_asked_for_once_an_hour(ours, provider, clock):
    claims(ours), claims(ours)
    discovery = "/.well-known/openid-configuration"
    assert (provider.asked[discovery], provider.asked["/jwks"]) == (1, 1)
    clock.now += FRESH
    claims(ours)
    assert (provider.asked[discovery], provider.asked["/jwks"]) == (2, 2)


def test_a_signature_by_another_key(ours, provider):
    claims(ours)
    right, kept = provider.key, dict(provider.header)
    provider.rotate()
    other, provider.key = provider.key, right
    provider.header = kept
    provider.signed = lambda claims: jwt.encode(kept, claims, other)
    with pytest.raises(LoginRefusedError, match="bad_signature"):
        claims(ours)


def encoded(part: dict | bytes) -> str:
    return base64.urlsafe_b64encode(part if isinstance(part, bytes) else json.dumps(part).encode()).decode().rstrip("=")


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE"])
def test_an_unsigned_token(ours, provider, algorithm):
    provider.signed = lambda claims: f"{encoded({'alg': algorithm, 'kid': 'first'})}.{encoded(claims)}."
    with pytest.raises(LoginRefusedError, match="unsupported_algorithm"):
        claims(ours)


def test_the_public_key_as_a_secret(ours, provider):
    """Everybody has it. With HS256, a reader who believes the header would take it for the secret."""
    public = provider.key.as_pem(private=False)

    def signed(claims: dict) -> str:
        said = f"{encoded({'alg': 'HS256', 'kid': 'first'})}.{encoded(claims)}"
        return f"{said}.{encoded(hmac.digest(public, said.encode(), 'sha256'))}"

    provider.signed = signed
    with pytest.raises(LoginRefusedError, match="unsupported_algorithm"):
        claims(ours)


@pytest.mark.parametrize("token", [None, "", "a.b.c", 7, "x" * 100_001, "e30.e30.e30", {"a": 1}])
def test_what_is_no_token(ours, provider, token):
    provider.signed = lambda claims: token
    with pytest.raises(LoginRefusedError, match="ID token is not valid"):
        claims(ours)


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://other.example.org"},
        {"token_endpoint": "http://provider.example.org/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
    ],
)
def test_a_provider_that_says_something_unsafe(ours, provider, metadata):
    provider.metadata = metadata
    with pytest.raises(ProviderDownError):
        claims(ours)
    assert "/authorize" not in provider.asked


@pytest.mark.full
def test_a_provider_that_does_not_answer_is_left_alone_for_a_while(provider, clock):
    right, provider.issuer = provider.issuer, unanswered()
    ours = Provider(provider.settings(), "s" * 32, clock)
    with pytest.raises(ProviderDownError):
        claims(ours)
    provider.issuer = right
    ours = Provider(provider.settings(), "s" * 32, clock)
    provider.down = True
    for _ in range(3):
        with pytest.raises(ProviderDownError):
            claims(ours)
    assert provider.asked == {"/.well-known/openid-configuration": 1}
    provider.down = False
    clock.now += AFTER_FAILURE
    assert claims(ours)["sub"] == "248289761001"


def test_a_client_that_the_provider_does_not_know(provider, clock):
    ours = Provider(provider.settings(), "s" * 32, clock)
    wrong = Provider(provider.settings(client_secret="wrong"), "s" * 32, clock)
    with pytest.raises(ProviderDownError, match="invalid_client"):
        claims(wrong)
    assert claims(ours)["sub"] == "248289761001"


def test_the_secret_is_sent_as_the_provider_takes_it(ours, provider):
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    with pytest.raises(ProviderDownError, match="invalid_client"):  # the provider of the test takes the other way alone
        claims(ours)


def test_nothing_shows_the_secret(ours, provider):
    assert provider.settings().client_secret not in f"{provider.settings()!r} {vars(ours)!r}"
