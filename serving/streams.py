"""State of the running streams, from what each driver leaves in its folder: driver.json, heartbeat.json."""

import contextlib
import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path

import psutil

STALE_SECONDS = 10.0  # the driver writes its heartbeat every second
RUN_STATES = ("starting", "running", "swapping", "stopping")


@dataclass(frozen=True)
class Stream:
    feed: str
    stream: str
    state: str
    problem: str | None
    pid: int | None
    started_at: dt.datetime | None
    heartbeat_at: dt.datetime | None
    heartbeat_age_seconds: float | None
    baseline_version: int | None
    batch_id: int | None
    query_started_at: dt.datetime | None
    last_error: str | None
    spark_ui: str | None


def streams(root: Path, now: dt.datetime) -> list[Stream]:
    """Every stream that ever ran here, by name; empty where none did."""
    folders = sorted(each for each in root.glob("*.*") if each.is_dir()) if root.is_dir() else []
    return [_stream(folder, now) for folder in folders]


def _stream(folder: Path, now: dt.datetime) -> Stream:
    feed, _, stream = folder.name.partition(".")
    driver, heartbeat = _json(folder / "driver.json"), _json(folder / "heartbeat.json")
    started, beat = _instant(driver.get("started_at")), _instant(heartbeat.get("at"))
    if started and beat and beat < started:
        heartbeat, beat = {}, None  # the driver before this one wrote it
    age = max((now - beat).total_seconds(), 0.0) if beat else None
    state, problem = _state(driver, started, heartbeat.get("state"), age, f"{folder.name}/driver.log")
    return Stream(
        feed=feed,
        stream=stream,
        state=state,
        problem=problem,
        pid=driver.get("pid"),
        started_at=started,
        heartbeat_at=beat,
        heartbeat_age_seconds=None if age is None else round(age, 1),
        baseline_version=heartbeat.get("baseline_version"),
        batch_id=heartbeat.get("batch_id"),
        query_started_at=_instant(heartbeat.get("query_started_at")),
        last_error=heartbeat.get("last_error"),
        spark_ui=driver.get("spark_ui"),
    )


def _state(driver: dict, started: dt.datetime | None, said: str | None, age: float | None, log: str) -> tuple[str, str | None]:
    """The state, and what is wrong if something is."""
    pid = driver.get("pid")
    if not _alive(pid, started):
        if said == "stopping":
            return "stopped", None
        return "dead", f"no process {pid}: see {log}" if pid else "no readable driver.json: the driver never got that far"
    if age is None:
        return "starting", None
    if age > STALE_SECONDS:
        return "stale", f"process {pid} lives but has not reported for {age:.0f} s: see {log}"
    if said not in RUN_STATES:
        return "stale", f"heartbeat.json has the unknown state {said!r}"
    return said, None


def _alive(pid: int | None, started: dt.datetime | None) -> bool:
    """Whether that very process lives: a pid used again belongs to a process younger than the driver said it was."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return started is None or process.create_time() <= started.timestamp() + 2
    return False


def _json(file: Path) -> dict:
    """The file's object; empty where it is missing, half written or no object."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(file.read_text())
        return found if isinstance(found, dict) else {}
    return {}


def _instant(text: str | None) -> dt.datetime | None:
    with contextlib.suppress(TypeError, ValueError):
        instant = dt.datetime.fromisoformat(text)
        return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
    return None
