"""Great Expectations' Data Docs of the gate's runs, as pages: `<lake>/data_docs/<feed.table>/<run_id>`, read only.

They are HTML that others made, and services' names stand in it as they came, unescaped. So no script runs in them, nothing is
loaded from elsewhere, and they have an origin of their own (`sandbox`). What they would load from elsewhere is their look: a
stylesheet of Sundial is put in instead. Their index is drawn by scripts alone, so it leads to the newest report.
"""

import functools
import re
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from contracts.feeds import Feed
from serving.dependencies import INVALID, PROBLEM, CurrentState, DeclaredFeed
from serving.problems import ProblemError

RUN_ID = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_.:+-]{1,200}")
KINDS = {".html": "text/html", ".css": "text/css", ".otf": "font/otf"}
KINDS |= {".png": "image/png", ".gif": "image/gif", ".ico": "image/x-icon", ".svg": "image/svg+xml"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
INDEX = ("", "index.html")

router = APIRouter()


def url(lake: str, feed: Feed, run_id: str) -> str | None:
    """Where the Data Docs of a run are served; None: it left none here."""
    folder = _folder(lake, feed, run_id)
    return None if folder is None or _report(folder) is None else f"/gate/{feed.name}/{quote(run_id, safe='')}/"


@router.get("/gate/{feed}/{run_id}", include_in_schema=False)
@router.get(
    "/gate/{feed}/{run_id}/{file:path}",
    tags=["baseline"],
    summary="Great Expectations' Data Docs of one run of the gate",
    response_class=HTMLResponse,
    responses={
        200: {"content": {kind: {} for kind in KINDS.values()}},
        307: {"description": "To the newest report."},
        404: PROBLEM | {"description": "No such feed, run or file."},
        **INVALID,
    },
)
def data_docs(feed: DeclaredFeed, run_id: str, state: CurrentState, file: str = "") -> Response:
    """A file of the run's Data Docs. The folder itself and its index lead to the newest report. No script runs in them."""
    folder = _folder(state.settings.lake, feed, run_id)
    if folder is None:
        raise _unknown(feed, f"The gate has left no Data Docs of a run {run_id[:80]!r}.")
    found = _report(folder) if file in INDEX else _file(folder, file)
    if found is None:
        raise _unknown(feed, f"The Data Docs of run {run_id[:80]!r} have no {file[:80] or 'report'!r}.")
    if file in INDEX:
        return RedirectResponse(f"/gate/{feed.name}/{quote(run_id, safe='')}/{quote(found.relative_to(folder).as_posix())}")
    content = found.read_bytes()
    if found.suffix == ".html":
        content = content.replace(b"</head>", _look() + b"</head>", 1)
    return Response(content, media_type=KINDS[found.suffix], headers={"Content-Security-Policy": POLICY})


def _folder(lake: str, feed: Feed, run_id: str) -> Path | None:
    """The folder of a run's Data Docs, if there is one."""
    if not RUN_ID.fullmatch(run_id):
        return None
    folder = Path(lake).resolve() / "data_docs" / feed.table / run_id
    return folder if folder.is_dir() and folder.resolve() == folder else None


def _file(folder: Path, name: str) -> Path | None:
    """A file below the folder by its plain name: no way round by `..` or a link, and only of the kinds that Data Docs have."""
    file = folder / name
    if any(part in ("", ".", "..") for part in name.split("/")) or file.suffix not in KINDS:
        return None
    try:
        return file if file.resolve() == file and file.is_file() else None
    except (OSError, ValueError):  # a name too long, or one with a null character
        return None


def _report(folder: Path) -> Path | None:
    """The newest report: validations/<suite>/<run name>/<time>/<data>.html."""
    reports = sorted(folder.glob("validations/*/*/*/*.html"), key=lambda file: file.parent.name)
    return _file(folder, reports[-1].relative_to(folder).as_posix()) if reports else None


def _unknown(feed: Feed, detail: str) -> ProblemError:
    remedy = f"GET /api/feeds/{feed.name}/gate-results lists the runs of the gate; docs_url is where each one's Data Docs are."
    return ProblemError(404, "unknown-docs", "No such Data Docs", detail, remedy)


@functools.cache
def _look() -> bytes:
    return b"<style>" + (Path(__file__).parent / "static" / "data-docs.css").read_bytes() + b"</style>"
