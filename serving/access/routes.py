"""Log in, log out, and who one is."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from contracts.users import Role
from serving.access.authentication import HOW, Caller, caller_of
from serving.access.login_checks import not_too_often, own_page, refused
from serving.dependencies import INVALID, PROBLEM, CurrentState, Responses
from serving.problems import ProblemError

router = APIRouter(tags=["access"])
UNKNOWN: Responses = {401: PROBLEM | {"description": "The token does not count."}}
TOO_OFTEN: Responses = {429: PROBLEM | {"description": "Too many logins from this address failed."}}
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
    own_page(request)
    user = state.users.of_token(given.token.strip())
    if user is None:  # a token that counts is let in, whatever others at its address have tried
        refused(state, not_too_often(request, state), "unknown-token")
        raise ProblemError(401, "unknown-token", "The token does not count", "No user has this token.", HOW)
    state.audit.note(user, "login", {})
    request.session.clear()
    request.session.update(name=user.name, sha256=user.sha256)
    return Me(name=user.name, role=user.role)


@router.post("/api/logout", summary="Log out", status_code=204, responses=UNKNOWN | OTHER_SITE)
async def logout(request: Request, state: CurrentState) -> Response:
    own_page(request)
    if user := caller_of(request).user:
        state.audit.note(user, "logout", {})
    request.session.clear()
    return Response(status_code=204)


@router.get("/api/me", summary="Who one is", responses=UNKNOWN)
async def me(request: Request) -> Me:
    caller: Caller = caller_of(request)
    return Me(name=caller.user.name, role=caller.user.role) if caller.user else Me(name=None, role=None)
