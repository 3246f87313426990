"""The process that tells people of incidents. It runs if a route is declared."""

import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

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
HELD = "sundial_alerts_held"
REMEDY = "set the right variables in a shell, and run there: sundial up"
SILENT_AFTER = 90.0  # seconds without a turn after which it is unhealthy: it waits so long for brokers


def part(instance: Instance) -> process.Part:
    """It listens where it did before, else on a free port."""
    port = process.port(instance, NAME) or free_ports(1)[0]
    return process.Part(
        name=NAME,
        command=[sys.executable, "-m", "serving.alerts", "--host", HOST, "--port", str(port)],
        environment=instance.process_environment(VARIABLES) | variables(instance),
        healthy=lambda: healthy(instance),
        port=port,
        folder=ROOT,
    )


def variables(instance: Instance) -> dict[str, str]:
    """For the targets of routes: the variables of this shell, and those that the running process has and this shell has not."""
    running = process.find(instance, NAME)
    return _of_targets(running.environ() if running else {}) | _of_targets(os.environ)


def outdated(instance: Instance, name: str) -> bool:
    """Whether the process of that name runs without one of these values: it keeps what it began with."""
    running = process.find(instance, name)
    return running is not None and not variables(instance).items() <= running.environ().items()


def _of_targets(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(VARIABLES)}


def healthy(instance: Instance) -> bool:
    """It has come to its next turn a moment ago."""
    return time.time() - _sum(_samples(instance), TURN) < SILENT_AFTER


def messages(instance: Instance) -> dict[str, Any] | None:
    """How many messages wait, for how many seconds the oldest does, how many were given up since the process was started, and
    which targets are held, why, and what to do; None if it does not answer."""
    if not healthy(instance):
        return None
    samples = _samples(instance)
    held = [f"{each.labels['reason']}; its messages wait: {REMEDY}" for each in samples if each.name == HELD]
    return {name: _sum(samples, metric) for name, metric in FIGURES.items()} | {"held": held}


def _sum(samples: list[Sample], metric: str) -> float:
    """Of a metric, with any labels."""
    return sum(each.value for each in samples if each.name == metric)


def _samples(instance: Instance) -> list[Sample]:
    """Of all metrics; none if it does not answer."""
    try:
        text = httpx.get(f"http://{HOST}:{process.port(instance, NAME)}/metrics", timeout=3).text
    except (httpx.HTTPError, httpx.InvalidURL):
        return []
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def start(instance: Instance) -> None:
    """Or start it again, if this shell has other values for its variables."""
    made = part(instance)
    if outdated(instance, NAME):
        process.stop(instance, NAME)
    process.start(instance, made)
    process.wait(instance, made)
