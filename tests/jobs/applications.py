"""Applications of declared queries, in drivers of their own that can be killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from contracts.queries import QUERIES
from stack.home import JARS, ROOT
from tests.jvm import ENVIRONMENT

PATIENCE = 180.0


def until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(0.1)


class Driver:
    """jobs/run_queries.py in a process of its own, its JVM in the same group. `dies`: see killed_committing.py."""

    def __init__(self, broker, streams: Path, application: str, queries: Path = QUERIES, dies: str | None = None):
        self._folder = streams / f"{application}.queries"
        variables = {
            "SUNDIAL_KAFKA": broker.kafka,
            "SUNDIAL_REGISTRY": broker.registry,
            "SUNDIAL_LAKE": str(streams.parent / "lake"),
            "SUNDIAL_STREAMS": str(streams),
            "SUNDIAL_JARS": str(JARS / "spark"),
        }
        job = ["tests.jobs.killed_committing", dies] if dies else ["jobs.run_queries"]
        self._log = (streams / "driver.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", *job, "--application", application, "--queries", str(queries)],
            cwd=ROOT,
            env=os.environ | variables | ENVIRONMENT,
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

    def told(self) -> dict:
        """Its last heartbeat."""
        return json.loads((self._folder / "heartbeat.json").read_text())

    def killed(self) -> bool:
        """It has killed itself."""
        code = self._process.poll()
        assert code in (None, -signal.SIGKILL), Path(self._log.name).read_text()[-3000:]
        return code is not None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def stop(self) -> int:
        (self._folder / "stop").touch()
        return self._process.wait(60)
