"""A stream's run-state folder as its supervisor sees it: is its driver alive, launch it, ask it to stop, kill it.

`$SUNDIAL_STREAMS/<feed>.<stream>/` holds what the driver keeps (driver.lock, driver.json, heartbeat.json, checkpoint/), the wish
`stop`, and what the supervision adds: supervisor (the task attempt in charge), driver.log, launch.lock, and given-up (see
contracts/run_state.py). A driver is two processes, the JVM of spark-submit and its Python child, and one may outlive the other
for a while. So the launcher takes launch.lock before anything starts, and the JVM inherits it: held from the launch to the JVM's
last breath, it fences off a second launch even while the driver has locked nothing yet.
"""

import datetime as dt
import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contracts.run_state import GIVEN_UP, held, read

LOG_BYTES = 64 * 1024 * 1024  # a longer log is moved aside at the next launch
TAIL_BYTES, TAIL_LINES = 32 * 1024, 40


class AlreadyRunning(RuntimeError):
    """The stream has a driver, or somebody is just launching one."""


class StreamState:
    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.name = self.folder.name
        self.launch_lock = self.folder / "launch.lock"
        self.driver_lock = self.folder / "driver.lock"
        self.stop_file = self.folder / "stop"
        self.log_file = self.folder / "driver.log"
        self.supervisor_file = self.folder / "supervisor"
        self.given_up_file = self.folder / GIVEN_UP

    # -- what is

    def driver(self) -> dict:
        return read(self.folder / "driver.json")

    def heartbeat(self) -> dict:
        return read(self.folder / "heartbeat.json")

    def launched(self) -> dict:
        """{"pid" (of the process group), "at" (epoch seconds), "log_offset"} of our last launch; empty where there was none."""
        return read(self.launch_lock)

    def heartbeat_mark(self) -> int:
        """A number that changes with every heartbeat; 0 where the present driver has not given one yet."""
        with suppress(FileNotFoundError):
            written = (self.folder / "heartbeat.json").stat()
            if written.st_mtime >= self.launched().get("at", 0):
                return written.st_mtime_ns
        return 0

    def gone(self) -> bool:
        """No driver, or only half of one: its JVM without its Python process, or the other way round, can't work any more."""
        pid = self.driver().get("pid")
        if not held(self.launch_lock):
            return not held(self.driver_lock) or _group(pid) == (self.launched().get("pid") or -1)
        driver_json = self.folder / "driver.json"
        started = driver_json.exists() and driver_json.stat().st_mtime >= self.launched().get("at", 0)
        return started and _group(pid) is None

    def ended_as_asked(self) -> bool:
        """No driver, and the last one says that it stopped, and not for an error."""
        last = self.heartbeat()
        return last.get("state") == "stopping" and not last.get("last_error") and self.heartbeat_mark() > 0 and self.gone()

    def last_lines(self) -> str:
        """The end of what the last driver printed, bounded in bytes and lines."""
        text, _ = self.printed(self.launched().get("log_offset", 0), TAIL_BYTES)
        return "\n".join(text.splitlines()[-TAIL_LINES:])

    def quiet_for(self) -> float:
        """Seconds since the driver printed anything. What it says last and long before its end is hardly the reason for it."""
        with suppress(FileNotFoundError):
            return max(time.time() - self.log_file.stat().st_mtime, 0.0)
        return 0.0

    def printed(self, since: int, most: int) -> tuple[str, int]:
        """The driver.log from byte `since` on, its last `most` bytes at most, and the log's size."""
        with suppress(FileNotFoundError), self.log_file.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(since, size - most))
            return log.read().decode(errors="replace"), size
        return "", 0

    def given_up(self) -> bool:
        """Whether the last supervisor gave up, and no driver has been well since."""
        return self.given_up_file.exists()

    def supervisor(self) -> str:
        return self.supervisor_file.read_text() if self.supervisor_file.exists() else ""

    # -- what to do

    def give_up(self) -> bool:
        """Remember that nothing brings it back; whether that is new."""
        with suppress(FileExistsError):
            self.given_up_file.touch(exist_ok=False)
            return True
        return False

    def recovered(self) -> None:
        """Its driver is well."""
        self.given_up_file.unlink(missing_ok=True)

    def supervise(self, attempt: str) -> None:
        """The id of the task attempt that is in charge from now on; a cleared or retried task has another."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.supervisor_file.write_text(attempt)

    def launch(self, command: list[str], env: dict[str, str]) -> int:
        """Start the driver as a process of its own: own session, no terminal, its output to driver.log. Returns its group."""
        with self._launching() as lock:
            if held(self.driver_lock):
                raise AlreadyRunning(f"{self.driver_lock} is held by pid {self.driver().get('pid')}")
            self.stop_file.unlink(missing_ok=True)  # it was meant for a driver that is no more
            if self.log_file.exists() and self.log_file.stat().st_size > LOG_BYTES:
                self.log_file.replace(self.log_file.with_suffix(".log.1"))
            with self.log_file.open("ab") as log:
                record = {"pid": None, "at": time.time(), "log_offset": log.tell()}
                _record(lock, record)
                log.write(f"--- launched {dt.datetime.now(dt.UTC).isoformat(timespec='seconds')}\n".encode())
                log.flush()
                # The shell leaves at once, so the driver is nobody's child: whoever stops Airflow's processes with all their
                # children does not stop the streams. It keeps the shell's pid as its group.
                shell = subprocess.Popen(
                    ["/bin/sh", "-c", '"$@" &', "sh", *command],
                    env=env,
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=[lock],
                )
            _record(lock, record | {"pid": shell.pid})
            shell.wait()
            return shell.pid

    @contextmanager
    def _launching(self) -> Iterator[int]:
        """launch.lock, taken. A watcher's look holds it for microseconds, so a refusal is tried again before it is believed."""
        lock = os.open(self.launch_lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            for attempt in range(10):
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.05 if attempt < 9 else 0)
            else:
                raise AlreadyRunning(f"{self.launch_lock} is held by pid {self.launched().get('pid')}")
            yield lock
        finally:
            os.close(lock)

    def request_stop(self) -> bool:
        """Ask the driver to end its query at a batch boundary and exit. False where there is none."""
        if not (held(self.launch_lock) or held(self.driver_lock)):
            return False
        self.stop_file.touch()
        return True

    def kill(self, launch: dict | None = None, patience: float = 10) -> None:
        """SIGKILL what is left of the driver and wait until both locks are free. Raises TimeoutError where they are not.

        `launch` is what `launched` said when the driver was judged: one that somebody launched since then is left alone.
        """
        launch = self.launched() if launch is None else launch
        deadline = time.monotonic() + patience
        while (held(self.launch_lock) or held(self.driver_lock)) and self.launched() == launch:
            with suppress(ProcessLookupError, TypeError):
                # A held lock means that its process lives, so its pid can't have passed to a stranger.
                if held(self.launch_lock):
                    os.killpg(launch.get("pid"), signal.SIGKILL)
                else:
                    os.kill(self.driver().get("pid"), signal.SIGKILL)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.folder}: the driver's locks are still held {patience:.0f} s after SIGKILL")
            time.sleep(0.05)


def _record(lock: int, launched: dict) -> None:
    """In one write of one width, so that no reader finds half of it."""
    os.pwrite(lock, json.dumps(launched).ljust(120).encode(), 0)


def _group(pid: int | None) -> int | None:
    """The process group of a living process."""
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, TypeError):
        return None
