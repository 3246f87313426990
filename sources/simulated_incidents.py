"""Labelled incidents: what goes wrong with a simulated service, from when to when."""

import datetime as dt
import re
from dataclasses import dataclass

import numpy as np

from sources.services import generator

KINDS = ("outage", "surge", "slow-leak", "stuck")
SURGE_FACTOR = 2.5
LEAK_LEFT = 0.3  # share of the traffic that is left when a leak ends
DURATIONS = {"outage": (120, 1200), "surge": (300, 2400), "slow-leak": (3600, 14400), "stuck": (600, 3600)}  # seconds, drawn
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
SPEC = re.compile(r"(?P<kind>[a-z-]+)@(?P<service>.+)\+(?P<offset>\d+[smhd])\.\.(?P<duration>\d+[smhd])")


class IncidentError(ValueError):
    """An incident that can't be simulated; the message says why."""


def seconds(text: str) -> int:
    """'90s', '5m', '2h', '35d' to seconds."""
    if not re.fullmatch(r"\d+[smhd]", text):
        raise ValueError(f"{text!r} is not a duration: a whole number and s, m, h or d, e.g. 90s or 5m")
    return int(text[:-1]) * UNITS[text[-1]]


@dataclass(frozen=True)
class Incident:
    """A service misbehaves at start <= Timestamp < end (epoch milliseconds)."""

    service: str
    kind: str
    start: int
    end: int

    def __post_init__(self):
        if self.kind not in KINDS:
            raise IncidentError(f"no incident {self.kind!r}: one of {', '.join(KINDS)}")
        if self.end <= self.start:
            raise IncidentError(f"{self.kind} of {self.service} ends before it starts")

    def label(self) -> dict:
        """The incident as a record of text."""
        start, end = (dt.datetime.fromtimestamp(ms / 1000, dt.UTC).isoformat() for ms in (self.start, self.end))
        return {"service": self.service, "kind": self.kind, "start": start, "end": end}

    def apply(self, times: np.ndarray, normal: np.ndarray, before: int) -> np.ndarray:
        """The readings that come of a service's normal ones; `before` is its last reading before the start."""
        inside = (times >= self.start) & (times < self.end)
        progress = (times - self.start) / (self.end - self.start)
        changed = {
            "outage": np.zeros_like(normal),
            "surge": np.rint(normal * SURGE_FACTOR).astype(np.int64),
            "slow-leak": np.rint(normal * (1 - (1 - LEAK_LEFT) * progress)).astype(np.int64),
            "stuck": np.full_like(normal, before),
        }[self.kind]
        return np.where(inside, changed, normal)


def parse_incident(spec: str, origin_ms: int, services: list[str], interval_seconds: int) -> Incident:
    """KIND@SERVICE+OFFSET..DURATION, e.g. outage@checkout+2m..5m: two minutes after the origin, for five minutes."""
    found = SPEC.fullmatch(spec)
    if not found:
        raise IncidentError(f"{spec!r} is not KIND@SERVICE+OFFSET..DURATION, e.g. outage@checkout+2m..5m")
    if found["service"] not in services:
        raise IncidentError(f"{spec!r}: no service {found['service']!r} in this fleet: {', '.join(services)}")
    step = interval_seconds * 1000
    start = -(-(origin_ms + seconds(found["offset"]) * 1000) // step) * step
    return Incident(found["service"], found["kind"], start, start + max(step, seconds(found["duration"]) * 1000))


def draw_incidents(
    services: list[str], start: int, end: int, seed: int, per_week: float, interval_seconds: int
) -> list[Incident]:
    """Random incidents for each service in [start, end), about `per_week` a week, never two of one service at once."""
    step, drawn = interval_seconds * 1000, []
    for service in services:
        random = generator(seed, service, 0)
        free = start
        for at in np.sort(random.uniform(start, end, random.poisson(per_week * (end - start) / 604_800_000))):
            kind = KINDS[random.integers(len(KINDS))]
            length = max(3 * step, int(random.uniform(*DURATIONS[kind]) * 1000) // step * step)
            begins = int(at) // step * step
            if begins >= free and begins + length <= end:
                drawn.append(Incident(service, kind, begins, begins + length))
                free = begins + length + step
    return sorted(drawn, key=lambda incident: (incident.start, incident.service))
