"""A serving process of its own for a benchmark."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.platform import wait_for


@contextlib.contextmanager
def serving(environment: dict[str, str], log: Path) -> Iterator[tuple[int, psutil.Process]]:
    """`uvicorn serving.app:app` with this environment: its port and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "serving.app:app", "--port", str(port), "--no-access-log"]
    with log.open("w") as lines:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=lines, stderr=lines)
    try:
        wait_for("serving answers", lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(20)
