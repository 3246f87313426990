"""The API of baselines: which is in force, which were, what differs between two, and what the gate found."""

from dataclasses import asdict
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query, Response

from contracts.baseline_log import Entry
from contracts.feeds import Feed
from serving import baseline_models, data_docs, rows
from serving.dependencies import PROBLEM, REFUSED, CurrentState, DeclaredFeed, Limit, Responses, known_service
from serving.pages import EXACT, AskedPlace, Place
from serving.problems import ProblemError
from serving.rows import JSON, PAGED, Format
from serving.state import State
from serving.tables import HELD_GATE_RESULTS

NO_VERSION: Responses = REFUSED | {
    404: PROBLEM | {"description": "No such feed, service or version."},
    410: PROBLEM | {"description": "The version's files are no longer kept."},
}

router = APIRouter()


@router.get(
    "/api/feeds/{feed}/baseline",
    tags=["baseline"],
    summary="The baseline in force and its history",
    response_model=baseline_models.Baseline,
    responses=PAGED | REFUSED,
)
def baseline(feed: DeclaredFeed, state: CurrentState, wanted: Format, place: AskedPlace, limit: Limit = 50) -> Response:
    """Its rows, in the other formats, are those of `history` (schema PromotionInfo)."""
    page = place.cut(state.tables.promotions(feed), limit, lambda each: (-each.version,))
    history = [_promotion(each) for each in page.rows]
    if wanted != JSON:
        return rows.answer(wanted, baseline_models.PromotionInfo, history, page.link)
    newest = [_promotion(each) for each in state.tables.promotions(feed, 1)]
    in_force = newest[0] if newest else None
    found = baseline_models.Baseline(version=in_force.version if in_force else None, in_force=in_force, history=history)
    return rows.response(JSON, found.model_dump_json().encode(), {} if page.link is None else {"Link": page.link})


def _promotion(entry: Entry) -> baseline_models.PromotionInfo:
    return baseline_models.PromotionInfo.model_validate(entry, from_attributes=True)


Version = Annotated[int | None, Query(ge=0, lt=EXACT, description="Version of the baseline; that in force if left out.")]


@router.get(
    "/api/feeds/{feed}/services/{service:path}/baseline",
    tags=["baseline"],
    summary="What a version of the baseline knows of one service, by day type and slot",
    response_model=list[baseline_models.BaselineRow],
    responses=PAGED | NO_VERSION,
)
def of_service(
    feed: DeclaredFeed,
    service: str,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    version: Version = None,
    day_type: Annotated[int | None, Query(ge=1, le=7, description="Of this day type only: 1 Monday … 7 Sunday.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many.")] = 10_000,
) -> Response:
    """Without a baseline in force, or of a service that the version does not know, there are no rows."""
    known_service(state, feed, service)
    asked = state.tables.version(feed) if version is None else version
    if asked is None:
        return rows.answer(wanted, baseline_models.BaselineRow, [])
    found = state.baseline_versions.of_service(feed, service, asked, day_type)
    page, link = place.cut_table(found, limit, "day_type", "slot")
    return rows.answer(wanted, baseline_models.BaselineRow, page, link)


@router.get(
    "/api/feeds/{feed}/baseline/diff",
    tags=["baseline"],
    summary="What differs between two versions of the baseline, by service and day type",
    response_model=list[baseline_models.BaselineChange],
    responses=PAGED | NO_VERSION,
)
async def diff(
    feed: DeclaredFeed,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    before: Annotated[
        int | None, Query(alias="from", ge=0, lt=EXACT, description="A version; the one in force before `to` if left out.")
    ] = None,
    after: Annotated[int | None, Query(alias="to", ge=0, lt=EXACT, description="Another; that in force if left out.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many.")] = 1000,
) -> Response:
    """Services and day types of which both versions expect the same have no row."""
    return await anyio.to_thread.run_sync(_diff, state, feed, before, after, limit, place, wanted, limiter=state.answers.long)


def _diff(state: State, feed: Feed, before: int | None, after: int | None, limit: int, place: Place, wanted: str) -> Response:
    versions = [each.version for each in state.tables.promotions(feed)]
    if after is None:
        after = next(iter(versions), None)
    if before is None:
        before = next((each for each in versions if after is not None and each < after), None)
    if before is None or after is None:
        detail = f"Feed {feed.name} has no version of the baseline that was in force before {'now' if after is None else after}."
        remedy = f"Name two versions (from, to) of those that GET /api/feeds/{feed.name}/baseline lists."
        raise ProblemError(404, "unknown-version", "No such version", detail, remedy)
    page, link = place.cut_table(state.baseline_versions.differences(feed, before, after), limit, "service", "day_type")
    return rows.answer(wanted, baseline_models.BaselineChange, page, link)


@router.get(
    "/api/feeds/{feed}/gate-results",
    tags=["baseline"],
    summary="What the gate found, newest first",
    response_model=list[baseline_models.GateResultInfo],
    responses=PAGED | REFUSED,
)
def gate_results(feed: DeclaredFeed, state: CurrentState, wanted: Format, place: AskedPlace, limit: Limit = 20) -> Response:
    newest = state.tables.gate_results(feed, place.needed(limit, HELD_GATE_RESULTS))
    page = place.cut(newest, limit, lambda each: (-round(each.checked_at.timestamp() * 1_000_000), each.run_id))
    found = [
        baseline_models.GateResultInfo(**asdict(each), docs_url=data_docs.url(state.settings.lake, feed, each.run_id))
        for each in page.rows
    ]
    return rows.answer(wanted, baseline_models.GateResultInfo, found, page.link)
