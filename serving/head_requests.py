"""HEAD, for every path that answers GET: the same headers without the body. FastAPI's routes answer GET alone."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadRequests:
    """Handles HEAD as GET and drops the body. An endless stream gets a disconnect at once, so it ends."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def left() -> Message:
            return {"type": "http.disconnect"}

        async def only_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)

        await self._app({**scope, "method": "GET"}, left, only_head)
        await send({"type": "http.response.body", "body": b""})
