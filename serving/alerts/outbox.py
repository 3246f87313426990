"""The messages that wait to be delivered, and which is tried when. Of one incident, the messages to one target go one after the
other, in the order in which they were decided."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from contracts.alerts import Target
from serving.alerts.messages import Message
from serving.alerts.outcome import Outcome

AT_ONCE = 4  # messages to one target that are tried at the same time


@dataclass(frozen=True)
class Limits:
    """Seconds. A pause doubles with each attempt."""

    first_pause: float = 1.0
    longest_pause: float = 300.0
    give_up: float = 6 * 3600.0  # after the first attempt


@dataclass(frozen=True)
class Waiting:
    """A message that waits. number: its place among all. first, due: of the attempts, epoch ms. left: of an e-mail that some
    have, the others; empty: nobody has it."""

    message: Message
    number: int
    attempts: int = 0
    first: int | None = None
    due: int = 0
    reason: str = ""  # why the last attempt failed
    left: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people."""
        message = self.message
        return f"{message.event} {message.incident['Id']} of {message.feed} to {message.route}.{message.to}"

    @property
    def lane(self) -> tuple[str, str, str]:
        return self.message.route, self.message.to, self.message.incident_key

    @property
    def target(self) -> tuple[str, str]:
        return self.message.route, self.message.to

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Waiting":
        return cls(**{**values, "message": Message(**values["message"]), "left": tuple(values.get("left", ()))})

    def at(self, target: Target) -> Target:
        """The target, without those who have the message."""
        left = tuple(each for each in target.to if each in self.left)
        return target.model_copy(update={"to": left}) if left else target


def after(waiting: Waiting, outcome: Outcome, now: int, limits: Limits) -> Waiting | None:
    """The message as it waits on after an attempt that failed; None: it is given up."""
    first = waiting.first or now
    if outcome.what == "refused" or now - first >= 1000 * limits.give_up:
        return None
    pause = max(outcome.after, min(limits.first_pause * 2**waiting.attempts, limits.longest_pause))
    tried = replace(waiting, attempts=waiting.attempts + 1, first=first, due=now + round(1000 * pause), reason=outcome.reason)
    return replace(tried, left=outcome.left or waiting.left)


def to_try(waiting: Iterable[Waiting], tried: set[str], now: int) -> list[Waiting]:
    """Those to try now, by their numbers. `tried`: ids of the messages that are being tried."""
    lanes: set[tuple[str, str, str]] = set()
    busy: dict[tuple[str, str], int] = {}
    found = []
    ordered = sorted(waiting, key=lambda each: each.number)
    for each in ordered:
        if each.message.id in tried:
            busy[each.target] = busy.get(each.target, 0) + 1
    for each in ordered:
        first = each.lane not in lanes
        lanes.add(each.lane)
        if first and each.message.id not in tried and each.due <= now and busy.get(each.target, 0) < AT_ONCE:
            busy[each.target] = busy.get(each.target, 0) + 1
            found.append(each)
    return found
