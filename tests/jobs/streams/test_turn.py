"""Whether a query works, as Spark says it."""

import subprocess
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

from jobs.backends import spark
from jobs.backends.settings import Platform
from jobs.streams import turn
from stack.instance import JARS, ROOT
from tests.jvm import ENVIRONMENT
from tests.support.waiting import until

SELDOM = "--conf spark.executor.heartbeatInterval=100s pyspark-shell"


def test_tasks_are_seen_to_work_at_once_and_not_at_the_next_heartbeat_of_their_executor(tmp_path):
    """In a process of its own: a JVM has the settings of its first session."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.jobs.streams.test_turn", tmp_path],
        cwd=ROOT,
        env=ENVIRONMENT | {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYSPARK_SUBMIT_ARGS": SELDOM},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "works"


def main(folder: Path) -> None:
    nowhere = Platform("127.0.0.1:1", "http://127.0.0.1:1", str(folder / "lake"), str(folder / "streams"), str(JARS / "spark"))
    session = spark.stream_session("turn", nowhere)
    query = SimpleNamespace(runId="group")

    def run() -> None:
        session.sparkContext.setJobGroup(query.runId, "two tasks", interruptOnCancel=True)
        session.range(0, 2, 1, 2).selectExpr("java_method('java.lang.Thread', 'sleep', 60000L)").collect()

    Thread(target=run, daemon=True).start()
    until("both tasks work", lambda: turn._works(turn._stages(session, query), 2), 30)
    print("works", flush=True)
    session.sparkContext.cancelAllJobs()
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
