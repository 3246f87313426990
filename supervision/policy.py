"""When the driver of a stream is launched, launched again, or given up. Pure: an observation in, an action out.

`decide` uses one observation, what earlier ones left in History, and the limits. It does no I/O and reads no clock: each
observation has its own time, in seconds of a monotonic clock, so neither a clock that is set nor a suspended machine looks like
a driver that hangs.

On a busy machine everything takes longer. Where several drivers start at once, as after the machine's own start, each would be
killed before it is done, and the next one again. So the limits of work stretch with the load, those of a sign of life do not.

A driver that dies is launched again, within a restart budget: `restarts` deaths, with pauses of 0, 1, 2, 4, … seconds. The next
death means that the stream is given up. From then on each supervision waits for `pause` seconds and tries it once. A driver that
has run well for `well_after` seconds ends the giving up, and gives the stream its whole budget again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from supervision.status import stopped_on_request


@dataclass(frozen=True)
class Limits:
    """When a driver is taken for dead, and how often it is launched again. All but `restarts` are seconds.

    hang_after: without a heartbeat. stall_after: in which records wait and none is done. start_within: until the first heartbeat,
    and until a driver that reports another state runs. restarts: until a driver runs well. well_after: of running, without a
    standstill. pause: before a stream that was given up is tried once more. stall_after and start_within are those of a machine
    that is free.
    """

    hang_after: float = 15
    stall_after: float = 60
    start_within: float = 120
    restarts: int = 5
    well_after: float = 300
    pause: float = 300

    def on(self, slowness: float) -> "Limits":
        """The limits on a machine on which work takes so many times longer."""
        return replace(self, stall_after=self.stall_after * slowness, start_within=self.start_within * slowness)


@dataclass(frozen=True)
class Observation:
    """A stream at one moment.

    at: seconds of a monotonic clock. gone: it has no driver, or half of one. given_up: it is marked as such. heartbeat: the last
    one, perhaps of an earlier driver. heartbeat_mark: changes with every heartbeat; 0 before the first since the last launch.
    slowness: of the machine, as `machine.slowness` gives it.
    """

    at: float
    gone: bool
    given_up: bool = False
    heartbeat: Mapping[str, Any] = field(default_factory=dict)
    heartbeat_mark: int = 0
    slowness: float = 1.0


@dataclass(frozen=True)
class History:
    """What one supervision remembers of its earlier observations.

    watching: it has found or launched a driver. retry_at: when a stream that was given up is tried again. deaths: how many
    drivers died since one has run well. heartbeat_at: when heartbeat_mark was first seen. state_at: when the driver was first
    seen to report `state`.
    """

    watching: bool = False
    retry_at: float | None = None
    deaths: int = 0
    heartbeat_mark: int | None = None
    heartbeat_at: float = 0.0
    state: Any = None
    state_at: float | None = None

    def of_new_driver(self) -> "History":
        """Of a driver of which nothing has been observed yet."""
        return History(watching=True, deaths=self.deaths)

    def with_heartbeat(self, seen: Observation) -> "History":
        if seen.heartbeat_mark != self.heartbeat_mark:
            self = replace(self, heartbeat_mark=seen.heartbeat_mark, heartbeat_at=seen.at)
        state = seen.heartbeat.get("state")
        if seen.heartbeat_mark and (self.state_at is None or state != self.state):
            self = replace(self, state=state, state_at=seen.at)
        return self


@dataclass(frozen=True)
class Wait:
    """There is no driver, and the next try is due in `seconds`."""

    seconds: float


@dataclass(frozen=True)
class Adopt:
    """A driver lives that this supervision has not launched: watch it."""


@dataclass(frozen=True)
class KeepWatching:
    """Nothing is wrong."""


@dataclass(frozen=True)
class Recovered:
    """The driver has run well for long enough: the stream is no longer given up."""


@dataclass(frozen=True)
class Launch:
    """There is no driver. stopped: the last one has ended on request."""

    stopped: bool


@dataclass(frozen=True)
class Relaunch:
    """Kill what is left of the driver, wait for `pause` seconds, launch the next one."""

    reason: str
    pause: float


@dataclass(frozen=True)
class GiveUp:
    """Kill what is left of the driver and launch no other. explanation: the reason, and why there is no further try."""

    reason: str
    explanation: str


Action = Wait | Adopt | KeepWatching | Recovered | Launch | Relaunch | GiveUp


def decide(history: History, seen: Observation, limits: Limits) -> tuple[History, Action]:
    """What is to be done now, and the history for the next call. The caller carries the action out before it observes again."""
    if not history.watching:
        return _begin(history, seen, limits)
    limits = limits.on(seen.slowness)
    history = history.with_heartbeat(seen)
    if seen.gone and seen.heartbeat_mark and stopped_on_request(seen.heartbeat):
        return history.of_new_driver(), Launch(stopped=True)
    if reason := _unresponsive(history, seen, limits) or _not_running(history, seen, limits):
        return _restart(history, seen, limits, reason)
    if _well_for(history, seen) > limits.well_after:
        history = replace(history, deaths=0)
        if seen.given_up:
            return history, Recovered()
    if reason := _stalled(seen, limits):
        return _restart(history, seen, limits, reason)
    return history, KeepWatching()


def _begin(history: History, seen: Observation, limits: Limits) -> tuple[History, Action]:
    """Find a driver, or launch one; at once, unless the stream was given up before."""
    if not seen.gone:
        return history.of_new_driver(), Adopt()
    retry_at = seen.at + limits.pause if history.retry_at is None else history.retry_at
    if seen.given_up and seen.at < retry_at:
        return replace(history, retry_at=retry_at), Wait(retry_at - seen.at)
    return history.of_new_driver(), Launch(stopped=False)


def _unresponsive(history: History, seen: Observation, limits: Limits) -> str | None:
    """Why the driver is dead or hangs, if it does."""
    if seen.gone:
        return f"its driver is gone, last state {seen.heartbeat.get('state', 'none')}"
    silent = seen.at - history.heartbeat_at
    limit = limits.hang_after if seen.heartbeat_mark else limits.start_within
    return f"no heartbeat for {silent:.0f} s" if silent > limit else None


def _not_running(history: History, seen: Observation, limits: Limits) -> str | None:
    if not seen.heartbeat_mark or history.state == "running" or history.state_at is None:
        return None
    slow = seen.at - history.state_at > limits.start_within
    return f"{history.state} for more than {limits.start_within:.0f} s" if slow else None


def _well_for(history: History, seen: Observation) -> float:
    """Seconds since the driver was first seen to run, without its present standstill; 0 if it reports another state, or nothing
    yet."""
    if not seen.heartbeat_mark or history.state != "running" or history.state_at is None:
        return 0.0
    stalled: float = seen.heartbeat.get("health", {}).get("stalled_seconds", 0)
    return seen.at - history.state_at - stalled


def _stalled(seen: Observation, limits: Limits) -> str | None:
    """Why a driver that reports to be running does no work, if so."""
    if not seen.heartbeat_mark or seen.heartbeat.get("state") != "running":
        return None
    health = seen.heartbeat.get("health", {})
    seconds = health.get("stalled_seconds", 0)
    return f"{health['lag_records']:,} records wait, none done for {seconds:.0f} s" if seconds > limits.stall_after else None


def _restart(history: History, seen: Observation, limits: Limits, reason: str) -> tuple[History, Action]:
    deaths = history.deaths + 1
    history = replace(history, deaths=deaths)
    if deaths > limits.restarts:
        explanation = f"{deaths} deaths, and no driver ran well for {limits.well_after:.0f} s; the last time, {reason}"
        return history, GiveUp(reason, explanation)
    if seen.given_up:
        return history, GiveUp(reason, f"it was given up before, and one more try has not helped: {reason}")
    return history.of_new_driver(), Relaunch(reason, pause=2 ** (deaths - 2) if deaths > 1 else 0)
