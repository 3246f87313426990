"""What is read of an app that follows live topics."""

import json
from collections.abc import Iterator

import httpx

from serving.events import Events
from serving.kept_events import Event
from tests.serving.conftest import Served, readings
from tests.support.waiting import until


def values(client: httpx.Client) -> list[float]:
    """The readings of the service a in the last hour."""
    return list(readings(client.get("/services/a/series?minutes=60").json()).values())


def caught_up(serving: Served, records: int) -> None:
    live = serving.state.live.status
    until(f"{records} records are read", lambda: live.records == records and live.caught_up)


def first_events(lines: Iterator[str], count: int) -> list[tuple[str | None, str, dict]]:
    """The ids, kinds and data of the next events."""
    found: list[tuple[str | None, str, dict]] = []
    fields: dict[str, str] = {}
    while len(found) < count:
        name, _, value = next(lines).partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            found.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
        fields = fields if name else {}
    return found


class Heard(Events):
    """Keeps what is published, for a test to look at."""

    def __init__(self):
        super().__init__(10)
        self.found: list[Event] = []

    def publish(self, events):
        self.found += events

    def new(self) -> list[tuple[str, dict]]:
        """Since it was asked last."""
        found, self.found = self.found, []
        return [(each.kind, json.loads(each.record)) for each in found]
