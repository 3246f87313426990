"""Two feeds and their incidents, as the page of all incidents shows them."""

import datetime as dt
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page

from contracts.feeds import Feed
from serving.incidents import Incident
from serving.kept_events import INCIDENT, Event
from serving.state import State
from tests.serving import world
from tests.serving.conftest import CHROMIUM, declare, served
from tests.serving.static.conftest import readings_come
from tests.serving.static.test_fleet import well
from tests.serving.test_incidents import of

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
HOUR = dt.timedelta(hours=1)


class Site(NamedTuple):
    url: str
    state: State
    feed: Feed
    other: Feed
    now: dt.datetime

    def put(self, service: str, start: float, end: float | None = None, other: bool = False, **more) -> Incident:
        """It began, and has ended, so many hours ago."""
        began, ended = (None if each is None else ms(self.now - each * HOUR) for each in (start, end))
        this = replace(of(service, began or 0, "opened" if ended is None else "closed"), end=ended, **more)
        self.state.incidents.put((self.other if other else self.feed).name, this)
        return this

    def comes(self, incident: Incident) -> None:
        self.state.incidents.put(self.feed.name, incident)
        self.state.events.publish([Event(INCIDENT, self.feed.name, incident.service, incident)])


def ms(at: dt.datetime) -> int:
    return round(at.timestamp()) * 1000


@pytest.fixture
def site(page, offline, feed, declared, monkeypatch):
    """Two feeds in different time zones, of which Kafka is read."""
    other = feed.model_copy(update={"name": f"{feed.name}-b", "timezone": "Europe/Berlin"})
    declare(declared, other)
    with served(offline) as (url, state):
        well(page, state)
        readings_come(state, monkeypatch)
        yield Site(f"{url}/incidents", state, feed, other, dt.datetime.now(dt.UTC))
        page.unroute_all(behavior="ignoreErrors")


@pytest.fixture
def several(site, lake):
    """Open: a deviation, a silence of the other feed, a group of two, and a false alarm. Closed: one of two days ago."""
    sums = {"readings": 12, "actual": 1200.0, "expected": 800.0, "area": 400.0}
    start = site.put("checkout", 2, peak=300.0, peak_expected=100.0, **sums).start
    site.put("mail", 5, other=True, kind="silence", direction=None, actual=None, expected=None)
    ended = site.put("search", 48, 46, direction="low", peak=None)
    for name in ("m", "n"):
        site.put(name, 3, group="*@g")
    members = [f"{name}@{site.now - 3 * HOUR:%Y-%m-%dT%H:%M:%SZ}" for name in ("m", "n")]
    site.put("*", 3, kind="group", services=2, members=members, direction=None, cause="m is the first", actual=None)
    denied = site.put("noise", 1)
    world.say(lake, site.feed, 1, "false", IncidentId=denied.id)
    return start, ended


def rows(page: Page):
    return page.locator("#incidents > li")


def whose(page: Page) -> list[str]:
    return page.locator("#incidents > li .who > :first-child").all_inner_texts()


def asked(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
