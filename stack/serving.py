"""The process that serves the HTTP API and the dashboard."""

import sys

import httpx

from stack import process
from stack.home import HOST, ROOT, Home

NAME = "serving"


def part(home: Home) -> process.Part:
    port = home.ports["serving"]
    return process.Part(
        name=NAME,
        command=[sys.executable, "-m", "uvicorn", "serving.app:app", "--host", HOST, "--port", str(port), "--no-access-log"],
        environment=home.process_environment(),
        healthy=lambda: healthy(home),
        port=port,
        folder=ROOT,
    )


def healthy(home: Home) -> bool:
    try:
        return httpx.get(f"{home.api}/health", timeout=3).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def start(home: Home) -> None:
    process.start(home, part(home))
    process.wait(home, part(home))
