"""The dashboard's pages. They hold no data: their scripts ask the API. `html/layout.html` has what all of them share."""

from pathlib import Path

import jinja2
from fastapi import APIRouter
from fastapi.responses import HTMLResponse

# Those that the header links to.
PAGES = {
    "/": "All services",
    "/incidents": "Incidents",
    "/explore": "Explore",
    "/baselines": "Baselines",
    "/queries": "Queries",
    "/streams": "Streams",
}

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_html = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "html"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@router.get("/")
def services(feed: str | None = None) -> str:
    """All services at a glance; with a feed, its services one by one."""
    return _page("fleet.html", "/") if feed is None else _page("service.html")


@router.get("/incidents")
def incidents() -> str:
    return _page("incidents.html", "/incidents")


@router.get("/explore")
def explore() -> str:
    return _page("explore.html", "/explore")


@router.get("/queries")
def queries() -> str:
    return _page("queries.html", "/queries")


@router.get("/streams")
def streams() -> str:
    return _page("streams.html", "/streams")


@router.get("/baselines")
def baselines() -> str:
    return _page("baselines.html", "/baselines")


@router.get("/login")
def login() -> str:
    return _page("login.html")


def logged_in(address: str) -> str:
    """Leads on to the address by itself. A redirect would not do: after one, browsers take the provider's page for the one
    that leads there, and do not send the cookie."""
    return _page("logged_in.html", address=address)


def not_logged_in(detail: str, remedy: str) -> str:
    return _page("not_logged_in.html", detail=detail, remedy=remedy)


def _page(name: str, path: str | None = None, **more: str) -> str:
    """path: its own among PAGES."""
    return _html.get_template(name).render(pages=PAGES.items(), path=path, **more)
