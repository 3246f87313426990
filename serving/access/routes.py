"""Log in, log out, and who one is."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from contracts.users import Role
from serving.access.authentication import HOW, Caller, caller_of, same_site
from serving.dependencies import INVALID, PROBLEM, CurrentState, Responses
from serving.problems import ProblemError

router = APIRouter(tags=["access"])
UNKNOWN: Responses = {401: PROBLEM | {"description": "The token does not count."}}
TOO_OFTEN: Responses = {429: PROBLEM | {"description": "Too many tokens that do not count came from this address."}}
OTHER_SITE: Responses = {403: PROBLEM | {"description": "Another site's page sent it."}}


class Login(BaseModel):
    token: str = Field(min_length=1, max_length=200, description="As `sundial users add` printed it.")


class Me(BaseModel):
    """Who calls. name, role: null without a login."""

    name: str | None = Field(description="The user's name.")
    role: Role | None = Field(description="`operator` may change things.")


@router.post("/api/login", summary="Log in with a token", status_code=200, responses=UNKNOWN | INVALID | TOO_OFTEN | OTHER_SITE)
async def login(request: Request, given: Login, state: CurrentState) -> Me:
    """Sets a cookie, by which a browser is known for twelve hours."""
    _own_page(request)
    address = request.client.host if request.client else ""
    if wait := state.wrong_tokens.wait(address):
        problem = f"Tokens that do not count came from {address or 'there'} too often."
        raise ProblemError(429, "too-often", "Wait before the next try", problem, f"Try again in {wait:.0f} seconds.")
    user = state.users.of_token(given.token.strip())
    if user is None:
        state.wrong_tokens.count(address)
        raise ProblemError(401, "unknown-token", "The token does not count", "No user has this token.", HOW)
    request.session.update(name=user.name, sha256=user.sha256)
    state.audit.note(user, "login", {})
    return Me(name=user.name, role=user.role)


@router.post("/api/logout", summary="Log out", status_code=204, responses=OTHER_SITE)
async def logout(request: Request) -> Response:
    _own_page(request)
    request.session.clear()
    return Response(status_code=204)


@router.get("/api/me", summary="Who one is", responses=UNKNOWN)
async def me(request: Request) -> Me:
    caller: Caller = caller_of(request)
    return Me(name=caller.user.name, role=caller.user.role) if caller.user else Me(name=None, role=None)


def _own_page(request: Request) -> None:
    """Another site must not log a browser in or out."""
    if (request.headers.get("sec-fetch-site") or request.headers.get("origin")) and not same_site(request):
        detail = "The request comes from a page that is not Sundial's."
        raise ProblemError(403, "other-site", "Another site sent this", detail, "Log in on Sundial's own page.")
