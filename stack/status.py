"""What runs, how it is, and where its log is: for people and, as JSON, for scripts."""

import datetime as dt
import json
from dataclasses import asdict, dataclass

from contracts.run_state import observe_all
from stack import airflow, kafka, process, registry, serving
from stack.home import Home


@dataclass(frozen=True)
class Row:
    """One process of the stack."""

    name: str
    state: str  # healthy, unhealthy, dead (started but gone), stopped
    pid: int | None
    port: int | None
    uptime_seconds: int | None
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


def checks(home: Home) -> dict[str, bool]:
    """Health of each part that is meant to run."""
    report = airflow.health(home)
    components = {name: report.get(airflow.REPORTED.get(name, "metadatabase")) == "healthy" for name in airflow.COMPONENTS}
    brokers = {name: kafka.healthy(home, broker) for broker, name in zip(home.brokers, kafka.names(home), strict=True)}
    return brokers | {registry.NAME: registry.healthy(home)} | components | {serving.NAME: serving.healthy(home)}


def state_of(running: bool, started: bool, healthy: bool) -> str:
    if not running:
        return "dead" if started else "stopped"
    return "healthy" if healthy else "unhealthy"


def rows(home: Home) -> list[Row]:
    names = process.recorded(home)
    brokers = kafka.names(home)
    health = checks(home) if names else dict.fromkeys([*brokers, registry.NAME, *airflow.COMPONENTS, serving.NAME], False)
    ports = {name: name for name in (*brokers, registry.NAME, serving.NAME)} | {"airflow-api-server": "airflow"}
    found = []
    for name in [*health, *(name for name in names if name not in health)]:
        running = process.find(home, name)
        state = state_of(running is not None, name in names, health.get(name, True))
        uptime = int(dt.datetime.now().timestamp() - running.create_time()) if running else None
        port = home.ports[ports[name]] if name in ports else None
        found.append(Row(name, state, running.pid if running else None, port, uptime, str(process.log_file(home, name))))
    return found


def stream_rows(home: Home) -> list[StreamRow]:
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
        for stream in observe_all(home.streams)
    ]


def baselines(home: Home) -> dict[str, dict]:
    """The baseline in force of each feed: its version, and the promotion's own words."""
    from deltalake import DeltaTable

    found = {}
    for folder in sorted((home.lake / "baseline").glob("*/_delta_log")):
        table = DeltaTable(folder.parent)
        notes = (json.loads(commit.get("userMetadata") or "{}") for commit in table.history())
        newest = next((note for note in notes if "candidate_version" in note), {})  # commits of upkeep put nothing in force
        found[folder.parent.name] = {"version": table.version(), "promotion": newest}
    return found


def report(home: Home) -> dict:
    return {
        "home": str(home.path),
        "dashboard": home.api,
        "airflow": home.airflow,
        "kafka": home.kafka,
        "registry": home.registry,
        "processes": [asdict(row) for row in rows(home)],
        "streams": [asdict(row) for row in stream_rows(home)],
        "baselines": baselines(home),
    }
