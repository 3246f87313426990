"""The API of people's statements: those of one feed that are in force."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from contracts.exclusions import Statement
from serving import rows
from serving.asked_window import AskedWindowIfAny, window_of
from serving.dependencies import REFUSED, CurrentState, DeclaredFeed, Limit
from serving.pagination import AskedPlace
from serving.rows import PAGED, Format
from serving.series import Window
from serving.statement_models import InForce, StatementInfo

router = APIRouter(tags=["feeds"])


@router.get(
    "/api/feeds/{feed}/statements",
    summary="What people said of incidents and of readings, newest first",
    response_model=list[StatementInfo],
    responses=PAGED | REFUSED,
)
def statements(
    feed: DeclaredFeed,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    asked: AskedWindowIfAny,
    limit: Limit = 100,
    service: Annotated[str | None, Query(description="About this service or all services only.")] = None,
    kind: Annotated[InForce | None, Query(description="Of this kind only.")] = None,
) -> Response:
    """The statements in force. With a window, the answer has those that are about any time in the window."""
    shown = None if asked is None else window_of(state, feed, asked)
    known = [
        each
        for each in reversed(state.tables.statements(feed))
        if (service is None or each.service in (None, service))
        and kind in (None, each.kind)
        and (shown is None or _lasts(each, shown))
    ]
    page = place.cut(known, limit, lambda each: (-each.id,))
    found = [StatementInfo.model_validate(vars(each) | {"feed": feed.name, "statement": each.id}) for each in page.rows]
    return rows.answer(wanted, StatementInfo, found, page.link)


def _lasts(statement: Statement, shown: Window) -> bool:
    """One without an end lasts until now: its incident was open."""
    start, end = statement.start, statement.end
    return start is not None and start < shown.until and (end is None or end > shown.start)
