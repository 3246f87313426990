"""Streams, baselines, gates and serving's own room as Prometheus metrics, read at each scrape.

Series of what is not known are left out rather than reported as zero. Airflow's own metrics are not among them.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from contracts.feeds import Feed
from serving.dependencies import CurrentState
from serving.service_metrics import of_each_service, of_incidents
from serving.state import State
from serving.streams import Stream, streams
from supervision.status import REPORTED_STATES

WELL = ("running", "swapping")
router = APIRouter()


@router.get("/metrics", tags=["state"], summary="Metrics for Prometheus", response_class=Response)
def metrics(state: CurrentState) -> Response:
    """In Prometheus' text format. `sundial_stream_*` by feed and stream; `sundial_feed_*`, `sundial_baseline_*`,
    `sundial_gate_*` and `sundial_serving_*` by feed, `sundial_service_*` by feed and service."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(state))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Collector:
    def __init__(self, state: State):
        self._state = state

    def collect(self) -> Iterator[Metric]:
        now = self._state.now()
        yield from _of_streams(streams(Path(self._state.settings.streams), now), now)
        yield from _of_feeds(self._state)
        unreadable = self._state.archive.unreadable(self._state.feeds.values())
        readable = [feed for feed in self._state.feeds.values() if feed.name not in unreadable]
        yield _of_tables(unreadable)
        yield from _of_baselines(self._state, readable)
        yield from _of_gates(self._state, readable)
        yield from _of_services(self._state)
        yield from of_each_service(self._state)
        yield of_incidents(self._state, readable)


def _of_streams(found: list[Stream], now: dt.datetime) -> Iterator[Metric]:
    always = {
        "up": ("1 while it scores or takes up another baseline, else 0", lambda each: each.state in WELL),
        "given_up": ("1 while restarting has not helped, and no driver has run well since", lambda each: each.given_up),
        "switched_off": ("1 while it has ended because a person wants that", lambda each: each.switched_off),
        "launched_timestamp_seconds": ("When its driver was last launched", lambda each: _seconds(each.launched_at)),
        "unattended_seconds": ("Since its supervision last looked", lambda each: _age(each.supervised_at, now)),
        "heartbeat_age_seconds": ("Since its driver last reported", lambda each: each.heartbeat_age_seconds),
    }
    # The last heartbeat of a driver that is gone, or hangs, says nothing about the present.
    reported = {
        "baseline_version": ("Version of the baseline that it scores by; -1: none", lambda each: each.baseline_version),
        "query_started_timestamp_seconds": (
            "Since when its dead letters are counted",
            lambda each: _seconds(each.query_started_at),
        ),
        "lag_records": ("Records of its topic that wait", lambda each: each.health.lag_records),
        "lag_seconds": ("How long the oldest of them has waited", lambda each: each.health.lag_seconds),
        "input_per_second": ("Records that come in, over ten seconds", lambda each: each.health.input_per_second),
        "stalled_seconds": ("How long none was done while some waited", lambda each: each.health.stalled_seconds),
    }
    reporting = [each for each in found if each.state in REPORTED_STATES]
    for gauges, streams_ in ((always, found), (reported, reporting)):
        for name, (meaning, value) in gauges.items():
            values = {(each.feed, each.stream): value(each) for each in streams_}
            yield _gauge(f"sundial_stream_{name}", meaning, ["feed", "stream"], values)
    meaning = "Records dead-lettered since its queries began"
    dead = CounterMetricFamily("sundial_stream_dead_letters", meaning, labels=["feed", "stream"])
    for each in reporting:
        if each.health.dead_letters is not None:
            dead.add_metric([each.feed, each.stream], each.health.dead_letters)
    yield dead


def _of_feeds(state: State) -> Iterator[Metric]:
    newest = {(name,): state.memory.newest_at(name) for name in state.feeds}
    seconds = {labels: None if at is None else at / 1000 for labels, at in newest.items()}
    yield _gauge("sundial_feed_newest_reading_timestamp_seconds", "Time of its newest scored reading", ["feed"], seconds)


def _of_tables(unreadable: Iterable[str]) -> Metric:
    meaning = "1 while its history, baseline, gate's results, incidents, detector's state or people's statements can't be read"
    return _gauge("sundial_feed_tables_unreadable", meaning, ["feed"], {(feed,): 1.0 for feed in unreadable})


def _of_baselines(state: State, feeds: list[Feed]) -> Iterator[Metric]:
    newest = {feed: next(iter(state.tables.promotions(feed, 1)), None) for feed in feeds}
    force = {(feed.name,): promotion for feed, promotion in newest.items() if promotion}
    age = {labels: (state.now() - each.promoted_at).total_seconds() for labels, each in force.items()}
    yield _gauge("sundial_baseline_version", "In force", ["feed"], {labels: each.version for labels, each in force.items()})
    yield _gauge("sundial_baseline_age_seconds", "Since it was put in force", ["feed"], age)
    as_of = {(feed.name,): _midnight(feed, each.as_of) for feed, each in newest.items() if each and each.as_of}
    yield _gauge("sundial_baseline_as_of_timestamp_seconds", "Start of the local date that it is for", ["feed"], as_of)


def _of_gates(state: State, feeds: list[Feed]) -> Iterator[Metric]:
    newest = {(feed.name,): next(iter(state.tables.gate_results(feed, 1)), None) for feed in feeds}
    judged = {labels: result for labels, result in newest.items() if result}
    passed = {labels: result.success for labels, result in judged.items()}
    yield _gauge("sundial_gate_passed", "Whether the gate passed the newest candidate", ["feed"], passed)
    awaited = {(feed.name,): state.tables.awaits_approval(feed) for feed in feeds}
    meaning = "1 while a person may promote the newest candidate, which the gate refused"
    yield _gauge("sundial_gate_awaits_approval", meaning, ["feed"], awaited)
    checked = {labels: result.checked_at.timestamp() for labels, result in judged.items()}
    yield _gauge("sundial_gate_checked_timestamp_seconds", "When it judged that", ["feed"], checked)
    failed = {
        (*labels, severity): sum(not e["success"] for e in result.expectations if e["severity"] == severity)
        for labels, result in judged.items()
        for severity in sorted({e["severity"] for e in result.expectations})
    }
    meaning = "Expectations that the newest candidate failed"
    yield _gauge("sundial_gate_expectations_failed", meaning, ["feed", "severity"], failed)


def _of_services(state: State) -> Iterator[Metric]:
    meaning = "Services dropped for others, as there were more than serving keeps"
    evicted = CounterMetricFamily("sundial_serving_evicted_services", meaning, labels=["feed"])
    meaning = "Readings of services that found no room"
    turned_away = CounterMetricFamily("sundial_serving_turned_away_readings", meaning, labels=["feed"])
    for feed, crowding in state.memory.crowding().items():
        evicted.add_metric([feed], crowding.evicted)
        turned_away.add_metric([feed], crowding.turned_away)
    yield from (evicted, turned_away)


def _gauge(name: str, meaning: str, labels: list[str], values: Mapping[Any, float | None]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for key, value in values.items():
        if value is not None:
            family.add_metric(list(key), float(value))
    return family


def _seconds(instant: dt.datetime | None) -> float | None:
    return None if instant is None else instant.timestamp()


def _age(instant: dt.datetime | None, now: dt.datetime) -> float | None:
    return None if instant is None else max((now - instant).total_seconds(), 0.0)


def _midnight(feed: Feed, date: dt.date) -> float:
    return dt.datetime.combine(date, dt.time(), feed.zone).timestamp()
