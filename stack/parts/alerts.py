"""The process that tells people of incidents. It runs if a route is declared."""

import sys
import time

import httpx

from contracts.alerts import VARIABLES
from stack.instance import HOST, ROOT, Instance, free_ports
from stack.parts import process

NAME = "alerts"
TURN = "sundial_alerts_turn_timestamp_seconds"
FIGURES = {
    "waiting": "sundial_alerts_waiting",
    "oldest_seconds": "sundial_alerts_oldest_seconds",
    "given_up": "sundial_alerts_given_up_total",
}
SILENT_AFTER = 90.0  # seconds without a turn after which it is unhealthy: it waits so long for brokers


def part(instance: Instance) -> process.Part:
    """It listens where it did before, else on a free port."""
    port = process.port(instance, NAME) or free_ports(1)[0]
    return process.Part(
        name=NAME,
        command=[sys.executable, "-m", "serving.alerts", "--host", HOST, "--port", str(port)],
        environment=instance.process_environment(VARIABLES),
        healthy=lambda: healthy(instance),
        port=port,
        folder=ROOT,
    )


def healthy(instance: Instance) -> bool:
    """It has come to its next turn a moment ago."""
    return time.time() - sum(_figures(instance, TURN)) < SILENT_AFTER


def messages(instance: Instance) -> dict[str, float] | None:
    """How many messages wait, for how many seconds the oldest does, and how many were given up since the process was started;
    None if it does not answer."""
    if not healthy(instance):
        return None
    return {name: sum(_figures(instance, metric)) for name, metric in FIGURES.items()}


def _figures(instance: Instance, metric: str) -> list[float]:
    """Of a metric, with any labels; none if it does not answer."""
    try:
        lines = httpx.get(f"http://{HOST}:{process.port(instance, NAME)}/metrics", timeout=3).text.splitlines()
    except (httpx.HTTPError, httpx.InvalidURL):
        return []
    return [float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{metric} ", f"{metric}{{"))]


def start(instance: Instance) -> None:
    made = part(instance)
    process.start(instance, made)
    process.wait(instance, made)
