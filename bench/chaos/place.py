"""Where a run takes place: a copy of the declarations, so that people may change them, and a small disk for the streams."""

import contextlib
import importlib.util
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
OF_PYTHON = Path("vendor/libfaketime/src/libfaketime.so.1")  # in the Python package libfaketime
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
    """The library that sets a process's clock, where one is installed (Debian or PyPI: libfaketime) that works here."""
    of_system = (each for pattern in FAKETIME for each in sorted(Path("/").glob(pattern[1:])))
    package = importlib.util.find_spec("libfaketime")
    of_python = [Path(package.origin).parent / OF_PYTHON] if package and package.origin else []
    return next((each for each in (*of_system, *of_python) if works(each)), None)


def works(library: Path) -> bool:
    """Whether a process lives by another clock and can still sleep. 0.9.10 makes each sleep of Python an error (EINVAL)."""
    script = "import sys, time; time.sleep(0.01); sys.exit(abs(time.time() - float(sys.argv[1]) - 1000) > 60)"
    with tempfile.TemporaryDirectory() as folder:
        (clock := Path(folder) / "clock").write_text("+1000s\n")
        command = [sys.executable, "-c", script, str(time.time())]
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
