"""Half an hour of hostile records, faults and people, all chosen by a seed, and a judgement of every record.

The run takes place in a copy of the repository, because people declare feeds in it. Exit code 1: a promise was broken.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.chaos import place
from bench.chaos.options import parser, streams, without
from bench.chaos.plan import plan


def main() -> int:
    options = parser().parse_args()
    if options.plan:
        for event in plan(options.seed, 60 * options.minutes, streams(options), without(options)):
            print(event)
        return 0
    with tempfile.TemporaryDirectory(prefix="sundial-chaos-") as folder:
        copy = place.copied(Path(folder))
        command = [sys.executable, "-m", "bench.chaos.run", *sys.argv[1:], "--seed", str(options.seed)]
        if options.report:
            command += ["--report", str(options.report.resolve())]
        with subprocess.Popen(command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}) as run:
            try:
                return run.wait()
            except KeyboardInterrupt:  # the run has it, too, and takes a while to stop its stack
                return run.wait()


if __name__ == "__main__":
    raise SystemExit(main())
