"""A served feed with everything that the page shows, and what its chart has drawn."""

import datetime as dt

import pytest
from playwright.sync_api import Page

from tests.serving import derived, world
from tests.serving.conftest import NASTY, served
from tests.support.waiting import until


@pytest.fixture
def site(at, broker, online, feed, lake, drive):
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
        yield url, topics
    topics.delete()


def drawn(page: Page) -> list[list]:
    """Columns of the chart: seconds, value, low, high, expected, anomalous value."""
    until("the chart is drawn", lambda: page.evaluate("globalThis.sundial?.chart.data.length === 9"))
    return page.evaluate("sundial.chart.data.slice(0, 6).map((column) => Array.from(column))")
