"""The API of incidents: those of one feed, and those of all feeds."""

import datetime as dt
from collections.abc import Iterable
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from contracts.feeds import Feed
from serving import models, past_incidents, rows, series
from serving.asked_window import AskedWindowIfAny, window_of
from serving.dependencies import REFUSED, CurrentState, DeclaredFeed, Limit, declared
from serving.incidents import Incident
from serving.judged_incidents import incident_info
from serving.pagination import AskedPlace, Key
from serving.rows import PAGED, Format
from serving.state import State

router = APIRouter(tags=["feeds"])


@router.get(
    "/api/feeds/{feed}/incidents",
    summary="Latest incidents, newest first",
    response_model=list[models.IncidentInfo],
    responses=PAGED | REFUSED,
)
def incidents(
    feed: DeclaredFeed,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    asked: AskedWindowIfAny,
    limit: Limit = 100,
    service: Annotated[str | None, Query(description="Of this service only.")] = None,
    only_open: Annotated[bool, Query(alias="open", description="Only those that are not closed.")] = False,
    group: Annotated[str | None, Query(description="Members of the group with this id only.")] = None,
) -> Response:
    """The answer has members of groups only if `service` or `group` asks for them. With a window, it has the incidents that were
    open at any time in the window, past ones too. Without a window, it has the newest that serving keeps."""
    said = state.tables.statements(feed)
    if asked is None:
        known = state.incidents.of(feed.name, service, only_open, group)
    else:
        shown = window_of(state, feed, asked)
        known = past_incidents.between(
            state.tables.lake, state.incidents, feed, shown.start, shown.until, service, only_open, group
        )
    page = place.cut(known, limit, lambda each: (-each.start, each.service, each.id))
    return rows.answer(wanted, models.IncidentInfo, [incident_info(feed, each, said) for each in page.rows], page.link)


@router.get(
    "/api/incidents",
    summary="Incidents of all feeds, open ones first",
    response_model=list[models.IncidentInfo],
    responses=PAGED | REFUSED,
)
def all_incidents(
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    asked: AskedWindowIfAny,
    limit: Limit = 100,
    feed: Annotated[str | None, Query(description="Of this feed only.")] = None,
    service: Annotated[str | None, Query(description="Of services with this name only.")] = None,
    search: Annotated[
        str | None, Query(description="Only of services whose name contains this text; upper and lower case are equal.")
    ] = None,
    open_or_closed: Annotated[
        Literal["open", "closed"] | None, Query(alias="state", description="Only open ones, or only closed ones.")
    ] = None,
    kind: Annotated[Literal["deviation", "silence", "group"] | None, Query(description="Of this kind only.")] = None,
) -> Response:
    """Open incidents first, then closed ones; in both parts, the one that began last comes first. With `service` or `search`, the
    answer has the members of groups instead of the groups. With a window, it has the incidents that were open at any time in the
    window, past ones too; a window of `minutes` ends now. Without a window, it has the newest that serving keeps of each feed."""
    feeds = list(state.feeds.values()) if feed is None else [declared(feed, state)]
    of_services = service is not None or bool(search)
    known = [
        (each, incident)
        for each in feeds
        for incident in _known(state, each, asked)
        if (incident.kind != "group" if of_services else incident.group is None)
        and service in (None, incident.service)
        and (search or "").casefold() in incident.service.casefold()
        and open_or_closed in (None, "closed" if incident.state == "closed" else "open")
        and kind in (None, incident.kind)
    ]
    page = place.cut(sorted(known, key=_order), limit, _order)
    said = {each.name: state.tables.statements(each) for each in feeds}
    infos = [incident_info(each, incident, said[each.name]) for each, incident in page.rows]
    return rows.answer(wanted, models.IncidentInfo, infos, page.link)


def _known(state: State, feed: Feed, asked: series.Window | int | None) -> Iterable[Incident]:
    if asked is None:
        return state.incidents.all(feed.name)
    if isinstance(asked, int):
        start, end = state.now() - dt.timedelta(minutes=asked), series.LAST
    else:
        start, end = asked.start, asked.until
    return past_incidents.lasting(state.tables.lake, state.incidents, feed, start, end)


def _order(known: tuple[Feed, Incident]) -> Key:
    feed, incident = known
    return int(incident.state == "closed"), -incident.start, feed.name, incident.service, incident.id
