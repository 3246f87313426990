"""The API of baselines: which is in force, which were, how two differ, what a candidate changes, and what the gate found."""

from dataclasses import asdict
from typing import Annotated

import anyio.to_thread
import pyarrow as pa
from fastapi import APIRouter, Query, Response

from contracts.baseline_log import Entry
from contracts.feeds import Feed
from serving import baseline_models, data_docs, long_reads, rows
from serving.baseline_versions import Side, differences
from serving.dependencies import NO_LAKE, PROBLEM, REFUSED, CurrentState, DeclaredFeed, Limit, Responses, known_service
from serving.pagination import EXACT, AskedPlace, Place
from serving.rows import JSON, PAGED, Format
from serving.special_days import special_days
from serving.state import State
from serving.tables import HELD_GATE_RESULTS

NO_VERSION: Responses = REFUSED | {
    404: PROBLEM | {"description": "No such feed, service, version or candidate."},
    410: PROBLEM | {"description": "The files of the version or candidate are no longer kept."},
}

router = APIRouter()


@router.get(
    "/api/feeds/{feed}/baseline",
    tags=["baseline"],
    summary="The baseline in force and its history",
    response_model=baseline_models.Baseline,
    responses=PAGED | REFUSED | NO_LAKE,
)
def baseline(feed: DeclaredFeed, state: CurrentState, wanted: Format, place: AskedPlace, limit: Limit = 50) -> Response:
    """Its rows, in the other formats, are those of `history` (schema PromotionInfo)."""
    page = place.cut(state.tables.promotions(feed), limit, lambda each: (-each.version,))
    history = [_promotion(each) for each in page.rows]
    if wanted != JSON:
        return rows.answer(wanted, baseline_models.PromotionInfo, history, page.link)
    in_force = next(iter(state.tables.promotions(feed, 1)), None)
    found = baseline_models.Baseline(
        version=in_force.version if in_force else None,
        in_force=_promotion(in_force) if in_force else None,
        history=history,
        special_days=special_days(feed, in_force, state.now().astimezone(feed.zone).date()),
    )
    return rows.response(JSON, found.model_dump_json().encode(), {} if page.link is None else {"Link": page.link})


def _promotion(entry: Entry) -> baseline_models.PromotionInfo:
    return baseline_models.PromotionInfo.model_validate(entry, from_attributes=True)


Version = Annotated[int | None, Query(ge=0, lt=EXACT, description="Version of the baseline; that in force if left out.")]
Candidate = Annotated[int | None, Query(ge=0, lt=EXACT, description="A candidate, by its version, in place of a version.")]


@router.get(
    "/api/feeds/{feed}/services/{service:path}/baseline",
    tags=["baseline"],
    summary="What a version of the baseline, or a candidate, knows of one service, by day type and slot",
    response_model=list[baseline_models.BaselineRow],
    responses=PAGED | NO_VERSION | NO_LAKE,
)
def of_service(
    feed: DeclaredFeed,
    service: str,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    version: Version = None,
    candidate: Candidate = None,
    day_type: Annotated[int | None, Query(ge=1, le=7, description="Of this day type only: 1 Monday … 7 Sunday.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many.")] = 10_000,
) -> Response:
    """Without a baseline in force, or of a service that the version does not know, there are no rows."""
    asked = state.baseline_versions.asked(feed, version, candidate)
    if service not in state.tables.candidate_services(feed):  # which may be the first to know it
        known_service(state, feed, service)
    if asked is None:
        return rows.answer(wanted, baseline_models.BaselineRow, [])
    found = state.baseline_versions.of_service(feed, service, asked, day_type)
    page, link = place.cut_table(found, limit, "day_type", "slot")
    return rows.answer(wanted, baseline_models.BaselineRow, page, link)


@router.get(
    "/api/feeds/{feed}/baseline/diff",
    tags=["baseline"],
    summary="What differs between two versions of the baseline, or what a candidate changes, by service and day type",
    response_model=list[baseline_models.BaselineChange],
    responses=PAGED | NO_VERSION | NO_LAKE,
)
async def diff(
    feed: DeclaredFeed,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    before: Annotated[
        int | None,
        Query(
            alias="from",
            ge=0,
            lt=EXACT,
            description="A version. If left out: the one before `to`; of a candidate, the one that the gate compared it with.",
        ),
    ] = None,
    after: Annotated[int | None, Query(alias="to", ge=0, lt=EXACT, description="Another; that in force if left out.")] = None,
    candidate: Candidate = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many.")] = 1000,
) -> Response:
    """Services and day types of which both expect the same have no row."""
    sides, found = await anyio.to_thread.run_sync(_kept, state, feed, (before, after, candidate))
    if found is None:
        found = await anyio.to_thread.run_sync(_computed, state, feed, sides, limiter=state.baseline_versions.one)
    return await anyio.to_thread.run_sync(_page, found, limit, place, wanted)


def _kept(state: State, feed: Feed, asked: tuple[int | None, ...]) -> tuple[tuple[Side, Side], pa.Table | None]:
    sides = state.baseline_versions.compared(feed, *asked)
    return sides, state.baseline_versions.kept(feed, *sides)


def _computed(state: State, feed: Feed, sides: tuple[Side, Side]) -> pa.Table:
    found = state.baseline_versions.kept(feed, *sides)
    if found is None:  # nor did another request compute it meanwhile
        found = long_reads.run(state.settings.lake, None, differences, feed, *sides)
        state.baseline_versions.keep(feed, *sides, found)
    return found


def _page(found: pa.Table, limit: int, place: Place, wanted: str) -> Response:
    page, link = place.cut_table(found, limit, "service", "day_type")
    return rows.answer(wanted, baseline_models.BaselineChange, page, link)


@router.get(
    "/api/feeds/{feed}/gate-results",
    tags=["baseline"],
    summary="What the gate found, newest first",
    response_model=list[baseline_models.GateResultInfo],
    responses=PAGED | REFUSED | NO_LAKE,
)
def gate_results(feed: DeclaredFeed, state: CurrentState, wanted: Format, place: AskedPlace, limit: Limit = 20) -> Response:
    newest = state.tables.gate_results(feed, place.needed(limit, HELD_GATE_RESULTS))
    page = place.cut(newest, limit, lambda each: (-round(each.checked_at.timestamp() * 1_000_000), each.run_id))
    found = [
        baseline_models.GateResultInfo(**asdict(each), docs_url=data_docs.url(state.settings.lake, feed, each.run_id))
        for each in page.rows
    ]
    return rows.answer(wanted, baseline_models.GateResultInfo, found, page.link)
