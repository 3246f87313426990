"""A job that a command runs itself, beside what Airflow runs."""

import os
import subprocess
import sys

from stack.errors import StackError
from stack.instance import ROOT, Instance


def printed(instance: Instance, module: str, *options: str) -> str:
    """What the job prints. Raises StackError with its error."""
    embedded = instance.environment() if instance.exists() else {}
    command = [sys.executable, "-m", module, *options]
    done = subprocess.run(command, cwd=ROOT, env=embedded | os.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise StackError(done.stderr.rpartition("ERROR ")[2].strip()[-3000:])
    return done.stdout
