"""Who calls, and whether the caller may. No other module looks at a token or a cookie."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from contracts.users import Identity
from serving.dependencies import CurrentState
from serving.problems import ProblemError

COOKIE = "sundial"
SCHEME = "bearer "
HOW = "Log in at /login, or send the header `Authorization: Bearer TOKEN`. `sundial users add` makes a token."


@dataclass(frozen=True)
class Caller:
    """user: None without a login. by_cookie: the login is a cookie, which browsers send by themselves."""

    user: Identity | None
    by_cookie: bool = False


def caller_of(request: HTTPConnection) -> Caller:
    """Raises ProblemError for a token that does not count: whoever sends one shall learn of it."""
    users, provider = request.app.state.sundial.users, request.app.state.sundial.provider
    header = request.headers.get("authorization", "")
    if header[: len(SCHEME)].lower() == SCHEME:
        if user := users.of_token(header[len(SCHEME) :].strip()):
            return Caller(user)
        raise ProblemError(401, "unknown-token", "The token does not count", "No user has this token.", HOW)
    login = request.scope.get("session") or {}
    if user := users.of_login(login.get("name", ""), login.get("sha256", "")):
        return Caller(user, by_cookie=True)
    if provider and (known := provider.logins.of_session(login)):
        return Caller(known, by_cookie=True)
    return Caller(None)


def same_site(request: HTTPConnection) -> bool:
    """Whether a page of serving itself sent it, as browsers say (Fetch Metadata; else the origin)."""
    if site := request.headers.get("sec-fetch-site"):
        return site == "same-origin"
    origin = request.headers.get("origin", "")
    return urlsplit(origin).netloc == request.headers.get("host")


async def operator(request: Request, state: CurrentState) -> Identity:
    """The user who asks for a change. Raises ProblemError: 401 without a login, 403 for a viewer or another site's page."""
    caller = caller_of(request)
    if caller.user is None:
        detail = f"{request.method} {request.url.path} changes something, so it needs a login."
        raise ProblemError(401, "login-needed", "Log in first", detail, HOW)
    if caller.by_cookie and not same_site(request):
        detail = "The request carries a login, but no page of Sundial has sent it."
        raise ProblemError(403, "other-site", "Another site sent this", detail, "Do it on Sundial's own page, or send a token.")
    if not caller.user.may("operator"):
        detail = f"{caller.user.name} is a {caller.user.role}."
        remedy = "Ask someone who keeps the stack for the role of an operator."
        raise ProblemError(403, "not-allowed", "Only operators may do this", detail, remedy)
    return caller.user


Operator = Annotated[Identity, Depends(operator)]
