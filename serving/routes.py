"""The HTTP API."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response

from contracts.feeds import Feed
from serving import dead_letters, health_models, models, rows, series, streams
from serving.dependencies import PROBLEM, REFUSED, CurrentState, DeclaredFeed, Limit, known_service
from serving.lake import if_readable
from serving.memory import Anomaly, Reading
from serving.pagination import AskedPlace
from serving.rows import PAGED, ROWS, Format
from serving.state import State

router = APIRouter()


@router.get("/api/feeds", tags=["feeds"], summary="Every declared feed", response_model=list[models.FeedInfo], responses=ROWS)
def feeds(state: CurrentState, wanted: Format) -> Response:
    return rows.answer(wanted, models.FeedInfo, [_feed_info(state, feed) for feed in state.feeds.values()])


@router.get("/api/feeds/{feed}", tags=["feeds"], summary="One feed", responses=REFUSED)
def one_feed(feed: DeclaredFeed, state: CurrentState) -> models.FeedInfo:
    return _feed_info(state, feed)


@router.get(
    "/api/feeds/{feed}/services",
    tags=["feeds"],
    summary="A feed's services with their newest readings, by name",
    response_model=list[models.ServiceInfo],
    responses=PAGED | REFUSED,
)
def services(
    feed: DeclaredFeed,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many.")] = 10_000,
) -> Response:
    page = place.cut(sorted(state.services(feed)), limit, lambda name: (name,))
    in_baseline = state.baseline_of(feed)
    newest = state.memory.services(feed.name)
    found = [_service_info(name, newest.get(name), name in in_baseline) for name in page.rows]
    return rows.answer(wanted, models.ServiceInfo, found, page.link)


@router.get(
    "/api/feeds/{feed}/services/{service:path}/newest",
    tags=["feeds"],
    summary="One service with its newest reading",
    responses=REFUSED,
)
def newest_of(feed: DeclaredFeed, service: str, state: CurrentState) -> models.ServiceInfo:
    known_service(state, feed, service)
    return _service_info(service, state.memory.newest(feed.name, service), service in state.baseline_of(feed))


@router.get(
    "/api/feeds/{feed}/anomalies",
    tags=["feeds"],
    summary="Latest anomalies, newest first",
    response_model=list[models.AnomalyInfo],
    responses=PAGED | REFUSED,
)
def anomalies(
    feed: DeclaredFeed,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    limit: Limit = 100,
    service: Annotated[str | None, Query(description="Of this service only.")] = None,
) -> Response:
    if service is not None:
        known_service(state, feed, service)
    newest = state.memory.anomalies(feed.name, place.needed(limit, state.settings.anomalies_per_feed), service)
    page = place.cut(newest, limit, lambda each: (-each.at, each.service))
    return rows.answer(wanted, models.AnomalyInfo, [anomaly_info(feed, each) for each in page.rows], page.link)


@router.get(
    "/api/feeds/{feed}/dead-letters",
    tags=["feeds"],
    summary="Newest records that could not be read, with the reasons",
    response_model=list[models.DeadLetterInfo],
    responses=ROWS | REFUSED | {503: PROBLEM | {"description": "Kafka does not answer."}},
)
def letters_of(
    feed: DeclaredFeed,
    state: CurrentState,
    wanted: Format,
    limit: Annotated[int, Query(ge=1, le=dead_letters.MOST, description="At most so many.")] = dead_letters.MOST,
) -> Response:
    """Newest first. They are read from the feed's dead-letter topic at once, so a letter is there as soon as Kafka has it."""
    found = state.dead_letters.newest(feed.dead_letter_topic)[:limit]
    infos = [models.DeadLetterInfo(**vars(each) | {"feed": feed.name, "begins": each.begins.hex()}) for each in found]
    return rows.answer(wanted, models.DeadLetterInfo, infos)


@router.get(
    "/api/streams",
    tags=["state"],
    summary="State of the running streams",
    response_model=list[health_models.StreamInfo],
    responses=ROWS,
)
def running_streams(state: CurrentState, wanted: Format) -> Response:
    found = streams.streams(Path(state.settings.streams), state.now(), state.settings.spark_history)
    return rows.answer(wanted, health_models.StreamInfo, [health_models.StreamInfo(**asdict(each)) for each in found])


def _service_info(name: str, newest: Reading | None, in_baseline: bool) -> models.ServiceInfo:
    return models.ServiceInfo(
        name=name,
        at=series.instant(newest.at) if newest else None,
        value=newest.value if newest else None,
        expected=newest.expected if newest else None,
        pct=newest.pct if newest else None,
        anomalous=newest.anomalous if newest else None,
        in_baseline=in_baseline,
    )


def anomaly_info(feed: Feed, anomaly: Anomaly) -> models.AnomalyInfo:
    at = series.instant(anomaly.at)
    return models.AnomalyInfo(
        feed=feed.name,
        service=anomaly.service,
        at=at,
        at_local=at.astimezone(feed.zone),
        value=anomaly.value,
        expected=anomaly.expected,
        spread=anomaly.spread,
        pct=anomaly.pct,
        baseline_version=anomaly.baseline_version,
    )


def _feed_info(state: State, feed: Feed) -> models.FeedInfo:
    newest = state.newest_at(feed)
    return models.FeedInfo(
        name=feed.name,
        description=feed.description,
        interval_seconds=feed.interval_seconds,
        timezone=feed.timezone,
        rule=models.Rule(**feed.rule.model_dump()),
        services=len(state.services(feed)),
        newest_at=None if newest is None else series.instant(newest),
        anomalies=len(state.memory.anomalies(feed.name, state.settings.anomalies_per_feed)),
        baseline_version=if_readable(state.tables.version, None, feed),
        unreadable=state.archive.unreadable([feed]).get(feed.name),
    )
