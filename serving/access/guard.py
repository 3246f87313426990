"""The guard before everything: reading is open on the machine itself, and needs a login from elsewhere."""

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from serving.access.authentication import HOW, caller_of, is_local
from serving.html_pages import PAGES
from serving.problems import ProblemError, answer

OPEN = ("/login", "/api/login", "/api/me")  # what one needs to log in
PROBED = "/health"  # without a login it says that serving answers, and no more


class Guard:
    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if scope["type"] != "http" else self._answering(HTTPConnection(scope))
        await app(scope, receive, send)

    def _answering(self, request: HTTPConnection) -> ASGIApp:
        path = request.url.path
        if path in OPEN or path.startswith("/static/") or is_local(request):
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
