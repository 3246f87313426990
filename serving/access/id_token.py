"""ID tokens: whether the provider signed one, for this client and this login, and who it is about."""

from collections.abc import Mapping
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry

# Signatures by a private key, which the provider alone has. `none` needs no key, and HS* one that others have, too.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
KEY_TYPES = ("RSA", "EC")
LEEWAY = 60  # seconds by which clocks may differ
LONGEST = 100_000  # characters


class IdTokenError(ValueError):
    """The token is not valid. The message names what is wrong with it, and has no text of the token."""


class UnknownKeyError(IdTokenError):
    """None of the keys has the token's key id: the provider may have new ones."""


def keys_of(jwks: Mapping[str, Any]) -> KeySet:
    """The keys that may sign; others are left out. Raises IdTokenError if it is no set of keys."""
    try:
        fit = [key for key in jwks["keys"] if key.get("kty") in KEY_TYPES and key.get("use", "sig") == "sig"]
        return KeySet([JWKRegistry.import_key(key) for key in fit])
    except (JoseError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise IdTokenError(f"the provider's keys can't be read: {type(error).__name__}") from error


def claims_of(token: Any, keys: KeySet, issuer: str, client_id: str, nonce: str, access_token: str | None) -> dict[str, Any]:
    """What a valid token says. Raises IdTokenError for any other: OpenID Connect Core 1.0, section 3.1.3.7."""
    if not isinstance(token, str) or len(token) > LONGEST:
        raise IdTokenError("there is none")
    try:
        found = jwt.decode(token, keys, registry=JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False))
        wanted = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": client_id}}
        params = {"client_id": client_id, "nonce": nonce, "access_token": access_token}
        claims = CodeIDToken(found.claims, found.header, wanted, params)
        claims.validate(leeway=LEEWAY)
    except InvalidKeyIdError as error:
        raise UnknownKeyError("unknown key") from error
    except JoseError as error:
        raise IdTokenError(f"{error.error} {getattr(error, 'claim', '')}".strip()) from error
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise IdTokenError(f"it can't be read: {type(error).__name__}") from error
    return dict(claims)
