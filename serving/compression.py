"""Long answers of the API go compressed to those who take gzip. Files and pages go as they are, and so does Parquet."""

from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from serving.rows import PARQUET

SHORT = 2000  # bytes, below which nothing is gained
AS_IT_IS = (*DEFAULT_EXCLUDED_CONTENT_TYPES, PARQUET)  # compressed already
LEVEL = 4  # of 1.2 kB a service, level 9 takes off a sixth more and needs twelve times as long


class CompressedApi:
    """Compresses the answers under /api/, except streams of events and Parquet."""

    def __init__(self, app: ASGIApp):
        self._app = app
        self._compressing = GZipMiddleware(app, minimum_size=SHORT, compresslevel=LEVEL, exclude_content_types=AS_IT_IS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        of_api = scope["type"] == "http" and scope["path"].startswith("/api/")
        await (self._compressing if of_api else self._app)(scope, receive, send)
