"""The tables of a query, made by a Spark job of a minute at most, beside what Airflow runs: it only reads."""

import os
import subprocess
import sys

from stack.errors import StackError
from stack.instance import ROOT, Instance


def printed(instance: Instance, query: str, *options: str) -> str:
    """What jobs/query_table.py prints. Raises StackError with its error."""
    embedded = instance.environment() if instance.exists() else {}
    command = [sys.executable, "-m", "jobs.query_table", "--query", query, *options]
    done = subprocess.run(command, cwd=ROOT, env=embedded | os.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise StackError(done.stderr.rpartition("ERROR ")[2].strip()[-3000:])
    return done.stdout
