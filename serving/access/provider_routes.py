"""Log in by the identity provider: the page asks where to go, and the provider sends the browser back."""

import logging
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from serving import html_pages
from serving.access.begun_logins import PATIENCE
from serving.access.login_checks import not_too_often, own_page, refused
from serving.access.provider import LoginRefusedError, Provider, ProviderDownError
from serving.access.provider_login import NoNameError, ProviderUser
from serving.access.provider_settings import CALLBACK
from serving.access.routes import OTHER_SITE, TOO_OFTEN
from serving.dependencies import INVALID, PROBLEM, CurrentState, Responses
from serving.problems import ProblemError, answer
from serving.state import State

log = logging.getLogger("serving.access")

router = APIRouter(tags=["access"])
AGAIN = "Begin again on the page of the login."
PAGE = {"text/html": {"schema": {"type": "string"}}}
PROBLEM_OR_PAGE = PROBLEM | {"content": PROBLEM["content"] | PAGE}
NO_PROVIDER: Responses = {404: PROBLEM | {"description": "There is no identity provider."}}
DOWN: Responses = {503: PROBLEM | {"description": "The identity provider does not answer."}}
CALLED_BACK: Responses = {
    200: {"description": "The login is done. The page leads on.", "content": PAGE},
    401: PROBLEM_OR_PAGE | {"description": "No login waits for this, or the provider or its ID token does not confirm it."},
    403: PROBLEM_OR_PAGE | {"description": "The provider gives the user no role, or no name that Sundial takes."},
    404: PROBLEM_OR_PAGE | {"description": "There is no identity provider."},
    429: PROBLEM_OR_PAGE | {"description": "Too many logins from this address failed."},
    503: PROBLEM_OR_PAGE | {"description": "The identity provider does not answer."},
}


class ProviderInfo(BaseModel):
    name: str | None = Field(description="What the login page calls the identity provider; null: there is none.")


class Begin(BaseModel):
    back: str = Field(
        default="", pattern=r"^[!-~]*$", max_length=2000, description="Query of the login page: which page to show afterwards."
    )


class LoginAddress(BaseModel):
    url: str = Field(description="Where the browser goes to log in.")


@router.get("/api/login/provider", summary="The identity provider")
async def provider_info(state: CurrentState) -> ProviderInfo:
    return ProviderInfo(name=state.provider.settings.label if state.provider else None)


@router.post(
    "/api/login/provider",
    summary="Begin a login by the identity provider",
    responses=NO_PROVIDER | INVALID | TOO_OFTEN | OTHER_SITE | DOWN,
)
async def begin(request: Request, given: Begin, state: CurrentState, response: Response) -> LoginAddress:
    """Sets a cookie, which binds the login to the browser for ten minutes."""
    own_page(request)
    not_too_often(request, state)
    provider = _provider(state)
    login, cookie = provider.begun.begin(given.back)
    try:
        url = await provider.address(login)
    except ProviderDownError as error:
        raise _down(provider) from error
    response.set_cookie(max_age=PATIENCE, value=cookie, **_cookie(provider))
    return LoginAddress(url=url)


@router.get(
    CALLBACK,
    summary="Where the identity provider sends the browser back to",
    response_class=HTMLResponse,
    responses=CALLED_BACK | INVALID,
)
async def called_back(
    request: Request,
    state: CurrentState,
    login_state: Annotated[str, Query(alias="state", max_length=200)] = "",
    code: Annotated[str, Query(max_length=8000)] = "",
) -> Response:
    """Sets the cookie of the session. Browsers get a page, programs a problem."""
    response: Response
    try:
        back = await _log_in(request, state, login_state, code)
        response = HTMLResponse(html_pages.logged_in(_came_from(back)))
    except ProblemError as refusal:
        response = answer(refusal)
        if "text/html" in request.headers.get("accept", ""):
            said = refusal.body
            response = HTMLResponse(html_pages.not_logged_in(said["detail"], said["remedy"]), refusal.status)
    if state.provider:
        response.delete_cookie(**_cookie(state.provider))
    return response


async def _log_in(request: Request, state: State, login_state: str, code: str) -> str:
    """Logs the browser in, and returns the query of the login page. Raises ProblemError."""
    address = not_too_often(request, state)
    provider = _provider(state)
    cookie = request.cookies.get(_cookie(provider)["key"])
    if cookie is None:  # not counted: other sites can make a browser ask for this, and it costs nothing
        raise _refusal("No login of this browser waits for an answer of the provider.")
    try:
        login = provider.begun.answered(cookie, login_state)
        if login is None:
            raise LoginRefusedError("The login is older than ten minutes, was answered before, or began in another browser.")
        if not code:
            raise LoginRefusedError("The provider did not log you in.")
        claims = await provider.claims(login, code)
        user = provider.logins.user_of(claims)
        if user is None:
            raise NoNameError("None of your groups at the provider has a role in Sundial.")
    except ProviderDownError as error:
        raise _down(provider) from error
    except LoginRefusedError as error:
        refused(state, address, "login-refused")
        raise _refusal(str(error)) from error
    except NoNameError as error:
        refused(state, address, "not-admitted")
        log.warning("a login by the identity provider is refused: %s", error)
        remedy = "Ask someone who keeps the stack, or log in with a token."
        raise ProblemError(403, "not-admitted", "You may not log in", str(error), remedy) from error
    _remember(request, state, provider, user, str(claims["sub"]))
    return login.back


def _remember(request: Request, state: State, provider: Provider, user: ProviderUser, subject: str) -> None:
    state.audit.note(user, "login", {"issuer": provider.settings.issuer, "subject": subject})
    request.session.clear()
    request.session.update(provider.logins.remembered(user))


def _came_from(query: str) -> str:
    """The page that the query of the login page names, if the header links to it, with what was chosen on it."""
    chosen = parse_qsl(query, keep_blank_values=True)
    named = next((f"/{value}" for name, value in chosen if name == "page"), "/")
    rest = urlencode([(name, value) for name, value in chosen if name != "page"])
    page = named if named in html_pages.PAGES else "/"
    return f"{page}?{rest}" if rest else page


def _cookie(provider: Provider) -> dict:
    """Of a begun login. Lax: the provider's page leads back here. The prefix keeps other hosts of the domain from setting it."""
    secure = provider.settings.public.startswith("https:")
    key = "__Host-sundial-login" if secure else "sundial-login"
    return {"key": key, "path": "/", "secure": secure, "httponly": True, "samesite": "lax"}


def _provider(state: State) -> Provider:
    if state.provider is None:
        remedy = "Log in with a token, or set SUNDIAL_OIDC_ISSUER of serving and restart it."
        raise ProblemError(404, "no-provider", "There is no identity provider", "Serving does not know one.", remedy)
    return state.provider


def _refusal(detail: str) -> ProblemError:
    log.warning("a login by the identity provider is refused: %s", detail)
    return ProblemError(401, "login-refused", "You have not logged in", detail, AGAIN)


def _down(provider: Provider) -> ProblemError:
    detail = f"{provider.settings.label} does not answer as it should; the log of serving says why."
    return ProblemError(503, "provider-down", "The provider does not answer", detail, "Try again later, or log in with a token.")
