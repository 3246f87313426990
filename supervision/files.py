"""The files in the run-state folder of a stream: their names, formats and locks. No other module spells these names.

A stream is the `score` of a feed or the `queries` of an application. Its folder is `$SUNDIAL_STREAMS/<of>.<stream>/`:

    driver.lock     locked by the driver while it lives. This lock, and no pid, says whether a driver lives, on every machine that
                    shares the folder
    driver.json     who the driver is; removed at each launch
    heartbeat.json  the state that the driver reports every second; removed at each launch
    checkpoint/     Spark's checkpoints
    refused.json    schema ids that the registry does not have, by subject; kept for the next driver
    scratch/        temporary files of Spark and its JVM; emptied at each launch, as a killed driver leaves them
    stop            a request: the driver ends at a batch boundary and removes the file
    launch.lock     locked from before a launch until the driver's JVM ends; its content describes the last launch
    driver.log      what the driver prints
    supervisor      the id of the task attempt in charge, empty after a person has ended it; its modification time is when that
                    last looked at the stream
    given-up        restarting has not helped, and no driver has run well since; contains `told` once the alert was sent
"""

import datetime as dt
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LOG_BYTES = 64 * 1024 * 1024  # a longer log is moved aside at the next launch
TAIL_BYTES, TAIL_LINES = 32 * 1024, 40
LOCK_ATTEMPTS, LOCK_PAUSE = 10, 0.05  # `is_locked` holds a lock for microseconds, so one refusal does not mean that it is taken
TOLD = "told"  # in the file given-up: the message was sent
LAUNCH_WIDTH = 120  # bytes of a launch record; always the same, so that a reader finds the old one or the new one


class Locked(RuntimeError):
    """Another process has the lock."""


@dataclass(frozen=True)
class LaunchRecord:
    """One launch of a driver: pid of its process group (None until it is known), epoch seconds, length of the log before it.

    restarts: launches after drivers that died, this one included, since a driver last ended on request.
    """

    pid: int | None = None
    at: float = 0.0
    log_offset: int = 0
    restarts: int = 0


class StreamFolder:
    """The run-state folder of one stream."""

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self.name = self.path.name
        self.driver_lock = self.path / "driver.lock"
        self.launch_lock = self.path / "launch.lock"
        self.log = self.path / "driver.log"
        self.checkpoint = self.path / "checkpoint"
        self.scratch = self.path / "scratch"
        self.driver_file = self.path / "driver.json"
        self.heartbeat_file = self.path / "heartbeat.json"
        self._stop = self.path / "stop"
        self._refused = self.path / "refused.json"
        self.supervisor_file = self.path / "supervisor"
        self._given_up = self.path / "given-up"

    @classmethod
    def of(cls, streams: Path | str, of: str, stream: str) -> "StreamFolder":
        """The folder of a feed's or an application's stream, below the folder of all streams."""
        return cls(Path(streams) / f"{of}.{stream}")

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def read_driver(self) -> dict[str, Any]:
        return read_json(self.driver_file)

    def write_driver(self, driver: Mapping[str, Any]) -> None:
        write_json(self.driver_file, driver)

    def read_heartbeat(self) -> dict[str, Any]:
        return read_json(self.heartbeat_file)

    def write_heartbeat(self, heartbeat: Mapping[str, Any]) -> None:
        write_json(self.heartbeat_file, heartbeat)

    def heartbeat_mark(self) -> int:
        """A number that changes with every heartbeat; 0 before a driver's first one."""
        with suppress(FileNotFoundError):
            return self.heartbeat_file.stat().st_mtime_ns
        return 0

    def clear_reports(self) -> None:
        """Remove what the last driver said of itself. So nobody compares times to tell it from what the next driver says: a clock
        may be set back."""
        self.heartbeat_file.unlink(missing_ok=True)
        self.driver_file.unlink(missing_ok=True)

    def read_launch(self) -> LaunchRecord:
        """The last launch; empty where there was none."""
        found = read_json(self.launch_lock)
        return LaunchRecord(found.get("pid"), found.get("at", 0.0), found.get("log_offset", 0), found.get("restarts", 0))

    def stop_requested(self) -> bool:
        return self._stop.exists()

    def read_refused(self) -> dict[str, Any]:
        return read_json(self._refused)

    def write_refused(self, refused: Mapping[str, Any]) -> None:
        write_json(self._refused, refused)

    def request_stop(self) -> None:
        self._stop.touch()

    def empty_scratch(self) -> None:
        """It is there afterwards: a JVM makes no folder for its temporary files."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(exist_ok=True)

    def clear_stop(self) -> None:
        self._stop.unlink(missing_ok=True)

    def read_supervisor(self) -> str:
        return self.supervisor_file.read_text() if self.supervisor_file.exists() else ""

    def write_supervisor(self, attempt: str) -> None:
        """`attempt`: the id of the task attempt that is in charge from now on; a cleared or retried task has another."""
        self.make()
        self.supervisor_file.write_text(attempt)

    def look(self) -> None:
        """Note that the supervision looks at the stream just now."""
        with suppress(FileNotFoundError):
            os.utime(self.supervisor_file)

    def is_switched_off(self) -> bool:
        """Whether a person has ended the supervision, and none has begun since."""
        return self.supervisor_file.exists() and not self.read_supervisor()

    def look_mark(self) -> int:
        """Changes with every look; 0 if no supervision ever was in charge."""
        with suppress(FileNotFoundError):
            return self.supervisor_file.stat().st_mtime_ns
        return 0

    def is_given_up(self) -> bool:
        """Whether restarting has not helped, and no driver has run well since."""
        return self._given_up.exists()

    def mark_given_up(self) -> None:
        self._given_up.touch()

    def is_told(self) -> bool:
        """Whether people have got the message that the stream was given up."""
        with suppress(FileNotFoundError):
            return self._given_up.read_text() == TOLD
        return False

    def mark_told(self) -> None:
        """A stream that was cleared meanwhile is not given up again."""
        if self.is_given_up():
            self._given_up.write_text(TOLD)

    def clear_given_up(self) -> None:
        self._given_up.unlink(missing_ok=True)

    def rotate_log(self) -> None:
        """Move a log that has grown too long aside."""
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))

    def read_log(self, start: int, most: int) -> tuple[str, int]:
        """The log from byte `start` on, but at most its last `most` bytes; and the log's size."""
        with suppress(FileNotFoundError), self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(start, size - most))
            return log.read().decode(errors="replace"), size
        return "", 0

    def log_tail(self) -> str:
        """The end of what the driver of the last launch printed, bounded in bytes and lines."""
        text, _ = self.read_log(self.read_launch().log_offset, TAIL_BYTES)
        return "\n".join(text.splitlines()[-TAIL_LINES:])

    def log_age(self) -> float:
        """Seconds since the driver printed anything. An old last line is hardly the reason for the driver's end."""
        with suppress(FileNotFoundError):
            return max(time.time() - self.log.stat().st_mtime, 0.0)
        return 0.0


def stream_folders(streams: Path) -> list[StreamFolder]:
    """The folder of every stream that ever ran here, by name; empty where none did."""
    return [StreamFolder(folder) for folder in sorted(streams.glob("*.*")) if folder.is_dir()]


def is_locked(file: Path) -> bool:
    """Whether a process has the lock. Tries a shared lock, so that two such checks do not disturb each other."""
    try:
        opened = file.open()
    except FileNotFoundError:
        return False
    with opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def locked(file: Path) -> Iterator[int]:
    """The file locked, as a descriptor. A child process that inherits it keeps the lock. Raises Locked where another has it."""
    lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        for attempt in range(1, LOCK_ATTEMPTS + 1):
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if attempt == LOCK_ATTEMPTS:
                raise Locked(str(file))
            time.sleep(LOCK_PAUSE)
        yield lock
    finally:
        os.close(lock)


def write_launch(lock: int, launch: LaunchRecord) -> None:
    """`lock`: the descriptor of the locked launch.lock."""
    os.pwrite(lock, json.dumps(asdict(launch)).ljust(LAUNCH_WIDTH).encode(), 0)


def read_json(file: Path) -> dict[str, Any]:
    """The file's JSON object; empty where the file is missing, not complete, or no object."""
    with suppress(OSError, ValueError):
        found = json.loads(file.read_text())
        return found if isinstance(found, dict) else {}
    return {}


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Readers see the old content or the new, never a part."""
    unfinished = file.with_name(f".{file.name}.new")
    unfinished.write_text(json.dumps(content))
    unfinished.replace(file)


def parse_time(text: object) -> dt.datetime | None:
    """The time in an ISO 8601 text, in UTC where it has no offset; None where it is none."""
    with suppress(TypeError, ValueError):
        found = dt.datetime.fromisoformat(text)  # type: ignore[arg-type]
        return found if found.tzinfo else found.replace(tzinfo=dt.UTC)
    return None
