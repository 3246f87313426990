"""The state of a stream, from its lock and its heartbeat: for the API, the commands and the benchmarks."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervision.files import StreamFolder, is_locked, parse_time, stream_folders

STALE_SECONDS = 10.0  # a heartbeat older than this says nothing about the present
LAUNCH_WITHIN = 60.0  # that the supervision has for the first launch, from when it took the stream over
REPORTED_STATES = ("starting", "running", "swapping", "stopping")


@dataclass(frozen=True)
class StreamStatus:
    """One stream at one moment.

    state: what the driver reports (REPORTED_STATES); or `stopped`: it ended on request, or a person has switched the stream off,
    `dead`: it ended otherwise, `stale`: it lives but does not report.
    problem: what is wrong and where to look; None if nothing is.
    heartbeat: of the present driver, empty before its first; age: seconds since then.
    """

    folder: StreamFolder
    alive: bool
    driver: dict[str, Any]
    heartbeat: dict[str, Any]
    age: float | None
    state: str
    problem: str | None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def pid(self) -> int | None:
        """Of the driver, if it lives."""
        return self.driver.get("pid") if self.alive else None

    @property
    def log(self) -> Path:
        return self.folder.log

    @property
    def switched_off(self) -> bool:
        """Whether it has ended because a person wants that; one that is supervised is launched again."""
        return self.state == "stopped" and not self.folder.read_supervisor()

    @property
    def launched_at(self) -> dt.datetime | None:
        """When the supervision last launched a driver."""
        at = self.folder.read_launch().at
        return dt.datetime.fromtimestamp(at, dt.UTC) if at else None

    @property
    def restarts(self) -> int:
        """Launches after drivers that died, since a driver last ended on request."""
        return self.folder.read_launch().restarts

    @property
    def since(self) -> dt.datetime | None:
        """Since when it is in its state, as far as its files say: one that does not report, since its last report."""
        reported = parse_time(self.heartbeat.get("at"))
        if self.state == "starting":
            return self.launched_at or self.supervised_at
        if self.state == "stopped":
            return (self.supervised_at if self.folder.is_switched_off() else None) or reported
        if self.state in REPORTED_STATES:
            return parse_time(self.driver.get("started_at"))
        return reported or self.launched_at

    @property
    def supervised_at(self) -> dt.datetime | None:
        """When the supervision last looked at the stream; None if none ever did."""
        mark = self.folder.look_mark()
        return dt.datetime.fromtimestamp(mark / 1e9, dt.UTC) if mark else None

    @property
    def given_up(self) -> bool:
        """Whether restarting has not helped; the stream is then tried at long intervals only."""
        return self.folder.is_given_up()


def read_status(folder: StreamFolder, now: dt.datetime | None = None) -> StreamStatus:
    driver, heartbeat, alive = folder.read_driver(), folder.read_heartbeat(), is_locked(folder.driver_lock)
    beat, now = parse_time(heartbeat.get("at")), now or dt.datetime.now(dt.UTC)
    age = max((now - beat).total_seconds(), 0.0) if beat else None
    state, problem = _alive(folder, driver, heartbeat, age) if alive else _ended(folder, driver, heartbeat, now)
    return StreamStatus(folder, alive, driver, heartbeat, age, state, problem)


def read_all(streams: Path, now: dt.datetime | None = None) -> list[StreamStatus]:
    """Every stream that ever ran here, by name; empty where none did."""
    return [read_status(folder, now) for folder in stream_folders(streams)]


def stopped_on_request(heartbeat: Mapping[str, Any]) -> bool:
    """Whether the last heartbeat of a driver that has ended says that it stopped, and not because of an error."""
    return heartbeat.get("state") == "stopping" and not heartbeat.get("last_error")


def _ended(folder: StreamFolder, driver: dict[str, Any], heartbeat: dict[str, Any], now: dt.datetime) -> tuple[str, str | None]:
    if folder.is_switched_off() or stopped_on_request(heartbeat):
        return "stopped", None
    if not driver and is_locked(folder.launch_lock):
        return "starting", None  # spark-submit runs, and its driver does not yet
    if not driver and folder.read_supervisor() and not folder.read_launch().at and _just_looked_at(folder, now):
        return "starting", None  # the supervision has taken the stream over, and has launched nothing yet
    if "pid" in driver:
        return "dead", f"driver {driver['pid']} is gone: see {folder.name}/{folder.log.name}"
    return "dead", f"no readable {folder.driver_file.name}: no driver got that far"


def _just_looked_at(folder: StreamFolder, now: dt.datetime) -> bool:
    return now.timestamp() - folder.look_mark() / 1e9 < LAUNCH_WITHIN


def _alive(folder: StreamFolder, driver: dict[str, Any], heartbeat: dict[str, Any], age: float | None) -> tuple[str, str | None]:
    reported = heartbeat.get("state")
    if age is None:
        return "starting", None
    if age > STALE_SECONDS:
        silent = f"driver {driver.get('pid')} lives but has not reported for {age:.0f} s"
        return "stale", f"{silent}: see {folder.name}/{folder.log.name}"
    if reported not in REPORTED_STATES:
        return "stale", f"{folder.heartbeat_file.name} has the unknown state {reported!r}"
    return reported, None
