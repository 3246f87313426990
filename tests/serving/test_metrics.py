"""What Prometheus scrapes, parsed as Prometheus parses it."""

import datetime as dt
import os
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from serving import app
from serving.app import create_app
from serving.memory import Reading
from supervision.files import LaunchRecord, StreamFolder, locked, write_launch
from tests.serving import world
from tests.serving.conftest import declare


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


def test_each_metric_is_documented(client):
    names = {line.split()[2] for line in client.get("/metrics").text.splitlines() if line.startswith("# HELP ")}
    assert "sundial_stream_dead_letters_total" in names
    page = (Path(app.__file__).parents[1] / "docs/api.md").read_text()
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_of_what_is_not_there_nothing_is_told(client):
    assert scraped(client) == {}


def test_a_damaged_table_of_one_feed_blinds_nobody_for_the_others(declared, offline, lake, feed, drive):
    other = feed.model_copy(update={"name": "other"})
    declare(declared, other)
    client = TestClient(create_app(offline), base_url="http://127.0.0.1")
    for each in (feed, other):
        world.promote(lake, each, {"a": 1.0}, as_of="2026-11-20")
    drive(now(), {"baseline_version": 0})
    (lake / "baseline" / feed.table / "_delta_log" / "00000000000000000000.json").write_text("{")
    found = scraped(client)
    assert found["sundial_feed_tables_unreadable", feed.name] == 1
    assert ("sundial_feed_tables_unreadable", "other") not in found
    assert ("sundial_baseline_version", feed.name) not in found
    assert found["sundial_baseline_version", "other"] == 0
    assert found["sundial_stream_up", feed.name, "score"] == 1
    answer = client.get("/health").json()
    assert answer["status"] == "degraded"
    [remedy] = [each for each in answer["remedies"] if "Tables of feed" in each]
    assert remedy.startswith(f"Tables of feed {feed.name} can't be read: ")


def test_a_stream_tells_its_health(client, drive, run_state, feed):
    health = {"measured_at": now().isoformat(), "lag_records": 120, "lag_seconds": 2.5, "input_per_second": 4000.5}
    health |= {"dead_letters": 3, "dead_letters_per_second": 0.1, "stalled_seconds": 1.0}
    beat = now()
    drive(beat, {"baseline_version": 4, "health": health})
    stream = StreamFolder.of(run_state, feed.name, "score")
    stream.write_supervisor("attempt-1")
    looked = beat - dt.timedelta(seconds=40)
    os.utime(stream.supervisor_file, (0, looked.timestamp()))
    launched = beat - dt.timedelta(seconds=30)
    with locked(stream.launch_lock) as lock:
        write_launch(lock, LaunchRecord(7, launched.timestamp()))
    found = scraped(client)
    age = found.pop(("sundial_stream_heartbeat_age_seconds", feed.name, "score"))
    assert 0 <= age <= round((now() - beat).total_seconds(), 1) + 0.1  # it is rounded to tenths
    assert 40 <= found.pop(("sundial_stream_unattended_seconds", feed.name, "score")) <= (now() - looked).total_seconds()
    assert found == {
        ("sundial_stream_up", feed.name, "score"): 1,
        ("sundial_stream_given_up", feed.name, "score"): 0,
        ("sundial_stream_switched_off", feed.name, "score"): 0,
        ("sundial_stream_launched_timestamp_seconds", feed.name, "score"): pytest.approx(launched.timestamp(), abs=0.001),
        ("sundial_stream_query_started_timestamp_seconds", feed.name, "score"): pytest.approx(beat.timestamp(), abs=0.001),
        ("sundial_stream_baseline_version", feed.name, "score"): 4,
        ("sundial_stream_lag_records", feed.name, "score"): 120,
        ("sundial_stream_lag_seconds", feed.name, "score"): 2.5,
        ("sundial_stream_input_per_second", feed.name, "score"): 4000.5,
        ("sundial_stream_stalled_seconds", feed.name, "score"): 1,
        ("sundial_stream_dead_letters_total", feed.name, "score"): 3,
    }
    (told,) = client.get("/api/streams").json()
    assert (told["health"]["lag_records"], told["health"]["input_per_second"]) == (120, 4000.5)
    assert (told["given_up"], told["switched_off"]) == (False, False)
    assert dt.datetime.fromisoformat(told["launched_at"]).timestamp() == pytest.approx(launched.timestamp(), abs=0.001)
    assert dt.datetime.fromisoformat(told["supervised_at"]).timestamp() == pytest.approx(looked.timestamp(), abs=0.001)


@pytest.mark.parametrize("state", ["dead", "stale", "switched off"])
def test_of_a_driver_that_does_not_report_no_old_figure_is_told(client, drive, run_state, feed, state):
    health = {"lag_records": 120, "lag_seconds": 40.0, "dead_letters": 3, "stalled_seconds": 61.0}
    stream = StreamFolder.of(run_state, feed.name, "score")
    if state == "stale":
        drive(now() - dt.timedelta(seconds=40), {"health": health})
    else:
        stream.make()
        stream.write_heartbeat({"at": now().isoformat(), "state": "running", "baseline_version": 4, "health": health})
        stream.mark_given_up()
    if state == "switched off":
        stream.write_supervisor("")
    found = {name: value for (name, *_), value in scraped(client).items()}
    assert found.pop("sundial_stream_heartbeat_age_seconds") >= (40 if state == "stale" else 0)
    assert (found.pop("sundial_stream_unattended_seconds", None) is not None) == (state == "switched off")
    assert found == {
        "sundial_stream_up": 0,
        "sundial_stream_given_up": state != "stale",
        "sundial_stream_switched_off": state == "switched off",
    }


def test_a_feed_tells_the_time_of_its_newest_reading(client, feed):
    at = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
    for minute in (0, 5, 3):
        milliseconds = round((at + dt.timedelta(minutes=minute)).timestamp() * 1000)
        client.app.state.sundial.memory.put_reading(feed.name, "a", Reading(milliseconds, 7, 7.0, 1.0, 100.0, False, 1))
    newest = dt.datetime(2026, 11, 20, 12, 5, tzinfo=dt.UTC).timestamp()
    assert scraped(client)["sundial_feed_newest_reading_timestamp_seconds", feed.name] == newest


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
        ("sundial_gate_awaits_approval", feed.name): 1,
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
        found = scraped(client)
        assert (found[evicted, feed.name], found[turned_away, feed.name]) == wanted
