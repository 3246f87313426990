"""The API's stream of events."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Header, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent

from contracts.exclusions import Statement
from contracts.feeds import Feed
from serving import models, series
from serving.access.guard import Admitted
from serving.dependencies import PROBLEM, REFUSED, CurrentState, Responses, declared, known_service
from serving.incidents import Incident
from serving.judged_incidents import incident_info
from serving.kept_events import KINDS, ROW, Event, Wanted
from serving.memory import Anomaly, Reading
from serving.query_tables.routes import declared_query, invalid, tables_of
from serving.routes import anomaly_info
from serving.state import State

ENDS_OF_LINES = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}  # those that JSON does not escape
MOST_LISTENED_TO = 20  # services, and queries, by one listener; who wants more services takes all
REFUSALS: Responses = REFUSED | {
    404: PROBLEM | {"description": "No such feed, service or query."},
    503: PROBLEM | {"description": "The rows of a query are asked for, and Kafka does not answer or has no such topic."},
}

router = APIRouter()


async def listened_to(
    state: CurrentState,
    feed: Annotated[
        str | None, Query(description="Events of this feed only. If left out: of every feed, and the streams of queries.")
    ] = None,
    service: Annotated[
        list[str] | None,
        Query(max_length=MOST_LISTENED_TO, description="Scored readings of these services of `feed`; of all if left out."),
    ] = None,
    event: Annotated[
        list[models.EventKind] | None,
        Query(max_length=len(KINDS), description="Events of these kinds only. If left out: all; rows only if `query` is given."),
    ] = None,
    query: Annotated[
        list[str] | None,
        Query(max_length=MOST_LISTENED_TO, description="Rows of the tables of these queries as they change."),
    ] = None,
) -> Wanted:
    wanted = await run_in_threadpool(_wanted, state, feed, service or [], event or [], query or [])
    for name in query or ():
        await anyio.to_thread.run_sync(_follow, state, name, limiter=state.query_tables.requests)
    return wanted


def _wanted(state: State, feed: str | None, services: list[str], kinds: list[models.EventKind], queries: list[str]) -> Wanted:
    if services and feed is None:
        raise invalid("service", "it goes with a feed.", "Name its feed too, or leave the service out.")
    if kinds and (ROW in kinds) != bool(queries):
        raise invalid("event", "row goes with a query.", "Name a query and the event row, or neither; or leave event out.")
    known = declared(feed, state) if feed is not None else None
    asked = kinds or (kind for kind in KINDS if queries or kind != ROW)
    names = [known_service(state, known, each) for each in services] if known else []
    return Wanted(known.name if known else None, frozenset(names), frozenset(asked), frozenset(queries))


def _follow(state: State, name: str) -> None:
    query = declared_query(name, state)
    state.changed_rows.follow(query, tables_of(query, "query"))


@router.get(
    "/api/events",
    tags=["feeds"],
    summary="What is new, as it comes: readings, incidents, promotions, rows of queries and more (Server-Sent Events)",
    response_class=EventSourceResponse,
    responses=REFUSALS,
)
async def events(
    wanted: Annotated[Wanted, Depends(listened_to)],
    state: CurrentState,
    admitted: Admitted,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that was received: the events after it come first.")
    ] = None,
) -> AsyncIterator[ServerSentEvent]:
    """`scored` carries a point as in the series, with its feed and service; `anomaly` one as in the list of anomalies, of every
    service of the feed; `incident` one as in the list of incidents; `promotion` one as in the history of the baseline, with its
    feed; `gate` whether the gate lets a candidate of the feed through; `stream` one as in the list of streams, when its state has
    changed; `row` one as in a query's table, with the query and the topic. `resync` says that this listener was too slow, or too
    long away, and has to load afresh; `alive`, after 10 s without another event, that the line is well."""
    with state.events.listening(wanted, last_event_id) as listener:
        yield ServerSentEvent(comment="listening", id=listener.begins, retry=2000)
        async for id_, event in listener.heard(admitted):
            its = state.feeds.get(event.feed)
            if its is None and isinstance(event.record, Reading | Anomaly | Incident):
                continue  # the feed was declared until just now
            of_incident = isinstance(event.record, Incident)
            said = await run_in_threadpool(state.tables.statements, its) if its and of_incident else ()
            yield ServerSentEvent(event=event.kind, id=id_, raw_data=event_json(its, event, said))


def event_json(feed: Feed | None, event: Event, said: Sequence[Statement] = ()) -> str:
    """As the API's answers are written: a number that is not finite, such as the upper end of a very wide band, is null.

    It is one line, whatever a text in it has. feed: that of a reading, anomaly or incident. said: what people said of incidents,
    and is in force.
    """
    return _json(feed, event, said).translate(ENDS_OF_LINES)


def _json(feed: Feed | None, event: Event, said: Sequence[Statement]) -> str:
    if isinstance(event.record, str):
        return event.record
    if feed is None:
        return "{}"
    if isinstance(event.record, Reading):
        return models.ScoredPoint(
            feed=feed.name, service=event.service, **dict(series.point(feed, event.record))
        ).model_dump_json()
    if isinstance(event.record, Anomaly):
        return anomaly_info(feed, event.record).model_dump_json()
    if isinstance(event.record, Incident):
        return incident_info(feed, event.record, said).model_dump_json()
    return "{}"
