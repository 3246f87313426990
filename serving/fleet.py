"""All feeds and services at a glance: what is wrong with each, since when, and its newest readings within their band."""

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from contracts.feeds import Feed
from contracts.incidents import Incidents
from serving.archived import NONE, Archived
from serving.band import band
from serving.dependencies import INVALID, CurrentState
from serving.fleet_models import FirstBaseline, Fleet, FleetFeed, FleetService, Status
from serving.judged_incidents import incident_info
from serving.lake import if_readable
from serving.local_clock import interval_start
from serving.memory import Reading
from serving.merged import merged
from serving.models import IncidentInfo
from serving.scored import NOTHING, Scored
from serving.series import instant
from serving.state import State

RANKS: dict[Status, int] = {"incident": 0, "anomalous": 1, "silent": 2, "unknown": 3, "no_baseline": 4, "normal": 5}
PATIENCE = 3  # intervals without a reading after which a service is silent, where the feed's rule does not say how many
DATES = 2  # of history, whose services are listed: those gone for longer are not
LEAST_DATES = 2  # of a day type, for a baseline; that of jobs/transforms/baseline.py

router = APIRouter()


@router.get("/api/fleet", tags=["feeds"], summary="Every service of every feed, what is wrong first", responses=INVALID)
def fleet(
    state: CurrentState,
    points: Annotated[int, Query(ge=0, le=120, description="Length of the sparklines, intervals; 0: without them.")] = 60,
) -> Fleet:
    as_of, now = state.live.status.as_of, state.now()
    feeds, services, groups = [], [], []
    for feed in state.feeds.values():
        said = state.tables.statements(feed)
        open_incidents = [incident_info(feed, each, said) for each in state.incidents.open(feed.name)]
        counted = [each for each in open_incidents if each.verdict is None or each.verdict.kind != "false"]
        groups += [each for each in counted if each.kind == "group"]
        newest = state.newest_at(feed)
        since = _begin(feed, newest, now, points)
        feeds.append(_feed(state, feed, newest, since, now))
        services += _services(state, feed, [each for each in counted if each.kind != "group"], as_of, since, points)
    services.sort(key=_order)
    return Fleet(as_of=as_of, feeds=feeds, services=services, groups=sorted(groups, key=lambda each: each.start, reverse=True))


def status(
    reading: Reading | None, incident: IncidentInfo | None, as_of: dt.datetime | None, patience: int, has_room: bool
) -> Status:
    """What is to be said of a service with this newest reading. patience: milliseconds after the start of a reading, from when on
    the next one is missing. has_room: whether serving would keep a reading."""
    if incident is not None:
        return "incident"
    if reading is None:
        return "silent" if as_of is not None and has_room else "unknown"
    if as_of is not None and as_of.timestamp() * 1000 - reading.at > patience:
        return "silent"
    if reading.anomalous:
        return "anomalous"
    return "no_baseline" if reading.expected is None else "normal"


def patience_of(rule: Incidents, interval_seconds: int) -> Callable[[str], int]:
    """By service, the milliseconds that `status` asks for: as many intervals as the rule's silence, and that of the reading."""
    # A name may have a line break, and the last rule is for every name.
    rules = [(re.compile(pattern, re.DOTALL), each.silence or PATIENCE) for pattern, each in rule.rules()]

    def patience(service: str) -> int:
        return 1000 * interval_seconds * (1 + next(each for pattern, each in rules if pattern.fullmatch(service)))

    return patience


def sparkline(feed: Feed, readings: Scored, since: int, points: int) -> dict[str, list]:
    """The four columns of FleetService. since: when the first interval begins, epoch milliseconds."""
    places = (readings.at - since) // (1000 * feed.interval_seconds)
    there = (places >= 0) & (places < points)
    low, high = band(feed.rule, readings.expected[there], readings.spread[there])
    found: dict[str, list] = {name: [None] * points for name in ("values", "low", "high")}
    columns = zip(places[there].tolist(), readings.value[there].tolist(), low.tolist(), high.tolist(), strict=True)
    for place, value, lowest, highest in columns:
        found["values"][place], found["low"][place], found["high"][place] = value, _rounded(lowest), _rounded(highest)
    return found | {"flagged": places[there & (readings.anomalous != 0)].tolist()}


def _rounded(bound: float) -> float | None:
    return None if math.isnan(bound) else float(f"{bound:.3g}")


def first_baseline(feed: Feed, archived: frozenset[dt.date], today: dt.date) -> FirstBaseline:
    """archived: local dates of which history has readings. The gate wants baselines of `day_types` day types: of the fullest."""
    lasts = feed.calendar.baseline_dates(today).values()
    of_types = sorted((min(LEAST_DATES, len(archived.intersection(dates))) for dates in lasts), reverse=True)
    return FirstBaseline(dates=sum(of_types[: feed.gate.day_types]), needed=LEAST_DATES * feed.gate.day_types)


def _begin(feed: Feed, newest: int | None, now: dt.datetime, points: int) -> int:
    """When the sparklines begin, epoch milliseconds. They end with the newest reading, or now if its time lies ahead."""
    end = now.timestamp() if newest is None else min(newest / 1000, now.timestamp())
    return 1000 * (interval_start(feed, end) - (max(points, 1) - 1) * feed.interval_seconds)


def _feed(state: State, feed: Feed, newest: int | None, since: int, now: dt.datetime) -> FleetFeed:
    scored_with_one = any(each and each.expected is not None for each in state.memory.services(feed.name).values())
    archived = None if scored_with_one or state.memory.in_baseline(feed.name) else state.tables.dates(feed)
    return FleetFeed(
        name=feed.name,
        description=feed.description,
        interval_seconds=feed.interval_seconds,
        timezone=feed.timezone,
        newest_at=None if newest is None else instant(newest),
        start=instant(since),
        first_baseline=None if archived is None else first_baseline(feed, archived, now.astimezone(feed.zone).date()),
    )


def _services(
    state: State, feed: Feed, incidents: Sequence[IncidentInfo], as_of: dt.datetime | None, since: int, points: int
) -> list[FleetService]:
    """Every service of the feed, but for those that it declares retired and of which nothing comes."""
    newest, flagged_since = state.memory.services(feed.name), state.memory.flagged_since(feed.name)
    archived: dict[str, Archived] = if_readable(state.history.newest, {}, feed)
    of_service = {each.service: each for each in reversed(incidents)}
    patience = patience_of(feed.incidents, feed.interval_seconds)
    retired = [re.compile(pattern) for pattern in feed.incidents.retired]
    has_room = len(newest) < state.settings.services_per_feed
    until = since + 1000 * feed.interval_seconds * points
    found = []
    for name in state.services(feed, DATES):
        scored, incident, past = newest.get(name), of_service.get(name), archived.get(name, NONE)
        said = status(scored, incident, as_of, patience(name), has_room)
        if said == "silent" and any(pattern.fullmatch(name) for pattern in retired):
            continue
        reading = _newest(scored, past)
        readings = _readings(state.memory.scored(feed.name, name, since, until), past, since) if points else NOTHING
        found.append(
            FleetService(
                feed=feed.name,
                name=name,
                status=said,
                since=_since(said, feed, reading, incident, flagged_since.get(name)),
                at=instant(reading.at) if reading else None,
                value=reading.value if reading else None,
                expected=reading.expected if reading else None,
                pct=reading.pct if reading else None,
                anomalous=reading.anomalous if reading else None,
                incident=incident,
                **sparkline(feed, readings, since, points),
            )
        )
    return found


def _newest(scored: Reading | None, past: Archived) -> Reading | None:
    """The newest reading of a service: of the stream, or of history, which nothing has judged."""
    if not len(past.at) or (scored is not None and scored.at >= past.at[-1]):
        return scored
    return Reading(past.at[-1].item(), past.value[-1].item(), None, None, None, False, -1)


def _readings(scored: Scored, past: Archived, since: int) -> Scored:
    """Those of a sparkline that begins then."""
    return merged(past, scored) if len(past.at) and past.at[-1] >= since else scored


def _since(
    said: Status, feed: Feed, reading: Reading | None, incident: IncidentInfo | None, flagged_since: int | None
) -> dt.datetime | None:
    """Start of the incident, of the first reading that is missing, or of the first of the anomalous readings."""
    if incident is not None:
        return incident.start
    if said == "silent" and reading is not None:
        return instant(reading.at + 1000 * feed.interval_seconds)
    return instant(flagged_since) if said == "anomalous" and flagged_since is not None else None


def _order(each: FleetService) -> tuple[int, float, str, str]:
    return RANKS[each.status], -each.since.timestamp() if each.since else 0.0, each.name, each.feed
