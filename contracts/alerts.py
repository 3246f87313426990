"""Routes of alerts: one YAML file under `schemas/alerts/` each. A route says who is notified of which incidents, when and how."""

import datetime as dt
import re
import zoneinfo
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, AwareDatetime, Field, field_validator, model_validator

from contracts.declarations import (
    SCHEMAS,
    Declaration,
    Declared,
    Duration,
    Name,
    TimeZone,
    Topic,
    dead_letter_topic,
    load,
    seconds_of,
)
from contracts.feeds import FEEDS
from contracts.incidents import Pattern

ROUTES = SCHEMAS / "alerts"
# Who was notified of each incident, which messages wait, and how far the incidents are read.
ALERTS = Topic("sundial.alerts", 1, None, compacted=True)
DEAD = Topic(dead_letter_topic(ALERTS.name), 1, None, compacted=True)  # messages that were given up, with the reason
TRANSACTION = "sundial-alerts"  # transactional id of the process that writes them: one at a time
ASKED = "asked"  # header of a row that a person wrote for the process: `sundial alerts retry` and `silence`
SILENCE = "silence/"  # begins the key of a silence that a person asked for
VARIABLES = "SUNDIAL_ALERT_"  # begins the name of each environment variable that holds a secret of a route
WEBHOOK = f"{VARIABLES}WEBHOOK"  # the variable with the address of Airflow's own alerts

Severity = Literal["warning", "error", "critical"]
SEVERITIES: tuple[str, ...] = get_args(Severity)  # the least first
CRITICAL, ERROR = 3.0, 2.4  # scores: critical is above the first, error from the second on
LASTING, TIMES = dt.timedelta(minutes=10), 2.0  # for so long, so many times as much as expected, or as little: an error

Kind = Literal["webhook", "slack", "pagerduty", "opsgenie", "alertmanager", "email"]
# By kind: the fields that a target of it must have, and those that it may have.
FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "webhook": ({"url", "key"}, set()),
    "slack": ({"url"}, set()),
    "pagerduty": ({"key"}, {"url"}),
    "opsgenie": ({"key"}, {"url"}),
    "alertmanager": ({"url"}, set()),
    "email": ({"url", "sender", "to"}, set()),
}
Variable = Annotated[str, Field(pattern=rf"^{VARIABLES}[A-Z0-9_]{{1,100}}$")]
Mailbox = Annotated[str, Field(pattern=r"^[^@\s<>,;:\"()]{1,64}@[A-Za-z0-9.-]{1,253}$")]

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY, _TIME = f"({'|'.join(DAYS)})", r"([01][0-9]|2[0-3]):([0-5][0-9])"
_HOURS = re.compile(rf"{_DAY}(?:-{_DAY})? {_TIME}-(?:{_TIME}|(24):(00))")
MINUTES_PER_DAY = 1440


def _hours(text: str) -> str:
    if not _HOURS.fullmatch(text):
        raise ValueError(f"{text!r} is not like 'mon-fri 08:00-18:00' or 'sat 22:00-06:00'")
    return text


Hours = Annotated[str, AfterValidator(_hours)]


class Target(Declared):
    """Where messages go. Secrets are in environment variables; a target names the variables."""

    kind: Kind
    url: Variable | None = None  # variable with the address: https://…; of email smtps:// or smtp://USER:PASSWORD@HOST:PORT
    key: Variable | None = None  # variable with what signs (webhook), the routing key (pagerduty) or the API key (opsgenie)
    # Addresses that the host's name may have: public ones; private ones too; or only those of this machine, then also by http.
    network: Literal["public", "private", "loopback"] = "public"
    sender: Mailbox | None = None  # of email: From
    to: tuple[Mailbox, ...] = ()  # of email

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        needed, possible = FIELDS[self.kind]
        given = {name for name in ("url", "key", "sender", "to") if getattr(self, name)}
        if missing := sorted(needed - given):
            raise ValueError(f"a target of kind {self.kind} needs {' and '.join(missing)}")
        if surplus := sorted(given - needed - possible):
            raise ValueError(f"a target of kind {self.kind} has no {' and no '.join(surplus)}")
        return self

    @property
    def variables(self) -> list[str]:
        """The environment variables that it names."""
        return [name for name in (self.url, self.key) if name]


class Escalation(Declared):
    """Who else is notified when an incident is still open this long after the route was notified of it."""

    after: Duration
    target: Target


class Silence(Declared):
    """A silence: until its end, the route sends nothing about these services."""

    services: Pattern = ".*"
    begin: Annotated[AwareDatetime | None, Field(alias="from")] = None  # null: at once
    until: AwareDatetime
    reason: str = ""

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.begin and self.begin >= self.until:
            raise ValueError(f"until {self.until.isoformat()} is not after from {self.begin.isoformat()}")
        return self


class SaidSilence(Silence):
    """A silence of all routes that a person asked for, by `sundial alerts silence`: kept in `sundial.alerts`, not in a file."""

    feeds: tuple[Name, ...] = ()  # none named: all feeds
    reason: Annotated[str, Field(min_length=1, max_length=500)]
    by: Annotated[str, Field(min_length=1, max_length=200)]
    at: AwareDatetime


class Route(Declaration):
    """Who is notified of which incidents, and when. All conditions must hold."""

    description: str
    feeds: tuple[Name, ...] = ()  # none named: all feeds
    services: Pattern = ".*"  # a group fits if one of its services matches
    severity: Severity = "warning"  # the least
    wait: Duration = "0 seconds"  # how long an incident must be open before anyone is notified
    timezone: TimeZone = "UTC"  # of hours and maintenance
    hours: tuple[Hours, ...] = ()  # when people may be disturbed; none given: always
    maintenance: tuple[Hours, ...] = ()  # weekly times at which people may not be disturbed
    silences: tuple[Silence, ...] = ()
    target: Target
    escalation: Escalation | None = None
    reminder: Duration | None = None  # how long after a message the next reminder follows, while the incident is open; null: none

    @field_validator("reminder")
    @classmethod
    def _not_all_the_time(cls, value: str | None) -> str | None:
        if value and seconds_of(value) < 60:
            raise ValueError(f"{value} between two reminders; 1 minute is the least")
        return value

    def unmet(self) -> Iterator[str]:
        for feed in self.feeds:
            if not (FEEDS / f"{feed}.yaml").exists():
                yield f"feeds: no feed {feed!r} in schemas/feeds"

    @property
    def targets(self) -> dict[str, Target]:
        """By the name of the field that declares it."""
        return {"target": self.target} | ({"escalation": self.escalation.target} if self.escalation else {})

    def disturbs(self, at: dt.datetime) -> bool:
        """Whether that moment is within the hours, and not within the maintenance."""
        local = at.astimezone(zoneinfo.ZoneInfo(self.timezone))
        within = not self.hours or any(_within(each, local) for each in self.hours)
        return within and not any(_within(each, local) for each in self.maintenance)


def _within(hours: str, local: dt.datetime) -> bool:
    """By the local clock. Hours whose end is not after their begin go on to that time of the next day."""
    parts = _HOURS.fullmatch(hours)
    assert parts
    first, last, *clock = parts.groups()
    begin, end = (60 * int(hour) + int(minute) for hour, minute in ((clock[0], clock[1]), (clock[2] or 24, clock[3] or 0)))
    day, minute = local.weekday(), 60 * local.hour + local.minute
    if end > begin:
        return _is_of(day, first, last) and begin <= minute < end
    return (_is_of(day, first, last) and minute >= begin) or (_is_of(day - 1, first, last) and minute < end)


def _is_of(day: int, first: str, last: str | None) -> bool:
    """Days from the first to the last one, which may be in the week after."""
    start = DAYS.index(first)
    return (day - start) % 7 <= (DAYS.index(last or first) - start) % 7


def severity_of(incident: Mapping[str, Any]) -> str:
    """Of an incident as its record says it. A group is critical, and so is a score above 3. A silence and a score from 2.4 on
    are errors; so is an incident whose unusual readings span ten minutes, and add up to half or twice of what was expected. The
    rest are warnings. (The score of an alarm is at least 1.8: it tells how rare the onset is, not how long it lasts.)"""
    if incident["Kind"] == "group" or incident["Score"] > CRITICAL:
        return "critical"
    return "error" if incident["Kind"] == "silence" or incident["Score"] >= ERROR or _is_lasting(incident) else "warning"


def _is_lasting(incident: Mapping[str, Any]) -> bool:
    start, last = (dt.datetime.fromisoformat(incident[name]) for name in ("Start", "Last"))
    actual, expected = incident["Actual"] or 0.0, incident["Expected"] or 0.0
    return last - start >= LASTING and expected > 0 and not expected / TIMES < actual < expected * TIMES


def variables_of(routes: Mapping[str, Route]) -> list[str]:
    """The environment variables that routes name, each once."""
    return sorted({name for route in routes.values() for target in route.targets.values() for name in target.variables})


def load_routes(folder: Path = ROUTES) -> dict[str, Route]:
    """Every declared route by name; there may be none. Raises DeclarationError listing all mistakes of all files."""
    return load(folder, Route) if any(folder.glob("*.yaml")) else {}
