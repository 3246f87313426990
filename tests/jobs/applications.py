"""Applications of declared queries, in drivers of their own that can be killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from stack.home import JARS, ROOT

PATIENCE = 90.0


def until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(0.1)


class Driver:
    """jobs/run_queries.py in a process of its own, its JVM in the same group."""

    def __init__(self, broker, streams: Path, application: str, *arguments: str):
        self._folder = streams / f"{application}.queries"
        variables = {
            "SUNDIAL_KAFKA": broker.kafka,
            "SUNDIAL_REGISTRY": broker.registry,
            "SUNDIAL_LAKE": str(streams.parent / "lake"),
            "SUNDIAL_STREAMS": str(streams),
            "SUNDIAL_JARS": str(JARS / "spark"),
        }
        self._log = (streams / "driver.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jobs.run_queries", "--application", application, *arguments],
            cwd=ROOT,
            env=os.environ | variables,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def works(self) -> bool:
        """It, and none before it, says that all its queries run."""
        assert self._process.poll() is None, Path(self._log.name).read_text()[-3000:]
        who, how = (self._folder / name for name in ("driver.json", "heartbeat.json"))
        if not who.exists() or json.loads(who.read_text())["pid"] != self._process.pid or not how.exists():
            return False
        told = json.loads(how.read_text())
        return told["at"] > json.loads(who.read_text())["started_at"] and told["state"] == "running"

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def stop(self) -> int:
        (self._folder / "stop").touch()
        return self._process.wait(60)
