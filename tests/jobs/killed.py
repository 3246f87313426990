"""Runs a job that kills itself, JVM included, at a point of one of its writes: killed.py JOB METHOD POINT [ARGUMENT...].

METHOD is one of lake.Table, POINT is `before` it is called, `during` (its first data file is there, or its batches have all been
taken), or `after`.
"""

import importlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

from jobs.backends import settings, tables


def die() -> None:
    os.killpg(0, signal.SIGKILL)


def data_files(path: str) -> set[Path]:
    return set(Path(path).rglob("*.parquet"))


def die_at_the_first_file(path: str, known: set[Path]) -> None:
    while not data_files(path) - known:
        time.sleep(0.001)
    die()


def die_at_the_end(batches):
    yield from batches
    die()


def deadly(method, point: str):
    def call(table: tables.Table, *arguments, **options):
        if point == "before":
            die()
        if point == "during" and method.__name__ == "write":
            batches, *rest = arguments
            method(table, die_at_the_end(batches), *rest, **options)
        if point == "during":
            threading.Thread(target=die_at_the_first_file, args=(table.path, data_files(table.path)), daemon=True).start()
            method(table, *arguments, **options)
            time.sleep(60)
        method(table, *arguments, **options)
        die()

    return call


if __name__ == "__main__":
    job, method, point, *arguments = sys.argv[1:]
    sys.argv = [job, *arguments]
    setattr(tables.Table, method, deadly(getattr(tables.Table, method), point))
    settings.run(importlib.import_module(f"jobs.{job}").main)
