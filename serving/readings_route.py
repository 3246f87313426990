"""GET …/readings: the readings of one service in a window one by one, merged and judged as in its series, oldest first."""

from typing import Annotated

import anyio.to_thread
import numpy as np
import pyarrow as pa
from fastapi import APIRouter, Query, Response

from contracts.feeds import Feed
from serving import models, rows, series
from serving.asked_window import AskedWindow, is_long, window_of
from serving.band import band
from serving.columns import table_of_columns
from serving.dependencies import REFUSED, CurrentState, DeclaredFeed, known_service
from serving.expectation import Expectation, expectation
from serving.merged import Readings, judged, merged
from serving.pages import AskedPlace, Place
from serving.rows import PAGED, Format
from serving.scored import Scored
from serving.state import State

router = APIRouter()


@router.get(
    "/api/feeds/{feed}/services/{service:path}/readings",
    tags=["feeds"],
    summary="Readings of one service in a window, one by one with their expected values, oldest first",
    response_model=list[models.Point],
    responses=PAGED | REFUSED,
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
    limiter = state.answers.long if is_long(asked) else None
    return await anyio.to_thread.run_sync(_answer, state, feed, service, asked, place, limit, wanted, limiter=limiter)


def _answer(
    state: State, feed: Feed, service: str, asked: series.Window | int, place: Place, limit: int, wanted: str
) -> Response:
    known_service(state, feed, service)
    shown, version = window_of(state, feed, asked), state.tables.version(feed)
    first, last = (round(each.timestamp() * 1000) for each in (shown.start, shown.end))
    if (before := place.key(int)) is not None:
        first = max(first, before[0] + 1)
    if first > last:
        return rows.answer(wanted, models.Point, [])
    once = merged(*state.readings(feed, service, series.instant(first), shown.end)).between(first, last)
    page = Scored(*(column[:limit] for column in once))
    found = judged(page, feed.rule, _beside(state, feed, service, page.at), version)
    link = place.link((page.at[-1].item(),)) if len(once.at) > limit else None
    return rows.answer(wanted, models.Point, points(feed, found), link)


def _beside(state: State, feed: Feed, service: str, at: np.ndarray) -> Expectation:
    """What the baseline in force expects of each of these instants, epoch milliseconds, ascending."""
    intervals = at // (1000 * feed.interval_seconds)
    first, length = (intervals[0].item(), (intervals[-1] - intervals[0]).item() + 1) if len(at) else (0, 0)
    beside = expectation(state.expecting(feed), lambda day: state.tables.arrays(feed, service, day), first, length)
    return Expectation(*(column[intervals - first] for column in beside))


def points(feed: Feed, readings: Readings) -> pa.Table:
    """As rows of models.Point."""
    low, high = band(feed.rule, readings.expected, readings.spread)
    return table_of_columns(models.Point, readings._asdict() | {"low": low, "high": high})
