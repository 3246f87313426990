"""One message to one target about one incident. As JSON it waits in the topic of alerts; it holds no secret."""

import datetime as dt
import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal
from urllib.parse import urlencode

Event = Literal["opened", "escalated", "reminder", "closed"]
Incident = dict[str, Any]  # as the record in schemas/avro/incident, times in ISO 8601
RECENT = dt.timedelta(days=1)
LONGEST = dt.timedelta(days=45)  # that the page shows
SAID = {"opened": "", "escalated": "still open: ", "reminder": "still open: ", "closed": "closed: "}


@dataclass(frozen=True)
class Message:
    """One message. `at`: when it was decided, epoch ms. `number`: of a reminder, from 1 on. `severity`: when the route was first
    notified of. `test`: it is about no real incident."""

    route: str
    to: str  # target or escalation: the field of the route that declares where it goes
    event: Event
    severity: str
    feed: str
    incident: Incident
    at: int
    number: int = 0
    test: bool = False

    @property
    def id(self) -> str:
        """The same for the same message, however often it is decided or sent: a receiver that knows it may ignore it."""
        return f"msg_{_digest(self.route, self.to, self.feed, self.incident['Id'], self.event, str(self.number))}"

    @property
    def incident_key(self) -> str:
        """The same for all messages of one route and one target about one incident."""
        return f"sundial_{_digest(self.route, self.to, self.feed, self.incident['Id'])}"

    @property
    def subject(self) -> str:
        """What happened, in one line."""
        service = self.incident["ServiceName"]
        what = f"{self.incident['Services']} services" if self.incident["Kind"] == "group" else service
        kind = {"group": "group of incidents", "silence": "silent"}.get(self.incident["Kind"], "unusual")
        test = "Test: " if self.test else ""
        return f"{test}{SAID[self.event]}[{self.severity}] {self.feed}: {what}, {kind}"

    @property
    def text(self) -> str:
        """The subject, how far it deviates, why, since when and until when."""
        peak, expected = self.incident["Peak"], self.incident["PeakExpected"]
        figures = [] if None in (peak, expected) else [f"{_count(peak)} at its peak, {_count(expected)} expected"]
        end = f" until {self.incident['End']}" if self.incident["End"] else ""
        return "\n".join([self.subject, *figures, self.incident["Cause"], f"since {self.incident['Start']}{end}"])

    def link(self, page: str) -> str:
        """To the service on the dashboard: as it is now while the incident goes on, else the time of the incident."""
        service = {} if self.incident["Kind"] == "group" else {"service": self.incident["ServiceName"]}
        return f"{page}/?{urlencode({'feed': self.feed, **service, **self._window()})}"

    def _window(self) -> dict[str, str]:
        start, end = _at(self.incident["Start"]), _at(self.incident["End"] or self.incident["At"])
        decided = dt.datetime.fromtimestamp(self.at / 1000, dt.UTC)
        if not self.incident["End"] and decided - end < RECENT:
            return {}
        aside = min(max((end - start) / 2, RECENT / 2), LONGEST / 4)
        first = max(start - aside, end + aside - LONGEST)
        return {"from": f"{first:%Y-%m-%dT%H:%M:%SZ}", "to": f"{end + aside:%Y-%m-%dT%H:%M:%SZ}"}

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


def _count(value: float) -> str:
    """As the page writes it: small values with a decimal."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}".removesuffix(".0")


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def trial(route: str, to: str, now: dt.datetime) -> list[Message]:
    """An opening and a closing of an incident that never was."""
    text = now.isoformat(timespec="seconds")
    at = int(now.timestamp() * 1000)
    incident: Incident = {"Id": f"test@{text}", "ServiceName": "test", "Kind": "deviation", "State": "opened", "Start": text}
    incident |= {
        "Last": text,
        "At": text,
        "End": None,
        "Score": 0.0,
        "Cause": "somebody tries out this route",
        "LevelShift": False,
    }
    incident |= {"Readings": 0, "Actual": None, "Expected": None, "Area": None, "Direction": None, "PeakAt": None, "Peak": None}
    incident |= {"PeakExpected": None, "PeakSize": None, "Group": None, "Services": None, "Members": []}
    opened = Message(route, to, "opened", "warning", "test", incident, at, test=True)
    return [opened, replace(opened, event="closed", incident=incident | {"State": "closed", "End": text})]
