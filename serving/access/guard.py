"""The guard before everything: reading is open on the machine itself, and needs a login from elsewhere."""

import ipaddress
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from serving.access.authentication import HOW, caller_of
from serving.access.provider_settings import CALLBACK
from serving.html_pages import PAGES
from serving.problems import ProblemError, answer

OPEN = ("/login", CALLBACK, "/api/login", "/api/login/provider", "/api/me")  # what one needs to log in
PROBED = "/health"  # without a login it says that serving answers, and no more
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")  # headers that proxies add


class Guard:
    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if scope["type"] != "http" else self._answering(HTTPConnection(scope))
        await app(scope, receive, send)

    def _answering(self, request: HTTPConnection) -> ASGIApp:
        path = request.url.path
        if path in OPEN or path.startswith("/static/") or _is_local(request):
            return self._app
        try:
            if caller_of(request).user:
                return self._app
        except ProblemError as refusal:
            return answer(refusal)
        if path == PROBED:
            return Response(status_code=204)
        if path in PAGES:
            back = [f"page={path[1:]}"] if path != "/" else []  # as the page of the login wants it
            query = "&".join(back + ([request.url.query] if request.url.query else []))
            return RedirectResponse(f"/login?{query}" if query else "/login", 303)
        detail = f"{path} is open without a login on this machine only."
        refused = answer(ProblemError(401, "login-needed", "Log in first", detail, HOW))
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused


def admitted(request: Request) -> Callable[[], bool]:
    """Whether the caller may still read: for answers that go on for long."""

    def now() -> bool:
        try:
            return _is_local(request) or caller_of(request).user is not None
        except ProblemError:
            return False

    return now


Admitted = Annotated[Callable[[], bool], Depends(admitted)]


def _is_local(request: HTTPConnection) -> bool:
    """Whether the call came to this machine from itself, by a name of this machine, and through no proxy. A proxy shows by the
    name that it passes on, or by what it adds."""
    if any(name in request.headers for name in FORWARDED):
        return False
    host, _ = request.scope.get("server") or ("", 0)
    name = urlsplit(f"//{request.headers.get('host', '')}").netloc.rpartition("@")[2]
    name = name if name.endswith("]") else name.rpartition(":")[0] or name
    return _is_loopback(host) and name.lower() in LOCAL_NAMES


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
