"""GET …/series: the merged view of one service in a window, as many buckets as the chart has pixels.

An answer is kept until something in it changes. Long windows wait for each other in a thread of their own, not in the threads of
other requests.
"""

import datetime as dt
from typing import Annotated

import anyio.to_thread
import orjson
from fastapi import APIRouter, Header, Query, Response
from pydantic import AwareDatetime, Field

from contracts.feeds import Feed
from serving import models, series
from serving.dependencies import REFUSED, CurrentState, DeclaredFeed, known_service
from serving.problems import ProblemError
from serving.series_answers import Answer
from serving.state import State

router = APIRouter()

LONGEST = dt.timedelta(days=45)  # five weeks, and what lies ahead or is dragged beyond
LONG = dt.timedelta(hours=6)

Instant = Annotated[AwareDatetime, Field(ge=series.FIRST, le=series.LAST)]


@router.get(
    "/api/feeds/{feed}/services/{service:path}/series",
    tags=["feeds"],
    summary="Readings of one service beside what is expected of it, from history and live, in buckets",
    response_model=models.Series,
    responses=REFUSED | {304: {"description": "Nothing changed since the answer with the ETag of If-None-Match."}},
)
async def one_series(
    feed: DeclaredFeed,
    service: str,
    state: CurrentState,
    minutes: Annotated[
        int, Query(ge=1, le=50_400, description="Length of the window that ends now, at most five weeks, minutes.")
    ] = 60,
    first: Annotated[
        Instant | None,
        Query(alias="from", description="Start of another window, 1900 to 2199, with its offset; `minutes` then says nothing."),
    ] = None,
    last: Annotated[Instant | None, Query(alias="to", description="Its end.")] = None,
    width: Annotated[int, Query(ge=10, le=4000, description="Width of the chart in pixels: the most buckets.")] = 1500,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    fixed = _fixed(first, last)
    length = fixed.until - fixed.start if fixed else dt.timedelta(minutes=minutes)
    limiter = state.answers.long if length > LONG else None
    answer = await anyio.to_thread.run_sync(_answer, state, feed, service, fixed or minutes, width, limiter=limiter)
    headers = {"ETag": answer.etag, "Cache-Control": "no-cache"}
    if if_none_match == answer.etag:
        return Response(status_code=304, headers=headers)
    return Response(answer.body, media_type="application/json", headers=headers)


def _fixed(first: dt.datetime | None, last: dt.datetime | None) -> series.Window | None:
    if first is None and last is None:
        return None
    if first is None or last is None or not dt.timedelta(0) < last - first <= LONGEST:
        detail = f"from is {first and first.isoformat()}, to is {last and last.isoformat()}."
        remedy = f"Give both, from before to, and at most {LONGEST.days} days between them."
        raise ProblemError(422, "invalid-window", "No such window", detail, remedy)
    start, end = first.astimezone(dt.UTC), last.astimezone(dt.UTC)
    return series.Window(start, end, end, live=False)


def _answer(state: State, feed: Feed, service: str, asked: series.Window | int, width: int) -> Answer:
    """asked: a fixed window, or the length in minutes of the one that ends now."""
    known_service(state, feed, service)
    shown = series.window(feed, state.newest_at(feed), state.now(), asked) if isinstance(asked, int) else asked
    version, loading = state.tables.version(feed), state.backlog.loading(feed)
    changes = state.memory.changes(feed.name, service)
    made_of = (feed.name, service, shown, width, state.history.version(feed), version, changes, loading)
    kept = state.answers.get(made_of, feed)
    if kept is not None:
        return kept
    # What is archived is read first: a reading that memory lets go meanwhile is in neither only if it was in both.
    archived = state.history.readings(feed, service, shown.start, shown.until)
    live = state.memory.scored(feed.name, service, *(round(each.timestamp() * 1000) for each in (shown.start, shown.until)))
    arrays = lambda day: state.tables.arrays(feed, service, day)  # noqa: E731
    in_force = state.tables.promotions(feed, 1)
    expecting = feed.with_found(in_force[0].special_days) if in_force else feed
    found = series.series(expecting, service, shown, width, archived, live, arrays, version)
    body = orjson.dumps(found | {"loading": loading}, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z)
    return state.answers.keep(made_of, feed, body)
