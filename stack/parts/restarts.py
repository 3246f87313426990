"""When a part of the stack that has ended is started again. Pure: an observation in, an action out.

`decide` does no I/O and reads no clock: each observation has its own time, in seconds of a monotonic clock, so neither a clock
that is set nor a suspended machine shortens a pause.

A part that has ended is started again after a pause of 1, 2, 4, … 60 seconds. A part that has been healthy for five minutes gets
the first pause again. A part that lives is left alone, healthy or not: nobody but a person can tell a slow start or an overloaded
machine from a part that hangs. A part waits for those that it needs: without them it would only end once more.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """All in seconds. first_pause, longest_pause: before a start; each pause is twice the one before. well_after: of health."""

    first_pause: float = 1
    longest_pause: float = 60
    well_after: float = 300


@dataclass(frozen=True)
class Observation:
    """A part at one moment.

    at: seconds of a monotonic clock. alive: its process exists. healthy: it also works. lacks: the parts that it needs to start,
    and that are not healthy.
    """

    at: float
    alive: bool
    healthy: bool = False
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    """What is remembered of a part.

    deaths: since it was healthy for long enough. due: when it may be started again, if it has ended. healthy_since: if it is.
    """

    deaths: int = 0
    due: float | None = None
    healthy_since: float | None = None


@dataclass(frozen=True)
class Leave:
    """It lives."""


@dataclass(frozen=True)
class Wait:
    """It has ended. It is started in `seconds`, or when the parts that it lacks are healthy, whichever is later."""

    seconds: float
    lacks: tuple[str, ...]


@dataclass(frozen=True)
class Start:
    """It has ended, and is started now."""


Action = Leave | Wait | Start


def decide(history: History, seen: Observation, limits: Limits) -> tuple[History, Action]:
    """What to do about a part, and what to remember of it. After a Start, a part that does not live has ended again."""
    if seen.alive:
        return _alive(history, seen, limits), Leave()
    if history.due is None:
        deaths = history.deaths + 1
        history = History(deaths, due=seen.at + min(limits.first_pause * 2 ** (deaths - 1), limits.longest_pause))
    if seen.at < history.due or seen.lacks:
        return history, Wait(max(0.0, history.due - seen.at), seen.lacks)
    return replace(history, due=None), Start()


def _alive(history: History, seen: Observation, limits: Limits) -> History:
    if not seen.healthy:
        return History(history.deaths)
    since = seen.at if history.healthy_since is None else history.healthy_since
    return History(0 if seen.at - since >= limits.well_after else history.deaths, healthy_since=since)
