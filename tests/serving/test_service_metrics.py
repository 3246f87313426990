"""What Prometheus scrapes of each service: its newest reading within its band, of a bounded number of services."""

import datetime as dt
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from serving.app import create_app
from serving.memory import Reading
from tests.serving import world
from tests.serving.test_incidents import of
from tests.support.waiting import until

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
START = round(NOW.timestamp()) // 10 * 10_000  # of the interval in which now lies, epoch milliseconds


@pytest.fixture
def client(offline):
    """Serving that has read its topics, and gives metrics of three services of a feed."""
    app = create_app(replace(offline, metrics_services_per_feed=3))
    app.state.sundial.live.status.as_of = NOW
    return TestClient(app, base_url="http://127.0.0.1")


def put(client, feed, service: str, intervals_ago: int = 1, **more) -> None:
    cells = {"value": 150, "expected": 100.0, "spread": 10.0, "pct": 150.0, "anomalous": True, "baseline_version": 1}
    at = START - 10_000 * intervals_ago
    client.app.state.sundial.memory.put_reading(feed.name, service, Reading(at, **(cells | more)))


def scraped(client, prefix: str) -> dict[tuple[str, ...], float]:
    """Value by (what follows the prefix, labels...)."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = [each for family in families for each in family.samples if each.name.startswith(prefix)]
    return {(each.name.removeprefix(prefix), *each.labels.values()): each.value for each in samples}


def test_the_newest_reading_within_its_band(client, feed):
    put(client, feed, "a", 2, value=7)
    put(client, feed, "a")
    found = scraped(client, "sundial_service_")
    assert found == {
        ("newest_reading_timestamp_seconds", feed.name, "a"): START / 1000 - 10,
        ("value", feed.name, "a"): 150,
        ("expected", feed.name, "a"): 100,
        ("band_low", feed.name, "a"): 40,  # six spreads of ten, which are more than 5 %
        ("band_high", feed.name, "a"): 160,
        ("anomalous", feed.name, "a"): 1,
    }


def test_of_what_is_not_expected_or_does_not_come_no_figure_is_told(client, feed):
    put(client, feed, "new", expected=None, spread=None, pct=None, anomalous=False)
    put(client, feed, "silent", 6)
    assert scraped(client, "sundial_service_") == {
        ("newest_reading_timestamp_seconds", feed.name, "new"): START / 1000 - 10,
        ("value", feed.name, "new"): 150,
        ("anomalous", feed.name, "new"): 0,
        ("newest_reading_timestamp_seconds", feed.name, "silent"): START / 1000 - 60,
    }


def test_names_that_are_made_up_take_no_place_of_a_known_service(client, feed, lake):
    world.promote(lake, feed, {"y": 100.0, "z": 100.0})
    client.app.state.sundial.lake_watch.look()
    for service in ("b", "a", "z", "y", 'hostile"}\n\\', "c"):
        put(client, feed, service)
    told = {service for name, _, service in scraped(client, "sundial_service_") if name == "value"}
    assert told == {"y", "z", "a"}
    assert scraped(client, "sundial_serving_services_without") == {("_metrics", feed.name): 3}


def test_a_hostile_name_is_a_label_like_any_other(client, feed):
    hostile = 'x"} 1\nsundial_stream_up{feed="y\\'
    put(client, feed, hostile)
    assert scraped(client, "sundial_service_value") == {("", feed.name, hostile): 150}
    assert scraped(client, "sundial_stream_up") == {}


def test_no_figure_of_a_service_where_none_is_wanted(offline, feed):
    client = TestClient(create_app(replace(offline, metrics_services_per_feed=0)), base_url="http://127.0.0.1")
    put(client, feed, "a")
    assert scraped(client, "sundial_service_") == {}
    assert scraped(client, "sundial_serving_services_without") == {("_metrics", feed.name): 1}


def test_open_incidents_are_counted_without_groups_and_false_alarms(client, feed, lake):
    state = client.app.state.sundial
    begun = START - 60_000
    open_, false = of("a", begun), of("b", begun)
    group = replace(of("g", begun), kind="group", members=[open_.id])
    for each in (open_, false, of("c", begun, state="closed"), group):
        state.incidents.put(feed.name, each)
    assert scraped(client, "sundial_feed_open") == {("_incidents", feed.name): 2}
    world.say(lake, feed, 1, "false", IncidentId=false.id)
    until("the statement counts", lambda: scraped(client, "sundial_feed_open") == {("_incidents", feed.name): 1})
    state.live.status.as_of = None
    assert scraped(client, "sundial_feed_open") == {}, "serving has not read the topics yet"
