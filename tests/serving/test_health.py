"""What /health calls degraded, and what it says to do."""

import datetime as dt
import shutil
from dataclasses import replace

from fastapi.testclient import TestClient

from contracts.queries import QUERIES
from serving import health
from serving.app import create_app
from serving.memory import Reading
from tests.serving import world
from tests.support.waiting import until

NOON = dt.datetime(2026, 11, 20, 17, tzinfo=dt.UTC)


def test_health_says_what_is_down_and_what_to_do(client, offline):
    body = client.get("/health").json()
    assert body["kafka"]["caught_up"] is False
    state = client.app.state.sundial.live.status
    state.broker, state.broker_error = "unreachable", "refused"
    body = client.get("/health").json()
    assert (body["status"], body["kafka"]["state"]) == ("degraded", "unreachable")
    assert body["remedies"] == [f"Kafka at {offline.kafka} does not answer: start the brokers or correct SUNDIAL_KAFKA."]


def test_health_says_which_declaration_is_wrong_and_the_feeds_stay(client, offline, feed):
    (offline.feeds / "wrong.yaml").write_text("name: wrong\ndescription: d\nrecord: service_use_record\ninterval_seconds: ten\n")
    client.app.state.sundial.declared.look()
    body = client.get("/health").json()
    (mistake,) = body["declaration_mistakes"]
    assert mistake.startswith("wrong.yaml: interval_seconds: ")
    assert body["status"] == "degraded"
    assert body["remedies"] == [f"Serving keeps the feeds that it read before from {offline.feeds}. Correct there: {mistake}."]
    assert [each["name"] for each in client.get("/api/feeds").json()] == [feed.name]


def test_health_says_which_feed_was_declared_with_another_interval_and_it_has_no_expected_values(client, offline, feed, lake):
    world.promote(lake, feed, {"a": 100.0})
    state, placed = client.app.state.sundial, {"interval_seconds": feed.interval_seconds, "timezone": feed.timezone}
    world.archive(lake, feed, {("a", NOON): 1}, placed_by=placed)
    world.archive(lake, feed, {("a", NOON): 2})  # of a release that did not note it, or of upkeep
    assert client.get("/health").json()["remedies"] == []
    assert state.tables.arrays(feed, "a", 1) is not None
    world.archive(lake, feed, {("a", NOON): 3}, placed_by=placed | {"timezone": "Asia/Tokyo"})
    until("the commit is seen", lambda: state.tables.arrays(feed, "a", 1) is None)
    body = client.get("/health").json()
    assert (body["status"], body["remedies"]) == (
        "degraded",
        [
            f"The history of feed {feed.name} was made with another interval or time zone: timezone was Asia/Tokyo and is "
            f"{feed.timezone}. Take the change back in {offline.feeds / feed.name}.yaml; until then serving has no expected "
            "values of this feed."
        ],
    )


def test_health_says_that_a_table_which_only_jobs_read_is_damaged(client, offline, feed, lake):
    (queries := offline.feeds.parent / "queries").mkdir()
    shutil.copy(QUERIES / "metric-summaries.yaml", queries)
    assert client.get("/health").json()["remedies"] == []
    for table in (f"detector/{feed.table}", "events/metrics", "events/other"):
        log = lake / table / "_delta_log"
        log.mkdir(parents=True)
        (log / "00000000000000000000.json").write_text("{")
    client.app.state.sundial.tables.lake.renew()
    body = client.get("/health").json()
    of_feed, of_events = body["remedies"]
    assert (body["status"], body["declaration_mistakes"]) == ("degraded", [])
    assert of_feed.startswith(f"Tables of feed {feed.name} can't be read: detector: ")
    assert of_events.startswith("Table events/metrics can't be read: ")
    assert of_events.endswith(f". Put its folder in {lake} back from a backup.")
    assert client.get("/api/feeds").json()[0]["unreadable"].startswith("detector: ")


def test_health_says_which_services_found_no_room(offline, feed, lake):
    app = create_app(replace(offline, services_per_feed=2))
    client, state = TestClient(app, base_url="http://127.0.0.1"), app.state.sundial
    world.promote(lake, feed, {"a": 100.0})
    state.lake_watch.look()
    for service in ("a", "x" * 200, "y", "z"):
        state.memory.put_reading(feed.name, service, Reading(1, 5, None, None, None, False, -1))
    body = client.get("/health").json()
    assert body["crowded"] == [{"feed": feed.name, "evicted_services": 2, "turned_away_readings": 0, "example": "y"}]
    assert body["remedies"] == [
        f"Feed {feed.name} has more services than the 2 of which serving keeps readings; 'y', for example, has none. "
        "Stop what sends names that are made up, or set SUNDIAL_SERVICES_PER_FEED to a higher number and start serving again."
    ]
    world.promote(lake, feed, dict.fromkeys(("a", "z", "b"), 100.0))
    until("the promotion is seen", lambda: len(state.tables.services(feed)) == 3)
    state.lake_watch.look()
    state.memory.put_reading(feed.name, "b", Reading(1, 5, None, None, None, False, -1))
    body = client.get("/health").json()
    assert body["crowded"] == [{"feed": feed.name, "evicted_services": 2, "turned_away_readings": 1, "example": "b"}]
    assert "'b', for example, has none. The baseline in force alone knows 3 services. Stop what" in body["remedies"][0]


def test_a_feed_that_was_crowded_long_ago_is_well(client, feed, monkeypatch):
    state = client.app.state.sundial
    for number in range(state.settings.services_per_feed + 1):
        state.memory.put_reading(feed.name, str(number), Reading(1, 5, None, None, None, False, -1))
    assert client.get("/health").json()["status"] == "degraded"
    monkeypatch.setattr(health, "CROWDED", 0.0)
    body = client.get("/health").json()
    assert (body["status"], body["crowded"][0]["example"]) == ("ok", "0")
