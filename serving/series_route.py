"""GET …/series: the merged view of one service in a window, as many buckets as the chart has pixels.

An answer is kept until something in it changes. Long windows are read in a process of their own, one after the other.
"""

from typing import Annotated, Any, NamedTuple

import anyio.to_thread
import numpy as np
import orjson
import pyarrow as pa
from fastapi import APIRouter, Header, Query, Response

from contracts.feeds import Feed
from serving import long_reads, models, rows, series
from serving.archive import Versions, series_of
from serving.asked_window import AskedWindow, window_of
from serving.columns import table_of_columns
from serving.dependencies import NO_LAKE, REFUSED, CurrentState, DeclaredFeed, known_service
from serving.rows import ROWS, Format
from serving.series_answers import Answer
from serving.state import State

router = APIRouter()


@router.get(
    "/api/feeds/{feed}/services/{service:path}/series",
    tags=["feeds"],
    summary="Readings of one service beside what is expected of it, from history and live, in buckets",
    response_model=models.Series,
    responses=ROWS
    | REFUSED
    | NO_LAKE
    | {304: {"description": "Nothing changed since the answer with the ETag of If-None-Match."}},
)
async def one_series(
    feed: DeclaredFeed,
    service: str,
    state: CurrentState,
    wanted: Format,
    asked: AskedWindow,
    width: Annotated[int, Query(ge=10, le=4000, description="Width of the chart in pixels: the most buckets.")] = 1500,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Its rows, in the other formats, are the buckets (schema Bucket)."""
    question, long = (state, feed, service, asked, width, wanted), long_reads.is_long(asked)
    answer = await anyio.to_thread.run_sync(_kept, *question) if long else None  # which need not wait for other long ones
    if answer is None:
        answer = await anyio.to_thread.run_sync(_answer, *question, limiter=state.answers.long if long else None)
    headers = {"ETag": answer.etag, "Cache-Control": "no-cache"}
    if if_none_match == answer.etag:
        return Response(status_code=304, headers=headers | {"Vary": "Accept"})
    return rows.response(wanted, answer.body, headers)


class _MadeOf(NamedTuple):
    """All that an answer depends on, but for the feed's declaration."""

    feed: str
    service: str
    shown: series.Window
    width: int
    wanted: str
    versions: Versions
    changes: int
    loading: bool


def _made_of(state: State, feed: Feed, service: str, asked: series.Window | int, width: int, wanted: str) -> _MadeOf:
    known_service(state, feed, service)
    shown, versions, loading = window_of(state, feed, asked), state.archive.versions(feed), state.backlog.loading(feed)
    return _MadeOf(feed.name, service, shown, width, wanted, versions, state.memory.changes(feed.name, service), loading)


def _kept(state: State, feed: Feed, *question: Any) -> Answer | None:
    return state.answers.get(_made_of(state, feed, *question), feed)


def _answer(state: State, feed: Feed, service: str, asked: series.Window | int, width: int, wanted: str) -> Answer:
    made_of = _made_of(state, feed, service, asked, width, wanted)
    kept = state.answers.get(made_of, feed)
    if kept is not None:
        return kept
    shown, loading = made_of.shown, made_of.loading
    live = state.live_readings(feed, service, shown.start, shown.until)
    found = state.read(feed, long_reads.is_long(asked), series_of, service, shown, width, live) | {"loading": loading}
    if wanted == rows.JSON:
        body = orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z)
    else:
        body = rows.body_of(wanted, models.Bucket, _buckets(found))
    return state.answers.keep(made_of, feed, body)


def _buckets(found: dict[str, Any]) -> pa.Table:
    """The buckets of a series as rows."""
    start, length = round(found["start"].timestamp() * 1000), 1000 * found["bucket_seconds"]
    at = start + length * np.arange(len(found["buckets"]["count"]))
    return table_of_columns(models.Bucket, found["buckets"] | {"at": at})
