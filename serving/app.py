"""The serving process: HTTP API and dashboard. Run it with `uvicorn serving.app:app`; SUNDIAL_* say where the platform is."""

import contextlib
import logging
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware.sessions import SessionMiddleware
from starlette.routing import BaseRoute

from serving import (
    baseline_routes,
    data_docs,
    event_routes,
    fleet,
    health,
    html_pages,
    incident_routes,
    long_reads,
    metrics,
    overview,
    problems,
    readings_route,
    routes,
    series_route,
    statement_routes,
)
from serving.access import provider_routes
from serving.access import routes as access_routes
from serving.access.authentication import COOKIE
from serving.access.guard import Guard
from serving.acts import routes as acts
from serving.compression import CompressedApi
from serving.dependencies import LOGIN_NEEDED, OF_EVERY_PATH
from serving.events import closed_on_signal
from serving.head_requests import HeadRequests
from serving.hosts import KnownHosts
from serving.query_tables import routes as query_routes
from serving.security_headers import SecurityHeaders
from serving.settings import Settings
from serving.state import State

STATIC = Path(__file__).parent / "static"
OF_FEEDS = (routes, event_routes, incident_routes, statement_routes, series_route, readings_route, baseline_routes, data_docs)
ROUTES = (health, fleet, overview, *OF_FEEDS, query_routes, metrics, access_routes, provider_routes, acts, html_pages)
LOGIN_SECONDS = 12 * 3600


@cache
def _routes() -> list[BaseRoute]:
    """Those of ROUTES, made once for all apps of a process: they hold no state, and take longer than all else of an app."""
    router = APIRouter()
    for each in ROUTES:
        guarded = {} if each is provider_routes else LOGIN_NEEDED
        router.include_router(each.router, responses=OF_EVERY_PATH | guarded)
    return router.routes


def create_app(settings: Settings) -> FastAPI:
    """The app over the declared feeds. Following Kafka starts and ends with the app's lifespan."""
    state = State.of(settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        long_reads.start()
        state.events.open()
        state.lake_watch.start()
        state.stream_watch.start()
        state.live.start()
        state.backlog.start()
        with closed_on_signal(state.events):
            yield
        state.events.close()
        state.live.stop()
        state.backlog.stop()
        state.lake_watch.stop()
        state.stream_watch.stop()
        state.changed_rows.stop()
        state.query_tables.stop()

    app = FastAPI(
        title="Sundial",
        version="0.1.0",
        summary="What each service's traffic should be, what it is, and where they part.",
        description="Instants are ISO 8601 in UTC. Errors are application/problem+json and say what to do.",
        lifespan=lifespan,
        routes=_routes(),
        docs_url=None,  # its page loads scripts from elsewhere, which the content security policy forbids
        redoc_url=None,
    )
    app.state.sundial = state
    problems.install(app)
    app.add_middleware(CompressedApi)
    app.add_middleware(Guard)
    app.add_middleware(
        SessionMiddleware,
        secret_key=settings.session_secret,
        session_cookie=COOKIE,
        max_age=LOGIN_SECONDS,
        same_site="strict",
        https_only=settings.page.startswith("https:"),
    )
    app.add_middleware(KnownHosts, allowed=settings.hosts)
    app.add_middleware(HeadRequests)
    app.add_middleware(SecurityHeaders)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


def __getattr__(name: str) -> FastAPI:
    """`app` is made when a server first asks for it, so that importing this module needs no environment."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    globals()["app"] = create_app(Settings.from_env())
    return globals()["app"]
