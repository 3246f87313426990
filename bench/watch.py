"""A stream and its stack, watched while a benchmark goes on."""

import datetime as dt
import itertools
import os
import threading
from collections import defaultdict
from contextlib import suppress

import psutil

from stack.instance import MARK, Instance
from stack.parts import process
from supervision.files import StreamFolder, parse_time
from supervision.status import read_status

MEMORY_EVERY = 10  # seconds
DRIVER, STACK = "driver", "stack"


class Watch:
    """Looks each second at the stream's lag, and now and then at the memory of its driver and of the stack's parts."""

    def __init__(self, instance: Instance, folder: StreamFolder, rate: int):
        self.folder, self.lag_max, self._home, self._few = folder, 0, instance, 2 * rate
        self.megabytes: dict[str, list[float]] = defaultdict(list)  # of each part, of the driver, and of the whole stack
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def well(self, since: dt.datetime) -> bool:
        """Runs, and as measured after that instant, nothing has waited as long as two seconds.

        A driver that has just begun does not know how long what it found had waited: so no more than two seconds' worth either.
        """
        seen = read_status(self.folder)
        health = seen.heartbeat.get("health", {})
        measured = parse_time(health.get("measured_at"))
        known = seen.state == "running" and measured is not None and measured > since
        return known and health["lag_seconds"] < 2 and health["lag_records"] <= self._few

    def _run(self) -> None:
        for second in itertools.count():
            if self._stop.wait(1.0):
                return
            seen = read_status(self.folder)
            self.lag_max = max(self.lag_max, seen.heartbeat.get("health", {}).get("lag_records", 0))
            if second % MEMORY_EVERY == 0:
                self._weigh()

    def _weigh(self) -> None:
        """What a process shares with others counts by its share. A driver is in no session of a part's."""
        leaders = {found.pid: name for name in process.recorded(self._home) if (found := process.find(self._home, name))}
        weights: dict[str, float] = defaultdict(float)
        for each in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
                if each.environ().get(MARK) == str(self._home.path):
                    weights[leaders.get(os.getsid(each.pid), DRIVER)] += each.memory_full_info().pss / 1e6
        for name, weight in (weights | {STACK: sum(weights.values())}).items():
            self.megabytes[name].append(weight)
