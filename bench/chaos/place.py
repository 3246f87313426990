"""Where a run takes place: a copy of the declarations, so that people may change them, and a small disk for the streams."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.platform import REPO
from stack.instance import Instance

LINKED = (".jars", ".classes")  # what setup has made
LEFT_OUT = (".git", ".venv", ".stack", "build", "__pycache__", ".*_cache", "spark-warehouse", *LINKED)
DISK = "1500m"  # for all streams' checkpoints, logs and temporary files
FAKETIME = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib*/faketime/libfaketimeMT.so.1")


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
    """The library that sets a process's clock, where it is installed (Debian: libfaketime)."""
    found = [each for pattern in FAKETIME for each in Path("/").glob(pattern[1:])]
    return min(found) if found else None


def set_clock(folder: Path, library: Path) -> Path:
    """Have every process that this one starts from now on live by the clock that the returned file sets, e.g. `+45s`.

    Only the time of day is set: pauses and time limits go by the monotonic clock, as on a machine whose clock is corrected.
    """
    file = folder.parent / "clock"
    file.write_text("+0s\n")
    os.environ |= {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_RESET": "1",
    }
    return file
