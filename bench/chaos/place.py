"""Where a run takes place: a copy of the declarations, so that people may change them, and a small disk for the streams."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.platform import REPO
from stack.instance import Instance

LINKED = (".jars", ".classes")  # what setup has made
LEFT_OUT = (".git", ".venv", ".stack", "build", "__pycache__", ".*_cache", "spark-warehouse", *LINKED)
DISK = "1500m"  # for all streams' checkpoints, logs and temporary files
FAKETIME = ("/usr/local/lib/faketime", "/usr/lib/*/faketime", "/usr/lib*/faketime")  # where `make install` and packages put it
# Lives by another clock; sleeps as Python does; waits for 0.1 s as a JVM's threads do, until a time of the monotonic clock.
USES_CLOCK = """
import ctypes, sys, time
time.sleep(0.01)
libc, condition, kind, mutex = ctypes.CDLL(None), *(ctypes.create_string_buffer(64) for _ in range(3))
libc.pthread_condattr_init(kind)
libc.pthread_condattr_setclock(kind, time.CLOCK_MONOTONIC)
libc.pthread_cond_init(condition, kind)
libc.pthread_mutex_init(mutex, None)
libc.pthread_mutex_lock(mutex)
until = time.monotonic_ns() + 100_000_000
libc.pthread_cond_timedwait(condition, mutex, (ctypes.c_long * 2)(*divmod(until, 1_000_000_000)))
sys.exit(time.monotonic_ns() < until or abs(time.time() - float(sys.argv[1]) - 1000) > 60)
"""


def copied(folder: Path) -> Path:
    """The repository without its history, in a folder of its own."""
    copy = folder / "sundial"
    shutil.copytree(REPO, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    for name in LINKED:
        (copy / name).symlink_to(REPO / name)
    return copy


def has_small_disk() -> bool:
    """Whether this process may mount one."""
    return os.geteuid() == 0 and shutil.which("mount") is not None


@contextlib.contextmanager
def small_disk(folder: Path, wanted: bool) -> Iterator[None]:
    """A file system of its own at that folder, in memory, so that it can be full while no other is."""
    if not wanted:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "sundial-chaos", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def keep_logs(instance: Instance, folder: Path) -> None:
    """Copy what parts, drivers and tasks have logged: the stack's own folder goes away with the run."""
    shutil.copytree(instance.logs, folder / "parts", dirs_exist_ok=True)
    shutil.copytree(instance.path / "airflow" / "logs", folder / "tasks", dirs_exist_ok=True)
    for log in instance.streams.glob("*/driver.log*"):
        (folder / "drivers").mkdir(parents=True, exist_ok=True)
        shutil.copy(log, folder / "drivers" / f"{log.parent.name}{log.name.removeprefix('driver')}")


def faketime() -> Path | None:
    """The library that sets a process's clock, where one is installed that works here."""
    found = (each for folder in FAKETIME for each in sorted(Path("/").glob(f"{folder[1:]}/libfaketimeMT.so.1")))
    return next(filter(works, found), None)


def works(library: Path) -> bool:
    """Whether a process lives by another clock, and can still sleep and wait. With libfaketime 0.9.10 each sleep of Python is an
    error (EINVAL). With 0.9.11 and 0.9.12 a JVM's threads do not wait, and the broker takes both cores."""
    with tempfile.TemporaryDirectory() as folder:
        (clock := Path(folder) / "clock").write_text("+1000s\n")
        command = [sys.executable, "-c", USES_CLOCK, str(time.time())]
        return subprocess.run(command, env=os.environ | environment(library, clock), capture_output=True).returncode == 0


def set_clock(folder: Path, library: Path) -> Path:
    """Have every process that this one starts from now on live by the clock that the returned file sets, e.g. `+45s`.

    Only the time of day is set: pauses and time limits go by the monotonic clock, as on a machine whose clock is corrected.
    """
    file = folder.parent / "clock"
    file.write_text("+0s\n")
    os.environ |= environment(library, file)
    return file


def environment(library: Path, clock: Path) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_RESET": "1",
    }
