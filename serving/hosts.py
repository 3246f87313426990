"""The names by which serving may be called. Any other is refused: it may be another site's that leads here (DNS rebinding)."""

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.problems import ProblemError, answer


class KnownHosts:
    """Starlette decides which names are allowed, and a problem says so: Starlette's own answer is plain text."""

    def __init__(self, app: ASGIApp, allowed: Sequence[str]):
        self._app, self._allowed = app, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = False

        async def find(*_: object) -> None:
            nonlocal known
            known = True

        async def drop(_: Message) -> None:
            pass

        await TrustedHostMiddleware(find, self._allowed, www_redirect=False)(scope, receive, drop)
        await (self._app if known else answer(_refusal(scope)))(scope, receive, send)


def _refusal(scope: Scope) -> ProblemError:
    detail = f"Serving does not answer to the host name {Headers(scope=scope).get('host', '')[:80]!r}."
    remedy = "Call it by a name that SUNDIAL_API_HOSTS lists, or add this name there and restart serving."
    return ProblemError(400, "unknown-host", "The host name is not allowed", detail, remedy)
