"""A served feed with everything that the page shows, and what its chart has drawn."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest
from playwright.sync_api import Page

from serving import lake as lake_module
from serving.state import State
from tests.serving import derived, world
from tests.serving.conftest import NASTY, served
from tests.serving.static.baselines import Site
from tests.serving.test_incidents import of
from tests.support.waiting import until

MINUTE = dt.timedelta(minutes=1)
NOON = dt.datetime(2026, 7, 1, 16, tzinfo=dt.UTC)  # in New York
SETTLED = """globalThis.sundial?.chart.data.length >= 9
  && document.querySelector("header .login") !== null
  && (document.querySelector("#connection").matches(".live, .stale") || !document.querySelector(".as-of.readings").hidden)"""
HOUR = f"from={NOON:%Y-%m-%dT%H:%M:%SZ}&to={NOON + 60 * MINUTE:%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture(autouse=True)
def fresh_tables(monkeypatch) -> None:
    """Serving looks at the tables each time that it is asked: a test writes to them and looks at the page at once."""
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)


@pytest.fixture
def site(at, broker, online, feed, lake, drive, monkeypatch):
    """A feed with a baseline, a running stream, two services and three anomalies; and its topics, to send more."""
    services = {"a": 100.0, NASTY: 50.0}
    world.promote(lake, feed, services, candidate_version=8, at="2026-11-20T08:00:00+00:00")
    world.promote(lake, feed, services, growth=1.25, candidate_version=9, as_of="2026-11-21", at="2026-11-21T08:00:00+00:00")
    now = dt.datetime.now(dt.UTC)
    drive(now, {})
    topics = derived.Topics(broker.kafka, broker.registry, feed)
    topics.create()
    rows = [derived.scored("a", at(i), 100 + i % 3) for i in range(30)] + [derived.scored(NASTY, at(i), 100) for i in range(30)]
    rows[10] = derived.scored("a", at(10), 200, Anomalous=True)
    rows[11] = derived.scored("a", at(11), 0, Anomalous=True)
    rows[35] = derived.scored(NASTY, at(5), 150, Anomalous=True)
    topics.send("scored", rows)
    topics.send("anomaly", [derived.anomaly(row) for row in rows if row["Anomalous"]])
    with served(online) as (url, state):
        until("the topics are read", lambda: state.live.status.records == 63 and state.live.status.as_of)
        readings_come(state, monkeypatch)
        yield url, topics
    topics.delete()


def readings_come(state: State, monkeypatch) -> None:
    """From now on, of every feed, as far as a page can know."""
    monkeypatch.setattr(state.memory, "newest_at", lambda _: ms(dt.datetime.now(dt.UTC)))


def drawn(page: Page) -> list[list]:
    """Columns of the chart: seconds, value, low, high, expected, anomalous value."""
    until("the chart is drawn and nothing moves it any more", lambda: page.evaluate(SETTLED))
    return page.evaluate("sundial.chart.data.slice(0, 6).map((column) => Array.from(column))")


class Past(NamedTuple):
    """What `past` serves."""

    url: str
    state: State
    feed: str

    def incident(self, service: str, start: dt.datetime, end: dt.datetime | None, **more) -> None:
        """Too high from start to end, at its peak with 400 after two minutes."""
        peak = {"peak": 400.0, "peak_expected": 100.0, "peak_at": ms(start + 2 * MINUTE), "direction": "high"}
        state = "opened" if end is None else "closed"
        this = replace(of(service, ms(start), state), end=None if end is None else ms(end), **peak | more)
        self.state.incidents.put(self.feed, this)


def ms(at: dt.datetime) -> int:
    return round(at.timestamp() * 1000)


@pytest.fixture
def past(offline, feed, lake) -> Iterator[Past]:
    """History of two services: an hour of readings from noon of a day in July."""
    ticks = [NOON + number * dt.timedelta(seconds=10) for number in range(360)]
    world.archive(lake, feed, {(service, at): 100 for service in ("a", "b") for at in ticks} | {("a", NOON + 22 * MINUTE): 400})
    with served(offline) as (url, state):
        yield Past(f"{url}/?feed={feed.name}", state, feed.name)


def place(page: Page, at: dt.datetime, value: float = 210) -> tuple[float, float]:
    """Where on the page the chart has that instant and value."""
    box = page.locator("#chart .u-over").bounding_box()
    assert box is not None
    script = "([at, value]) => [sundial.chart.plot.valToPos(at, 'x'), sundial.chart.plot.valToPos(value, 'y')]"
    x, y = page.evaluate(script, [at.timestamp(), value])
    return box["x"] + x, box["y"] + y


@pytest.fixture
def baselines(offline, feed) -> Iterator[Site]:
    """The page of the feed's baselines."""
    with served(offline) as (url, _):
        yield Site(f"{url}/baselines", f"feed={feed.name}")


@pytest.fixture
def three(lake, feed):
    """v0; v1, which expects more of two services, less of one, has lost one and found one; v2 is v0 again."""
    before = {"up": 10.0, "far": 10.0, "down": 10.0, "same": 10.0, "lost": 10.0}
    after = {"up": 12.5, "far": 20.0, "down": 9.0, "same": 10.0, NASTY: 10.0}
    world.promote(lake, feed, before, candidate_version=8, at="2026-11-19T08:00:00+00:00", run_id="night-8")
    approved = {"gate": False, "by": "omar", "reason": "a known move", "as_of": "2026-11-21"}
    world.promote(lake, feed, after, candidate_version=9, at="2026-11-21T08:00:00+00:00", run_id="night-9", **approved)
    world.roll_back(lake, feed, 0, reason="the move was undone", at="2026-11-22T08:00:00+00:00")
