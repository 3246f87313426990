"""Who is to be notified of what, decided by pure functions: (what is known of an incident, its next record) → what is known;
and (routes, what is known, now) → messages, what is known.

A decision is made once: what was decided is part of what is known, and kept with the messages.
"""

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from contracts.alerts import SEVERITIES, Route, SaidSilence, Silence, severity_of
from contracts.declarations import seconds_of
from serving.alerts.messages import Event, Incident, Message


@dataclass(frozen=True)
class Notified:
    """When a route was notified of an incident's events, epoch ms. severity: at the opening."""

    opened: int
    severity: str
    escalated: int | None = None
    reminded: int | None = None  # last
    reminders: int = 0
    closed: int | None = None


@dataclass(frozen=True)
class Known:
    """What is known of an incident. since: when Kafka took its first record, epoch ms; closed: when it took the closing one."""

    feed: str
    incident: Incident
    since: int
    closed: int | None = None
    notified: dict[str, Notified] = field(default_factory=dict)  # by route

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Known":
        return cls(**{**values, "notified": {route: Notified(**notified) for route, notified in values["notified"].items()}})


def seen(known: Known | None, feed: str, incident: Incident, taken: int) -> Known:
    """With one more record of the incident, which Kafka took at `taken` (epoch ms).

    A record that comes again, or is older than what is known, changes nothing. Nothing opens a closed incident again.
    """
    closed = taken if incident["State"] == "closed" else None
    if known is None:
        return Known(feed, incident, taken, closed)
    if known.closed is not None or (closed is None and incident["At"] < known.incident["At"]):
        return known
    return replace(known, incident=incident, closed=closed)


def decided(
    routes: Mapping[str, Route], known: Known, now: int, attended: bool, silences: Collection[SaidSilence] = ()
) -> tuple[Known, list[Message]]:
    """What each route is to be notified of at that moment (epoch ms), in that order. attended: whether somebody looks after the
    incident, or has judged it: then there is neither an escalation nor a reminder. silences: of all routes."""
    of_feed = [each for each in silences if not each.feeds or known.feed in each.feeds]
    messages = []
    for name, route in routes.items():
        notified = known.notified.get(name)
        if notified is None and not _concerns(route, known):
            continue
        after, events = _of_route(route, known, notified, now, attended, of_feed)
        if after is not None and after != notified:
            known = replace(known, notified=known.notified | {name: after})
        for event, to in events:
            number = after.reminders if event == "reminder" else 0
            messages.append(Message(name, to, event, after.severity, known.feed, known.incident, now, number))
    return known, messages


def _of_route(
    route: Route, known: Known, notified: Notified | None, now: int, attended: bool, silences: Sequence[Silence]
) -> tuple[Notified | None, list[tuple[Event, str]]]:
    """What the route has been notified of afterwards, and what it is notified of now: (event, field of the target)."""
    if known.closed is not None:
        if notified is None or notified.closed is not None:
            return notified, []
        also: list[tuple[Event, str]] = [("closed", "escalation")] if notified.escalated and route.escalation else []
        return replace(notified, closed=now), [("closed", "target"), *also]
    if known.incident["Group"] is not None or _quiet(route, known, now, silences):
        return notified, []
    if notified is None:
        due = now >= known.since + _milliseconds(route.wait)
        return (Notified(now, severity_of(known.incident)), [("opened", "target")]) if due else (None, [])
    if attended:
        return notified, []
    events: list[tuple[Event, str]] = []
    if route.escalation and notified.escalated is None and now >= notified.opened + _milliseconds(route.escalation.after):
        notified = replace(notified, escalated=now)
        events.append(("escalated", "escalation"))
    if route.reminder and now >= (notified.reminded or notified.opened) + _milliseconds(route.reminder):
        notified = replace(notified, reminded=now, reminders=notified.reminders + 1)
        events.append(("reminder", "target"))
    return notified, events


def _concerns(route: Route, known: Known) -> bool:
    """Whether the route is for this incident, as it is now."""
    if route.feeds and known.feed not in route.feeds:
        return False
    if SEVERITIES.index(severity_of(known.incident)) < SEVERITIES.index(route.severity):
        return False
    services, all_of_them = _services(known.incident)
    return not all_of_them or any(re.fullmatch(route.services, service) for service in services)


def _quiet(route: Route, known: Known, now: int, said: Sequence[Silence]) -> bool:
    """Whether the route sends nothing now: outside its hours, during maintenance, or because of a silence."""
    at = dt.datetime.fromtimestamp(now / 1000, dt.UTC)
    if not route.disturbs(at):
        return True
    services, all_of_them = _services(known.incident)
    silences = [each for each in (*route.silences, *said) if (each.begin is None or each.begin <= at) and at < each.until]
    # A group of which some members are not listed is silenced by what silences everything.
    names = services if all_of_them else [*services, ""]
    return bool(silences) and all(any(re.fullmatch(each.services, name) for each in silences) for name in names)


def _services(incident: Incident) -> tuple[list[str], bool]:
    """The services that an incident is of, and whether these are all: a group lists its first members."""
    if incident["Kind"] != "group":
        return [incident["ServiceName"]], True
    services = [member.rpartition("@")[0] for member in incident["Members"]]
    return services, len(set(services)) >= (incident["Services"] or 0)


def _milliseconds(duration: str) -> int:
    return round(1000 * seconds_of(duration))
