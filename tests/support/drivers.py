"""Stand-ins for streams' drivers: how tests start one, and what they ask about its processes."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from stack.instance import ROOT
from supervision import process
from supervision.files import StreamFolder, stream_folders
from tests.support.waiting import until

STAND_IN = Path(__file__).parent / "stand_in_driver.py"
COMMAND = [sys.executable, str(STAND_IN), "jobs/score.py", "--feed", "service-use"]  # of a stand-in for the stream below
STREAM = "service-use.score"


def environment(streams: Path) -> dict[str, str]:
    return os.environ | {"SUNDIAL_STREAMS": str(streams), "PYTHONPATH": str(ROOT)}


def launched(streams: Path) -> StreamFolder:
    """A stand-in, launched as the supervision launches a driver; it gives heartbeats."""
    folder = StreamFolder(streams / STREAM)
    folder.make()
    process.launch(folder, COMMAND, environment(streams))
    until("a heartbeat", folder.heartbeat_mark)
    return folder


def kill_all(streams: Path) -> None:
    for folder in stream_folders(streams):
        process.kill(folder)


def behave(streams: Path, how: str) -> None:
    """What stand-ins that are launched from now on do; see stand_in_driver.py."""
    (streams / "behave").write_text(how)


def starts(streams: Path) -> list[int]:
    """Pids of every driver that ever got the lock."""
    file = streams / "starts"
    return [int(line.split()[0]) for line in file.read_text().splitlines()] if file.exists() else []


def started(streams: Path, number: int) -> Callable[[], bool]:
    """A state to wait for: so many drivers have started, in all."""
    return lambda: len(starts(streams)) == number


def alive(pid: int) -> bool:
    """A process that only waits for its parent to read its exit code is not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def jvm(pid: int) -> int:
    return psutil.Process(pid).ppid()


def kill(pid: int, sign: int = signal.SIGKILL) -> None:
    os.kill(pid, sign)
