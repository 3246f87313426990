"""The process of alerts over folders of a test, in a process of its own to be killed."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

from serving.alerts.declared import Declared
from serving.alerts.outbox import Limits
from serving.alerts.process import Process
from serving.lake import Lake
from serving.tables import Tables
from stack.instance import ROOT

QUICK = {"first_pause": 0.1, "longest_pause": 0.3, "give_up": 60.0}


class Member:
    """Starts one."""

    def __init__(self, broker, feeds: Path, routes: Path, env: dict[str, str], **limits: float):
        said = {"kafka": broker.kafka, "registry": broker.registry, "feeds": str(feeds), "routes": str(routes)}
        said["lake"] = str(routes.parent / "lake")
        self.log = routes.parent / "alerts.log"
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.serving.alerts.member", json.dumps(said | {"limits": QUICK | limits})],
                cwd=ROOT,
                env=os.environ | env,
                stdout=out,
                stderr=out,
            )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """Its exit code."""
        self._process.terminate()
        return self._process.wait(30)

    def ended(self) -> bool:
        return self._process.poll() is not None


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    said = json.loads(sys.argv[1])
    declared = Declared(Path(said["feeds"]), Path(said["routes"]), os.environ)
    client = {"bootstrap.servers": said["kafka"]}
    process = Process(client, said["registry"], declared, Tables(Lake(said["lake"])), limits=Limits(**said["limits"]))
    signal.signal(signal.SIGTERM, lambda *_: process.stop.set())
    process.run()


if __name__ == "__main__":
    main()
