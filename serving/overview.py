"""All streams at a glance: how each is, what is wrong, and what each feed needs next."""

import datetime as dt
from dataclasses import asdict
from pathlib import Path

from fastapi import APIRouter

from contracts.baseline_log import Entry
from contracts.feeds import Feed
from serving import streams, troubles
from serving.dependencies import CurrentState
from serving.fleet import PATIENCE, first_baseline
from serving.health_models import StreamInfo
from serving.lake import if_readable
from serving.next_steps import next_step
from serving.overview_models import FeedProgress, GateVerdict, Overview, Standing, StreamOverview
from serving.series import instant
from serving.state import State

RANKS: dict[Standing, int] = {"failing": 0, "attention": 1, "unfinished": 2, "well": 3, "off": 4}
LEAST_PATIENCE = dt.timedelta(seconds=30)  # that of a page, see static/freshness.js

router = APIRouter()


@router.get("/api/overview", tags=["state"], summary="Every declared stream with what its feed needs next, what is wrong first")
def overview(state: CurrentState) -> Overview:
    """Also of streams that never ran. What the nightly jobs have done is what the tables say."""
    now = state.now()
    found = streams.streams(Path(state.settings.streams), now, state.settings.spark_history)
    infos = {(each.feed, each.stream): StreamInfo.model_validate(asdict(each)) for each in found}
    unreadable = state.archive.unreadable(state.feeds.values())
    of_feeds = [
        _of_feed(state, feed, infos.get((feed.name, "score")), unreadable.get(feed.name), now) for feed in state.feeds.values()
    ]
    queries: dict[str, list[str]] = {}
    for each in state.queries.look().values():
        queries.setdefault(each.application, []).append(each.name)
    of_applications = [
        _of_application(state, name, its, infos.get((name, "queries")), now) for name, its in sorted(queries.items())
    ]
    every = [*sorted(of_feeds, key=lambda each: each.name), *of_applications]
    return Overview(streams=sorted(every, key=lambda each: RANKS[each.standing]))


def readings_come(feed: Feed, newest: dt.datetime | None, as_of: dt.datetime | None) -> bool | None:
    """Whether they do, by what serving had read of the topics at `as_of`. None: it has not read them to their ends yet."""
    if as_of is None:
        return None
    patience = max(dt.timedelta(seconds=feed.interval_seconds * (1 + PATIENCE)), LEAST_PATIENCE)
    return newest is not None and as_of - newest <= patience


def _is_off(info: StreamInfo | None) -> bool:
    return info is None or info.switched_off


def _of_feed(state: State, feed: Feed, info: StreamInfo | None, unreadable: str | None, now: dt.datetime) -> StreamOverview:
    newest, failures = state.newest_at(feed), _failures(info)
    newest_at = None if newest is None else instant(newest)
    if unreadable:
        failures.append(f"Tables of it can't be read: {unreadable}.")
    progress = _progress(state, feed, newest_at, unreadable is not None, now)
    off, gate = _is_off(info), progress.gate
    comes = readings_come(feed, newest_at, state.live.status.as_of)
    warnings = [
        *([f"The gate refused candidate v{gate.candidate_version}."] if gate and gate.awaits_approval else []),
        *(["No readings come."] if comes is False and newest is not None and not off and not failures else []),
        *(troubles.warnings(info, now) if info else []),
        *troubles.of_baseline(feed, info, _in_force(state, feed), newest_at, now),
        *troubles.of_gate(gate.checked_at if gate else None, newest_at, now),
    ]
    return StreamOverview(
        name=feed.name,
        stream="score",
        description=feed.description,
        queries=[],
        standing=_standing(failures, warnings, off, unfinished=progress.first_baseline is not None),
        troubles=[*failures, *warnings],
        info=info,
        supervision=state.acts.page(f"supervise_streams.{feed.name}"),
        feed=progress,
        next_step=next_step(feed, progress, broken=bool(failures), off=off, comes=comes),
    )


def _progress(state: State, feed: Feed, newest_at: dt.datetime | None, unreadable: bool, now: dt.datetime) -> FeedProgress:
    dates, in_force = state.tables.dates(feed), _in_force(state, feed)
    lacks = in_force is None and not unreadable
    return FeedProgress(
        newest_at=newest_at,
        archived_until=max(dates) if dates else None,
        archived_dates=None if dates is None else len(dates),
        first_baseline=first_baseline(feed, dates or frozenset(), now.astimezone(feed.zone).date()) if lacks else None,
        baseline_version=in_force.version if in_force else None,
        baseline_as_of=in_force.as_of if in_force else None,
        promoted_at=in_force.promoted_at if in_force else None,
        gate=if_readable(_verdict, None, state, feed),
        nightly=state.acts.page(f"nightly_baseline.{feed.name}"),
    )


def _in_force(state: State, feed: Feed) -> Entry | None:
    newest: list[Entry] = if_readable(state.tables.promotions, [], feed, 1)
    return next(iter(newest), None)


def _of_application(state: State, name: str, queries: list[str], info: StreamInfo | None, now: dt.datetime) -> StreamOverview:
    failures, warnings = _failures(info), list(troubles.warnings(info, now)) if info else []
    return StreamOverview(
        name=name,
        stream="queries",
        description=None,
        queries=queries,
        standing=_standing(failures, warnings, _is_off(info), unfinished=False),
        troubles=[*failures, *warnings],
        info=info,
        supervision=state.acts.page(f"supervise_queries.{name}"),
        feed=None,
        next_step=None,
    )


def _failures(info: StreamInfo | None) -> list[str]:
    return list(troubles.failures(info)) if info else []


def _standing(failures: list[str], warnings: list[str], off: bool, unfinished: bool) -> Standing:
    if failures or warnings:
        return "failing" if failures else "attention"
    return "unfinished" if unfinished else "off" if off else "well"


def _verdict(state: State, feed: Feed) -> GateVerdict | None:
    newest = next(iter(state.tables.gate_results(feed, 1)), None)
    if newest is None:
        return None
    return GateVerdict(
        candidate_version=newest.candidate_version,
        checked_at=newest.checked_at,
        success=newest.success,
        awaits_approval=state.tables.awaits_approval(feed) is True,
    )
