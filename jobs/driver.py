"""A stream's driver and its run-state folder: one driver at a time, a heartbeat each second, a clean stop on request.

The folder is <streams>/<of>.<stream>/, of a feed or of an application of queries, and is the contract with whoever supervises:
driver.lock (held by flock for the driver's life), driver.json (who), heartbeat.json (how), checkpoint/, stop (a request).
"""

import datetime as dt
import fcntl
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from jobs.settings import JobError, Platform

ALREADY_RUNNING = 75  # EX_TEMPFAIL of sysexits.h
HEARTBEAT_SECONDS = 1.0


class Driver:
    """Holds the lock and beats while the `with` block runs. A second driver exits with ALREADY_RUNNING, touching nothing."""

    def __init__(self, platform: Platform, of: str, stream: str, **state):
        """`state`: what the first heartbeats say besides what all of them do."""
        self.name = f"{of}.{stream}"
        self.folder = Path(platform.streams) / self.name
        self.checkpoint = str(self.folder / "checkpoint")
        self._who = {"of": of, "stream": stream}
        self._state = {"state": "starting", "last_error": None, "health": {}} | state
        self._measure: Callable[[], dict] = dict
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._beat_until_ended, name="heartbeat", daemon=True)

    def __enter__(self) -> "Driver":
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = (self.folder / "driver.lock").open("a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = json.loads(self._file("driver.json").read_text())
            print(f"ERROR {self.name} runs already, in process {holder['pid']}", file=sys.stderr, flush=True)
            sys.exit(ALREADY_RUNNING)
        self._write("driver.json", self._who | {"pid": os.getpid(), "started_at": now(), "spark_application": None})
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stopping.set())
        self._beat.start()
        return self

    def __exit__(self, kind, error, trace) -> None:
        if error is not None and kind is not SystemExit:
            self.report(last_error=f"{kind.__name__}: {error}")
        self.report(state="stopping")
        self._ended.set()
        self._beat.join()
        self._file("stop").unlink(missing_ok=True)
        self._lock.close()

    def runs_as(self, spark_application: str) -> None:
        """Tells the id of this driver's Spark application."""
        known = json.loads(self._file("driver.json").read_text())
        self._write("driver.json", known | {"spark_application": spark_application})

    def report(self, **state) -> None:
        """Changes what the next heartbeat says."""
        self._state |= state

    def measured_by(self, measure: Callable[[], dict]) -> None:
        """What is called before each heartbeat, in the heartbeat's thread, so that it goes on while the query hangs.

        The heartbeat tells what it returns as `health`; while it raises JobError, that of before.
        """
        self._measure = measure
        self.report(health={})  # what was measured before was another query's

    def wait(self, seconds: float) -> bool:
        """Waits; true as soon as a stop is asked for, by the file `stop`, SIGTERM or SIGINT."""
        if self._file("stop").exists():
            self._stopping.set()
        return self._stopping.wait(seconds)

    def _beat_until_ended(self) -> None:
        while True:
            with suppress(JobError):
                if health := self._measure():
                    self.report(health={"measured_at": now()} | health)
            self._write("heartbeat.json", {"at": now()} | self._state)
            if self._ended.wait(HEARTBEAT_SECONDS):
                self._write("heartbeat.json", {"at": now()} | self._state)
                return

    def _file(self, name: str) -> Path:
        return self.folder / name

    def _write(self, name: str, content: dict) -> None:
        """Readers see the old content or the new, never a part."""
        unfinished = self._file(f".{name}.new")
        unfinished.write_text(json.dumps(content))
        unfinished.replace(self._file(name))


def said(error: Exception | None) -> str:
    """What a failed query says, without the plan that Spark prints after it; of a Python trace, what was raised in the end."""
    text = str(error).partition("\n=== Streaming Query ===")[0]
    before, trace, after = text.partition("Traceback (most recent call last):\n")
    if not trace:
        return text
    raised = [line for line in after.partition("\n\n")[0].splitlines() if line and not line.startswith(" ")]
    return f"{before.splitlines()[0].rstrip()} {raised[-1] if raised else ''}".rstrip()


def now() -> str:
    """This instant, ISO 8601 in UTC."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
