"""Who may use the API: people and programs with a token each, in one file that `sundial users` writes and serving reads.

The file holds the SHA-256 of each token. A token has 256 bits of chance, so a plain hash of it can't be turned back.
"""

import datetime as dt
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

from contracts.declarations import Declared

Role = Literal["viewer", "operator"]  # each may do what those before it may
ROLES: tuple[Role, ...] = get_args(Role)
TOKEN_BYTES = 32
PREFIX = "sundial_"  # of every token, so that scanners of source code find one that was leaked
LOCAL_NAME = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}"
PROVIDER_PREFIX = "oidc/"  # no local name has a slash, so no name of the identity provider can be equal to one
PROVIDER_NAME = rf"{PROVIDER_PREFIX}[A-Za-z0-9._@+|-]{{1,100}}"
ANY_NAME = rf"^({LOCAL_NAME}|{PROVIDER_NAME})$"  # of a user, however they log in
UserName = Annotated[str, Field(pattern=rf"^{LOCAL_NAME}$")]
ProviderName = Annotated[str, Field(pattern=rf"^{PROVIDER_NAME}$")]


class UsersError(ValueError):
    """The file of users is damaged, or what is asked of it makes no sense."""


class Identity(Declared):
    """Who may use the API, however they log in."""

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


class User(Identity):
    """sha256: of the token. until: after that the token counts no longer; None: for ever."""

    name: UserName
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    made_at: AwareDatetime
    until: AwareDatetime | None = None

    def counts_at(self, now: dt.datetime) -> bool:
        return self.until is None or now < self.until


_FILE = TypeAdapter(list[User])


@dataclass(frozen=True)
class Users:
    """By name."""

    by_name: Mapping[str, User]

    @classmethod
    def read(cls, file: Path) -> "Users":
        """Without a file there are no users. Raises UsersError if the file is damaged."""
        try:
            found = _FILE.validate_json(file.read_bytes()) if file.exists() else []
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise UsersError(f"{file} is damaged: {place or 'the file'}: {first['msg']}") from error
        return cls({user.name: user for user in found})

    def text(self) -> str:
        """What the file contains."""
        return json.dumps(_FILE.dump_python(list(self.by_name.values()), mode="json"), indent=1) + "\n"

    def added(self, name: str, role: Role, now: dt.datetime, until: dt.datetime | None) -> tuple["Users", str]:
        """(with a new user, the user's token). Raises UsersError for a name that is taken or is none."""
        if name in self.by_name:
            raise UsersError(f"there is a user {name!r} already")
        token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        try:
            user = User(name=name, role=role, sha256=_digest(token), made_at=now, until=until)
        except ValidationError as error:
            raise UsersError(f"{name!r} is no user's name: letters, digits and . _ @ -, at most 100") from error
        return Users({**self.by_name, name: user}), token

    def without(self, name: str) -> "Users":
        """Raises UsersError if no user has this name."""
        if name not in self.by_name:
            raise UsersError(f"there is no user {name!r}; there are: {', '.join(sorted(self.by_name)) or 'none'}")
        return Users({other: user for other, user in self.by_name.items() if other != name})

    def of_token(self, token: str, now: dt.datetime) -> User | None:
        """Whose token it is, if it counts."""
        digest, found = _digest(token), None
        for user in self.by_name.values():  # all of them: how long it takes says nothing
            if hmac.compare_digest(user.sha256, digest) and user.counts_at(now):
                found = user
        return found

    def of_login(self, name: str, sha256: str, now: dt.datetime) -> User | None:
        """Who once logged in as that user with the token of that hash, if both still count."""
        user = self.by_name.get(name)
        return user if user and hmac.compare_digest(user.sha256, sha256) and user.counts_at(now) else None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
