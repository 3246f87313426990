"""State of the running streams, as the API gives it."""

import datetime as dt
from dataclasses import dataclass, fields
from pathlib import Path

from supervision import spark_history
from supervision.files import parse_time
from supervision.status import StreamStatus, read_all


@dataclass(frozen=True)
class StreamHealth:
    """What the driver last measured at the broker (see jobs/streams/lag_and_rates.py); None is not known."""

    measured_at: dt.datetime | None = None
    lag_records: float | None = None
    lag_seconds: float | None = None
    input_per_second: float | None = None
    dead_letters: float | None = None
    dead_letters_per_second: float | None = None
    stalled_seconds: float | None = None


@dataclass(frozen=True)
class Stream:
    feed: str
    stream: str
    state: str
    since: dt.datetime | None
    problem: str | None
    given_up: bool
    switched_off: bool
    restarts: int
    launched_at: dt.datetime | None
    supervised_at: dt.datetime | None
    pid: int | None
    started_at: dt.datetime | None
    heartbeat_at: dt.datetime | None
    heartbeat_age_seconds: float | None
    baseline_version: int | None
    generation: int | None
    query_started_at: dt.datetime | None
    last_error: str | None
    spark_application: str | None
    spark_history: str | None
    health: StreamHealth


def streams(root: Path, now: dt.datetime, history: str = "") -> list[Stream]:
    """Every stream that ever ran here, by name; empty where none did. `history`: address of Spark's history server."""
    return [_stream(each, history) for each in read_all(root, now)]


def _stream(found: StreamStatus, history: str) -> Stream:
    feed, _, stream = found.name.partition(".")
    heartbeat = found.heartbeat
    application = found.driver.get("spark_application")
    return Stream(
        feed=feed,
        stream=stream,
        state=found.state,
        since=found.since,
        problem=found.problem,
        given_up=found.given_up,
        switched_off=found.switched_off,
        restarts=found.restarts,
        launched_at=found.launched_at,
        supervised_at=found.supervised_at,
        pid=found.pid,
        started_at=parse_time(found.driver.get("started_at")),
        heartbeat_at=parse_time(heartbeat.get("at")),
        heartbeat_age_seconds=None if found.age is None else round(found.age, 1),
        baseline_version=heartbeat.get("baseline_version"),
        generation=heartbeat.get("generation"),
        query_started_at=parse_time(heartbeat.get("query_started_at")),
        last_error=heartbeat.get("last_error"),
        spark_application=application,
        spark_history=spark_history.page(history, application),
        health=_health(heartbeat.get("health")),
    )


def _health(reported: object) -> StreamHealth:
    reported = reported if isinstance(reported, dict) else {}
    figures = (field.name for field in fields(StreamHealth) if field.name != "measured_at")
    known = {name: reported[name] for name in figures if type(reported.get(name)) in (int, float)}
    return StreamHealth(parse_time(reported.get("measured_at")), **known)
