"""What Prometheus scrapes, parsed as Prometheus parses it."""

import datetime as dt

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from serving.app import create_app
from serving.memory import Reading
from tests.serving import world


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@pytest.fixture
def client(offline):
    return TestClient(create_app(offline), base_url="http://127.0.0.1")


def scraped(client) -> dict[tuple, float]:
    """Value by (name, labels...)."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}


def test_of_what_is_not_there_nothing_is_told(client):
    assert scraped(client) == {}


def test_a_stream_tells_its_health(client, drive, feed):
    health = {"measured_at": now().isoformat(), "lag_records": 120, "lag_seconds": 2.5, "input_per_second": 4000.5}
    health |= {"dead_letters": 3, "dead_letters_per_second": 0.1, "stalled_seconds": 1.0}
    beat = now()
    drive(beat, {"baseline_version": 4, "health": health})
    found = scraped(client)
    age = found.pop(("sundial_stream_heartbeat_age_seconds", feed.name, "score"))
    assert 0 <= age <= round((now() - beat).total_seconds(), 1) + 0.1  # it is rounded to tenths
    assert found == {
        ("sundial_stream_up", feed.name, "score"): 1,
        ("sundial_stream_baseline_version", feed.name, "score"): 4,
        ("sundial_stream_lag_records", feed.name, "score"): 120,
        ("sundial_stream_lag_seconds", feed.name, "score"): 2.5,
        ("sundial_stream_input_per_second", feed.name, "score"): 4000.5,
        ("sundial_stream_stalled_seconds", feed.name, "score"): 1,
        ("sundial_stream_dead_letters_total", feed.name, "score"): 3,
    }
    (stream,) = client.get("/api/streams").json()
    assert (stream["health"]["lag_records"], stream["health"]["input_per_second"]) == (120, 4000.5)


@pytest.mark.parametrize("health", [None, [], "x", {}, {"lag_records": "many", "lag_seconds": None, "measured_at": 5, "more": 1}])
def test_a_lag_that_is_not_known_is_left_out(client, drive, feed, health):
    drive(now(), {"state": "starting", "health": health})
    found = scraped(client)
    assert found["sundial_stream_up", feed.name, "score"] == 0
    assert ("sundial_stream_lag_records", feed.name, "score") not in found
    assert client.get("/api/streams").json()[0]["health"]["lag_records"] is None


def test_the_baseline_in_force_and_the_gate_tell_how_they_are(client, lake, feed):
    promoted = now() - dt.timedelta(hours=3)
    world.promote(lake, feed, {"a": 1.0}, at=promoted.isoformat(), as_of="2026-11-20")
    checked = now() - dt.timedelta(hours=1)
    failed = [
        world.expectation(False),
        world.expectation(False, "warning"),
        world.expectation(True, "warning"),
        world.expectation(),
    ]
    world.gate_result(lake, feed, "old", True, [world.expectation()], checked - dt.timedelta(days=1))
    world.gate_result(lake, feed, "new", False, failed, checked)
    found = scraped(client)
    assert found.pop(("sundial_baseline_age_seconds", feed.name)) == pytest.approx(3 * 3600, abs=60)
    assert found == {
        ("sundial_baseline_version", feed.name): 0,
        ("sundial_baseline_as_of_timestamp_seconds", feed.name): dt.datetime(2026, 11, 20, tzinfo=feed.zone).timestamp(),
        ("sundial_gate_passed", feed.name): 0,
        ("sundial_gate_checked_timestamp_seconds", feed.name): pytest.approx(checked.timestamp(), abs=0.001),
        ("sundial_gate_expectations_failed", feed.name, "critical"): 1,
        ("sundial_gate_expectations_failed", feed.name, "warning"): 1,
    }


def test_services_that_found_no_room_are_counted(client, feed):
    memory, most = client.app.state.sundial.memory, client.app.state.sundial.settings.services_per_feed
    memory.expect(feed.name, frozenset(f"s{number}" for number in range(most + 5)))
    evicted, turned_away = ("sundial_serving_evicted_services_total", "sundial_serving_turned_away_readings_total")
    for names, wanted in (
        (["made-up", *(f"s{number}" for number in range(most - 1))], (0, 0)),
        ([f"s{most}"], (1, 0)),
        ([f"s{most + 1}", "made-up", "made-up"], (1, 3)),
    ):
        for name in names:
            memory.put_reading(feed.name, name, Reading(1, 5, None, None, None, False, -1))
        assert scraped(client) == {(evicted, feed.name): wanted[0], (turned_away, feed.name): wanted[1]}
