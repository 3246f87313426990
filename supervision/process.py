"""The processes of a stream's driver: is one there, launch it, ask it to stop, kill it.

A driver is two processes, the JVM of spark-submit and its Python child, and one may outlive the other for a while. So the
launcher locks launch.lock before anything starts, and the JVM inherits the lock. It is locked from the launch to the end of the
JVM, and prevents a second launch also while the driver has not locked driver.lock yet.
"""

import datetime as dt
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from supervision.files import LaunchRecord, Locked, StreamFolder, is_locked, locked, stream_folders, write_launch
from supervision.status import stopped_on_request

STOP_WAIT = 15.0  # seconds that a driver has to end its query at a batch boundary
TERM_WAIT = 5.0  # seconds that it has after SIGTERM
KILL_WAIT = 10.0  # seconds until the locks of a killed driver must be free
LOOK_EVERY = 0.05
LOCAL_DIRS = "SPARK_LOCAL_DIRS"  # where Spark puts its temporary files


class AlreadyRunning(RuntimeError):
    """The stream has a driver, or another process is just launching one."""


def is_gone(folder: StreamFolder) -> bool:
    """No driver, or only half of one: its JVM without its Python process, or the reverse, can't work any more."""
    pid, last = folder.read_driver().get("pid"), folder.read_launch()
    if not is_locked(folder.launch_lock):
        return not is_locked(folder.driver_lock) or (last.pid is not None and _group(pid) == last.pid)
    return pid is not None and _group(pid) is None


def launch(folder: StreamFolder, command: list[str], env: dict[str, str]) -> int:
    """Start the driver as a process of its own: own session, no terminal, its output in driver.log. Returns its process group."""
    try:
        with locked(folder.launch_lock) as lock:
            if is_locked(folder.driver_lock):
                raise AlreadyRunning(f"{folder.driver_lock} is locked by pid {folder.read_driver().get('pid')}")
            folder.clear_stop()  # it was meant for a driver that is gone
            restarts = _restarts(folder)
            folder.empty_scratch()  # nor has anybody else a use for what it left
            folder.clear_reports()
            folder.rotate_log()
            return _start(folder, lock, command, env | {LOCAL_DIRS: str(folder.scratch)}, restarts)
    except Locked:
        raise AlreadyRunning(f"{folder.launch_lock} is locked by pid {folder.read_launch().pid}") from None


def _restarts(folder: StreamFolder) -> int:
    """Of the launch that is about to happen; see LaunchRecord. What the last driver reported must still be there."""
    last = folder.read_launch()
    return last.restarts + 1 if last.at and not stopped_on_request(folder.read_heartbeat()) else 0


def _start(folder: StreamFolder, lock: int, command: list[str], env: dict[str, str], restarts: int) -> int:
    with folder.log.open("ab") as log:
        launch = LaunchRecord(None, time.time(), log.tell(), restarts)
        write_launch(lock, launch)
        log.write(f"--- launched {dt.datetime.now(dt.UTC).isoformat(timespec='seconds')}\n".encode())
        log.flush()
        # The shell exits at once, so the driver is no child of this process: stopping Airflow's processes with all their children
        # does not stop the streams. The shell's pid remains the driver's process group.
        shell = subprocess.Popen(
            ["/bin/sh", "-c", '"$@" &', "sh", *command],
            env=env,
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[lock],
        )
    write_launch(lock, replace(launch, pid=shell.pid))
    shell.wait()
    return shell.pid


def request_stop(folder: StreamFolder) -> bool:
    """Ask the driver to end its query at a batch boundary and exit. False if there is no driver."""
    if not (is_locked(folder.launch_lock) or is_locked(folder.driver_lock)):
        return False
    folder.request_stop()
    return True


def kill(folder: StreamFolder, judged: LaunchRecord | None = None, patience: float = KILL_WAIT) -> None:
    """SIGKILL what is left of the driver and wait until both locks are free. Raises TimeoutError if they stay locked.

    `judged`: the last launch when the driver was judged. A driver that was launched since then is left alone.
    """
    judged = judged or folder.read_launch()
    deadline = time.monotonic() + patience
    while (is_locked(folder.launch_lock) or is_locked(folder.driver_lock)) and folder.read_launch() == judged:
        # A lock means that its process lives, so no other process can have its pid.
        if is_locked(folder.launch_lock):
            _kill_group(judged.pid)
        else:
            _signal(folder.read_driver().get("pid"), signal.SIGKILL)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{folder.path}: the driver's locks are still taken {patience:.0f} s after SIGKILL")
        time.sleep(LOOK_EVERY)


def stop_all(streams: Path, patience: float = STOP_WAIT) -> list[str]:
    """Ask every driver below this folder to stop, wait, then end those that still run; the names of the streams that ran."""
    running = [folder for folder in stream_folders(streams) if is_locked(folder.driver_lock)]
    for folder in running:
        folder.request_stop()
    _wait_unlocked(running, patience)
    for folder in running:
        _end(folder)
        folder.clear_stop()
    return [folder.name for folder in running]


def _end(folder: StreamFolder) -> None:
    """SIGTERM, then SIGKILL. A driver that survives even that is left to the caller's own check of what still runs."""
    if is_locked(folder.driver_lock):
        _signal(folder.read_driver().get("pid"), signal.SIGTERM)
        _wait_unlocked([folder], TERM_WAIT)
    if is_locked(folder.driver_lock):
        with suppress(TimeoutError):
            kill(folder)


def _wait_unlocked(folders: list[StreamFolder], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(is_locked(folder.driver_lock) for folder in folders):
        time.sleep(LOOK_EVERY)


def _signal(pid: int | None, number: int) -> None:
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, number)


def _kill_group(pid: int | None) -> None:
    with suppress(ProcessLookupError):
        if pid is not None:
            os.killpg(pid, signal.SIGKILL)


def _group(pid: int | None) -> int | None:
    """The process group of a living process."""
    with suppress(ProcessLookupError):
        return os.getpgid(pid) if pid is not None else None
    return None
