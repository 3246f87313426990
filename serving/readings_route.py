"""GET …/readings: the readings of one service in a window one by one, merged and judged as in its series, oldest first."""

from typing import Annotated

import anyio.to_thread
import pyarrow as pa
from fastapi import APIRouter, Query, Response

from contracts.feeds import Feed
from serving import long_reads, models, rows, series
from serving.archive import readings_of
from serving.asked_window import AskedWindow, window_of
from serving.band import band
from serving.columns import table_of_columns
from serving.dependencies import NO_LAKE, REFUSED, CurrentState, DeclaredFeed, known_service
from serving.merged import Readings
from serving.pagination import AskedPlace, Place
from serving.rows import PAGED, Format
from serving.state import State

router = APIRouter()


@router.get(
    "/api/feeds/{feed}/services/{service:path}/readings",
    tags=["feeds"],
    summary="Readings of one service in a window, one by one with their expected values, oldest first",
    response_model=list[models.Point],
    responses=PAGED | REFUSED | NO_LAKE,
)
async def readings(
    feed: DeclaredFeed,
    service: str,
    state: CurrentState,
    wanted: Format,
    asked: AskedWindow,
    place: AskedPlace,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many.")] = 1000,
) -> Response:
    limiter = state.answers.long if long_reads.is_long(asked) else None
    return await anyio.to_thread.run_sync(_answer, state, feed, service, asked, place, limit, wanted, limiter=limiter)


def _answer(
    state: State, feed: Feed, service: str, asked: series.Window | int, place: Place, limit: int, wanted: str
) -> Response:
    known_service(state, feed, service)
    shown = window_of(state, feed, asked)
    first, last = (round(each.timestamp() * 1000) for each in (shown.start, shown.end))
    if (before := place.key(int)) is not None:
        first = max(first, before[0] + 1)
    if first > last:
        return rows.answer(wanted, models.Point, [])
    live = state.live_readings(feed, service, series.instant(first), shown.end)
    found, more = state.read(feed, long_reads.is_long(asked), readings_of, service, first, last, limit, live)
    link = place.link((found.at[-1].item(),)) if more else None
    return rows.answer(wanted, models.Point, points(feed, found), link)


def points(feed: Feed, readings: Readings) -> pa.Table:
    """As rows of models.Point."""
    low, high = band(feed.rule, readings.expected, readings.spread)
    return table_of_columns(models.Point, readings._asdict() | {"low": low, "high": high})
