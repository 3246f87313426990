"""What runs, how it is, and where its log is: for people and, as JSON, for scripts."""

import datetime as dt
from dataclasses import asdict, dataclass

from contracts.baseline_log import baseline_log
from stack.instance import Instance
from stack.parts import airflow, alerts, kafka, process, registry, serving, watcher
from supervision.status import read_all

STALLED = 10.0  # seconds in which nothing was done of what waits; a restart is not one


@dataclass(frozen=True)
class Row:
    """One process of the stack."""

    name: str
    state: str  # healthy, unhealthy, dead (started but gone), stopped
    pid: int | None
    port: int | None
    uptime_seconds: int | None
    restarts: int  # by the watcher, since that was started
    last_restart: str | None  # ISO 8601
    restart_in_seconds: float | None  # of a dead one that the watcher starts again
    waits_for: tuple[str, ...]  # which must be healthy before that
    log: str


@dataclass(frozen=True)
class StreamRow:
    """One stream, by its heartbeat."""

    name: str
    state: str
    pid: int | None
    baseline_version: int | None
    heartbeat_age_seconds: float | None
    lag_records: int | None
    stalled_seconds: float
    last_error: str | None
    log: str


def checks(instance: Instance) -> dict[str, bool]:
    """Health of each part that is meant to run."""
    report = airflow.health(instance)
    components = {name: report.get(airflow.REPORTED.get(name, "metadatabase")) == "healthy" for name in airflow.COMPONENTS}
    brokers = {
        name: kafka.healthy(instance, broker) for broker, name in zip(instance.brokers, kafka.names(instance), strict=True)
    }
    others = {each.NAME: each.healthy(instance) for each in (serving, watcher)}
    if alerts.NAME in process.recorded(instance):
        others[alerts.NAME] = alerts.healthy(instance)
    return brokers | {registry.NAME: registry.healthy(instance)} | components | others


def state_of(running: bool, started: bool, healthy: bool) -> str:
    if not running:
        return "dead" if started else "stopped"
    return "healthy" if healthy else "unhealthy"


def rows(instance: Instance) -> list[Row]:
    names = process.recorded(instance)
    parts = [*kafka.names(instance), registry.NAME, *airflow.COMPONENTS, serving.NAME, watcher.NAME]
    health = checks(instance) if names else dict.fromkeys(parts, False)
    restarts, now, found = watcher.restarts(instance), dt.datetime.now(dt.UTC), []
    for name in [*health, *(name for name in names if name not in health)]:
        running = process.find(instance, name)
        state = state_of(running is not None, name in names, health.get(name, True))
        told = restarts.get(name, watcher.Restarts())
        found.append(
            Row(
                name,
                state,
                running.pid if running else None,
                process.port(instance, name),
                int(now.timestamp() - running.create_time()) if running else None,
                told.restarts,
                dt.datetime.fromtimestamp(told.last, dt.UTC).isoformat(timespec="seconds") if told.last else None,
                round(max(0.0, told.due - now.timestamp()), 1) if told.due and state == "dead" else None,
                tuple(told.lacks),
                str(process.log_file(instance, name)),
            )
        )
    return found


def stream_rows(instance: Instance) -> list[StreamRow]:
    return [
        StreamRow(
            stream.name,
            stream.state,
            stream.pid,
            stream.heartbeat.get("baseline_version"),
            None if stream.age is None else round(stream.age, 1),
            stream.heartbeat.get("health", {}).get("lag_records"),
            stream.heartbeat.get("health", {}).get("stalled_seconds", 0.0),
            stream.heartbeat.get("last_error"),
            str(stream.log),
        )
        for stream in read_all(instance.streams)
    ]


def baselines(instance: Instance) -> dict[str, dict]:
    """The baseline in force of each feed: its version, and the promotion's own words."""
    from deltalake import DeltaTable

    found = {}
    for folder in sorted((instance.lake / "baseline").glob("*/_delta_log")):
        log = baseline_log(DeltaTable(folder.parent).history())
        found[folder.parent.name] = {"version": log.version_in_force, "promotion": log.in_force.note if log.in_force else {}}
    return found


def ill(report: dict) -> list[str]:
    """What should run and is not healthy, and why; empty if all is well."""
    processes = [f"{row['name']} is {row['state']}" for row in report["processes"] if row["state"] != "healthy"]
    streams = [f"{row['name']} is {row['state']}" for row in report["streams"] if row["state"] in ("dead", "stale")]
    stalled = [
        f"{row['name']} has done nothing for {row['stalled_seconds']:.0f} s, and {row['lag_records'] or 0:,} records wait"
        for row in report["streams"]
        if row["state"] not in ("dead", "stale") and row["stalled_seconds"] > STALLED
    ]
    held = ["a route of alerts is held"] if report["messages"] and report["messages"]["held"] else []
    return processes + streams + stalled + held


def report(instance: Instance) -> dict:
    return {
        "home": str(instance.path),
        "dashboard": instance.api,
        "airflow": instance.airflow,
        "kafka": instance.kafka,
        "registry": instance.registry,
        "processes": [asdict(row) for row in rows(instance)],
        "streams": [asdict(row) for row in stream_rows(instance)],
        "baselines": baselines(instance),
        "messages": alerts.messages(instance),
    }
