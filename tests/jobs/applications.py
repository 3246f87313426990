"""Applications of declared queries, in drivers of their own that can be killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from contracts.queries import QUERIES
from stack.instance import JARS, ROOT
from stack.parts import process
from supervision.files import StreamFolder
from tests.jvm import ENVIRONMENT
from tests.support import waiting

until = partial(waiting.until, seconds=180.0)  # on a busy machine a driver needs a minute for its first batches


class Driver:
    """jobs/run_queries.py in a process of its own, its JVM in the same group. `dies`: see killed_committing.py. path: of Python,
    before the repository."""

    def __init__(
        self, broker, streams: Path, application: str, queries: Path = QUERIES, dies: str | None = None, path: Iterable[str] = ()
    ):
        self._folder = StreamFolder.of(streams, application, "queries")
        variables = {
            "SUNDIAL_KAFKA": broker.kafka,
            "SUNDIAL_REGISTRY": broker.registry,
            "SUNDIAL_LAKE": str(streams / "lake"),
            "SUNDIAL_STREAMS": str(streams),
            "SUNDIAL_JARS": str(JARS / "spark"),
            "PYTHONPATH": os.pathsep.join([*path, str(ROOT)]),
        }
        job = ["tests.jobs.killed_committing", dies] if dies else ["jobs.run_queries"]
        self._log = (streams / "drivers.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", *job, "--application", application, "--queries", str(queries)],
            cwd=ROOT,
            env=os.environ | variables | ENVIRONMENT,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def works(self) -> bool:
        """Its own heartbeat, not that of one before it, says that all its queries run."""
        assert self._process.poll() is None, self._said()
        driver, heartbeat = self._folder.read_driver(), self.heartbeat()
        if driver.get("pid") != self._process.pid or not heartbeat:
            return False
        return heartbeat["at"] > driver["started_at"] and heartbeat["state"] == "running"

    def heartbeat(self) -> dict:
        """The last one."""
        return self._folder.read_heartbeat()

    def open_batches(self) -> set[str]:
        """The queries with a batch of records that Spark has planned and not logged as done."""
        return {checkpoint.name for checkpoint in self._folder.checkpoint.glob("*") if is_open(checkpoint)}

    def freeze_in_a_batch(self, pause: float) -> None:
        """Stop the driver's processes at so many seconds after a batch has begun; sooner if that is too late for one batch."""
        while True:
            until("a batch is open", self.open_batches, pause=0.005)
            time.sleep(pause)
            os.killpg(self._process.pid, signal.SIGSTOP)
            if self.open_batches():
                return
            os.killpg(self._process.pid, signal.SIGCONT)
            pause = 0

    def checksums(self) -> list[Path]:
        """Files of Hadoop beside those of the checkpoints. Each would cost several processes."""
        return [*self._folder.checkpoint.rglob("*.crc")]

    def has_killed_itself(self) -> bool:
        code = self._process.poll()
        assert code in (None, -signal.SIGKILL), self._said()
        return code is not None

    def kill(self) -> None:
        """Returns when all its processes are gone."""
        processes = process.session(self._process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert not process.wait_gone(processes, 60)
        self._log.close()

    def stop(self) -> int:
        self._folder.request_stop()
        return self._process.wait(60)

    def _said(self) -> str:
        return Path(self._log.name).read_text()[-3000:]


def is_open(checkpoint: Path) -> bool:
    """`offsets/N` is there without `commits/N`, and takes in more than the batch before it."""
    last = max((int(file.name) for file in (checkpoint / "offsets").glob("[0-9]*")), default=None)
    if last is None or (checkpoint / "commits" / str(last)).exists():
        return False
    return _ends(checkpoint, last) != _ends(checkpoint, last - 1)


def _ends(checkpoint: Path, batch: int) -> list[str]:
    """Of each source, where a batch ends."""
    file = checkpoint / "offsets" / str(batch)
    return file.read_text().splitlines()[2:] if file.exists() else []  # after version and metadata
