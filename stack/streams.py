"""The streams' drivers as seen from outside: who runs, in which state, and how to stop them.

A driver holds a lock on `driver.lock` for its life; that, and not the pid in `driver.json`, says whether it lives.
"""

import contextlib
import datetime as dt
import json
import time
from dataclasses import dataclass
from fcntl import LOCK_NB, LOCK_SH, LOCK_UN, flock
from pathlib import Path

import psutil

from stack import process
from stack.home import Home

STOP_WAIT = 15.0  # seconds that a driver has to end its query cleanly
STALE = 10.0  # seconds without a heartbeat after which a stream's state is not believed


@dataclass(frozen=True)
class Stream:
    """What a stream's folder says about it."""

    folder: Path
    pid: int | None  # of the driver, None where none lives
    heartbeat: dict

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def age(self) -> float | None:
        """Seconds since the last heartbeat."""
        if "at" not in self.heartbeat:
            return None
        return (dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(self.heartbeat["at"])).total_seconds()

    @property
    def state(self) -> str:
        if self.pid is None:
            return "stopped"
        if self.age is None:
            return "starting"
        return self.heartbeat.get("state", "unknown") if self.age < STALE else "silent"

    @property
    def log(self) -> Path:
        return self.folder / "driver.log"


def read(file: Path) -> dict:
    """A JSON file, empty where there is none yet."""
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def held(lock: Path) -> bool:
    """Somebody holds the lock."""
    if not lock.exists():
        return False
    with lock.open() as file:
        try:
            flock(file, LOCK_SH | LOCK_NB)
        except BlockingIOError:
            return True
        flock(file, LOCK_UN)
    return False


def observe(folder: Path) -> Stream:
    pid = read(folder / "driver.json").get("pid") if held(folder / "driver.lock") else None
    return Stream(folder, pid, read(folder / "heartbeat.json"))


def all_streams(home: Home) -> list[Stream]:
    return [observe(folder) for folder in sorted(home.streams.glob("*.*")) if folder.is_dir()]


def stop_all(home: Home, patience: float = STOP_WAIT) -> list[str]:
    """Ask every driver to end, wait, then end it; names of the streams that ran."""
    running = [stream for stream in all_streams(home) if stream.pid]
    for stream in running:
        (stream.folder / "stop").touch()
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and any(held(stream.folder / "driver.lock") for stream in running):
        time.sleep(0.2)
    for stream in running:
        if held(stream.folder / "driver.lock"):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.stop_tree(psutil.Process(stream.pid), grace=5)
        (stream.folder / "stop").unlink(missing_ok=True)
    return [stream.name for stream in running]
