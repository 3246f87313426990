"""A stream's driver: one at a time, a heartbeat each second, a clean stop on request.

The files in its run-state folder (see `supervision/files.py`) are the protocol between driver and supervision.
"""

import datetime as dt
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress

from jobs.backends.settings import Platform
from jobs.errors import JobError
from supervision.files import Locked, StreamFolder, locked

ALREADY_RUNNING = 75  # EX_TEMPFAIL of sysexits.h
HEARTBEAT_SECONDS = 1.0
JVM_SECONDS = 45.0  # that a JVM may not answer before there is no heartbeat; its garbage collector pauses for less


class Driver:
    """Locks the stream and gives heartbeats while the `with` block runs. A second driver exits with ALREADY_RUNNING and changes
    nothing."""

    def __init__(self, platform: Platform, of: str, stream: str, **state):
        """`state`: further fields of the first heartbeats."""
        self.folder = StreamFolder.of(platform.streams, of, stream)
        self.name = self.folder.name
        self.checkpoint = str(self.folder.checkpoint)
        self._who = {"of": of, "stream": stream}
        self._state = {"state": "starting", "last_error": None, "health": {}} | state
        self._measure: Callable[[], dict] = dict
        self._unattended_after = platform.unattended
        self._ended_by: str | None = None  # an error, or that nothing supervises it; None after a stop on request
        self._looked: tuple[int, float] | None = None  # the mark of the supervision's last look, and when it was first seen
        self._answered: float | None = None  # when the JVM last did, by the monotonic clock; None: it is not asked
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._reporting = threading.Lock()
        self._beat = threading.Thread(target=self._beat_until_ended, name="heartbeat", daemon=True)
        # What is measured is asked of the broker, which may not answer for long: no heartbeat waits for that.
        self._meter = threading.Thread(target=self._measure_until_ended, name="lag", daemon=True)

    def __enter__(self) -> "Driver":
        self.folder.make()
        self._lock = ExitStack()
        try:
            self._lock.enter_context(locked(self.folder.driver_lock))
        except Locked:
            other = self.folder.read_driver().get("pid")
            print(f"ERROR {self.name} runs already, in process {other}", file=sys.stderr, flush=True)
            sys.exit(ALREADY_RUNNING)
        self.folder.clear_reports()  # this driver may have been started by hand
        self.folder.write_driver(self._who | {"pid": os.getpid(), "started_at": now(), "spark_application": None})
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stopping.set())
        self._beat.start()
        self._meter.start()
        return self

    def __exit__(self, kind, error, trace) -> None:
        if error is not None and kind is not SystemExit:
            self._ended_by = f"{kind.__name__}: {error}"
        self.report(state="stopping", last_error=self._ended_by)  # an error that it went on with has not ended it
        self._ended.set()
        self._beat.join()
        self.folder.clear_stop()
        self._lock.close()

    def runs_as(self, spark_application: str, ask: Callable[[], object]) -> None:
        """Records the id of this driver's Spark application. `ask`: a call that its JVM answers. While the JVM hangs, the driver
        gives no heartbeat, as if it hung itself."""
        self.folder.write_driver(self.folder.read_driver() | {"spark_application": spark_application})
        self._answered = time.monotonic()
        threading.Thread(target=self._ask_until_ended, args=(ask,), name="jvm", daemon=True).start()

    def report(self, **state) -> None:
        """Changes fields of the next heartbeat."""
        with self._reporting:
            self._state = self._state | state

    def measured_by(self, measure: Callable[[], dict]) -> None:
        """Calls `measure` each second, in a thread of its own, so also while the query hangs.

        What it returns is the `health` of the heartbeats from then on; while it takes its time or fails, the value before stays.
        """
        with self._reporting:
            self._measure = measure
            self._state = self._state | {"health": {}}  # what was measured before was another query's

    def wait(self, seconds: float) -> bool:
        """Waits; true as soon as a stop is requested, by the file for it, SIGTERM or SIGINT, or the stream is unattended."""
        if self.folder.stop_requested() or self._unattended():
            self._stopping.set()
        return self._stopping.wait(seconds)

    def _unattended(self) -> bool:
        """Whether the supervision has stopped looking at this stream. A driver that was started by hand has no supervision."""
        mark, at = self.folder.look_mark(), time.monotonic()  # not the file's time: a clock may be set
        if self._looked is None or mark != self._looked[0]:
            self._looked = mark, at
        if not mark or at - self._looked[1] <= self._unattended_after:
            return False
        self._ended_by = f"nothing has supervised this stream for {self._unattended_after:.0f} s, so it has ended"
        self.report(last_error=self._ended_by)
        return True

    def _beat_until_ended(self) -> None:
        ended = False
        while not ended:
            self._beat_once()
            ended = self._ended.wait(HEARTBEAT_SECONDS)
        self._beat_once()

    def _beat_once(self) -> None:
        """A disk that is full for a moment costs a heartbeat, not all that follow."""
        answered = self._answered
        if answered is not None and time.monotonic() - answered > JVM_SECONDS and not self._ended.is_set():
            return
        with suppress(OSError):
            self.folder.write_heartbeat({"at": now()} | self._state)

    def _ask_until_ended(self, ask: Callable[[], object]) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            try:
                ask()
            except Exception:  # of several kinds: the JVM has ended, which the query says, too
                self._answered = None
                return
            self._answered = time.monotonic()

    def _measure_until_ended(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            measure = self._measure
            try:
                health = measure()
            except JobError:
                continue  # the broker is silent
            except Exception:
                traceback.print_exc()  # measuring fails; the stream goes on
                continue
            with self._reporting:
                if health and measure is self._measure:
                    self._state = self._state | {"health": {"measured_at": now()} | health}


def message_of(error: Exception | None) -> str:
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
