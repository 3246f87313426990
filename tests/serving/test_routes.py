"""The API without a broker: what is checked, what is refused, what the answers carry."""

import datetime as dt
import json
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from serving import health
from serving.app import create_app
from serving.events import INCIDENT, SCORED, Event
from serving.memory import Anomaly, Reading
from serving.routes import event_json
from tests.serving import world
from tests.serving.conftest import bucket_rows, problem, readings
from tests.serving.test_incidents import of
from tests.support.waiting import until


def test_with_nothing_there_everything_says_none_yet(client, feed):
    assert client.get("/api/feeds").json() == [client.get(f"/api/feeds/{feed.name}").json()]
    info = client.get(f"/api/feeds/{feed.name}").json()
    assert (info["services"], info["newest_at"], info["anomalies"], info["baseline_version"]) == (0, None, 0, None)
    assert info["rule"] == {"normal": "plain", "percent": 5.0, "spread": 6.0, "minimum": 20.0}
    assert client.get(f"/api/feeds/{feed.name}/services").json() == []
    assert client.get(f"/api/feeds/{feed.name}/anomalies").json() == []
    assert client.get(f"/api/feeds/{feed.name}/incidents").json() == []
    assert client.get(f"/api/feeds/{feed.name}/baseline").json() == {"version": None, "in_force": None, "history": []}
    assert client.get(f"/api/feeds/{feed.name}/gate-results").json() == []
    assert client.get("/api/streams").json() == []


@pytest.mark.parametrize(
    "path", ["", "/services", "/services/a/series", "/anomalies", "/incidents", "/baseline", "/gate-results"]
)
def test_an_undeclared_feed_is_refused(client, feed, path):
    assert feed.name in problem(client.get(f"/api/feeds/nope{path}"), 404, "unknown-feed")["remedy"]


def test_a_path_is_no_feed(client):
    problem(client.get("/api/feeds/..%2F..%2Fetc"), 404, "http")


def test_an_unknown_service_is_refused(client, feed):
    for path in ("services/a%2Fb/series", "anomalies?service=a%2Fb"):
        body = problem(client.get(f"/api/feeds/{feed.name}/{path}"), 404, "unknown-service")
        assert "'a/b'" in body["detail"]
    problem(client.get(f"/api/events?feed={feed.name}&service=x"), 404, "unknown-service")
    problem(client.get("/api/events?feed=x"), 404, "unknown-feed")
    assert "feed" in problem(client.get("/api/events?service=x"), 422, "invalid-parameter")["detail"]


@pytest.mark.parametrize(
    "query", ["services/a/series?minutes=0", "services/a/series?minutes=x", "anomalies?limit=501", "baseline?limit=0"]
)
def test_parameters_out_of_range_are_refused(client, feed, query):
    assert (
        query.split("?")[1].split("=")[0]
        in problem(client.get(f"/api/feeds/{feed.name}/{query}"), 422, "invalid-parameter")["detail"]
    )


def test_a_service_of_the_baseline_alone_has_an_expectation(client, feed, lake):
    name = "a/b </script> ü"
    world.promote(lake, feed, {name: 10.0}, growth=1.2)
    assert [
        (each["name"], each["in_baseline"], each["value"]) for each in client.get(f"/api/feeds/{feed.name}/services").json()
    ] == [(name, True, None)]
    found = client.get(f"/api/feeds/{feed.name}/services/a%2Fb%20%3C%2Fscript%3E%20%C3%BC/series?minutes=10").json()
    assert (found["service"], found["newest"], found["loading"], readings(found)) == (name, None, True, {})
    first, *_, last = bucket_rows(found)
    at = first["at"].astimezone(feed.zone)
    slot = (at.hour * 3600 + at.minute * 60 + at.second) // 10
    assert first["expected"] == pytest.approx(1.2 * world.shape(slot, feed.slots, 10.0))
    assert last["at"] - first["at"] == dt.timedelta(minutes=12.5)


NOON = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


def test_a_window_of_the_past_is_judged_by_the_baseline_in_force(client, feed, lake):
    expected = world.shape(8 * 360, feed.slots, 10.0)  # eight o'clock in New York
    world.archive(lake, feed, {("a", NOON): 40, ("a", NOON - dt.timedelta(minutes=46)): 1})
    query = {"from": "2026-07-01T13:15:00+02:00", "to": "2026-07-01T12:15:00Z"}
    path = f"/api/feeds/{feed.name}/services/a/series"
    before = client.get(path, params=query).json()
    assert (before["start"], before["end"], before["until"], before["live"]) == (
        "2026-07-01T11:15:00Z",
        "2026-07-01T12:15:00Z",
        "2026-07-01T12:15:00Z",
        False,
    )
    assert readings(before) == {NOON: 40}
    assert (before["newest"]["expected"], before["newest"]["anomalous"]) == (None, False), "no baseline was promoted yet"
    world.promote(lake, feed, {"a": 10.0})
    until("the promotion is seen", lambda: client.get(path, params=query).json() != before)
    found = client.get(path, params=query).json()
    [point] = [each for each in bucket_rows(found) if each["count"]]
    assert (point["at"], point["max"], point["anomalies"], point["expected"]) == (NOON, 40, 1, pytest.approx(expected))
    assert (found["newest"]["pct"], found["newest"]["baseline_version"]) == (pytest.approx(4000 / expected), 0)
    assert [each["expected"] is None for each in bucket_rows(found)] == [False] * 361
    everything = client.get(path, params=query | {"width": 10}).json()
    assert (len(bucket_rows(everything)), everything["bucket_seconds"], max(readings(everything).values())) == (10, 400, 40)


def test_five_weeks_keep_every_spike(client, feed, lake):
    spikes = {("a", NOON - dt.timedelta(days=day, seconds=10 * day)): 1000 + day for day in range(35)}
    quiet = {("a", NOON - dt.timedelta(hours=hour)): 5 for hour in range(1, 24 * 35) if hour % 24}
    world.archive(lake, feed, spikes | quiet)
    query = {"from": (NOON - dt.timedelta(days=35)).isoformat(), "to": NOON.isoformat(), "width": 400}
    found = client.get(f"/api/feeds/{feed.name}/services/a/series", params=query).json()
    highest = [each["max"] for each in bucket_rows(found) if each["count"] and each["max"] > 5]
    assert (sorted(highest), found["bucket_seconds"]) == ([1000 + day for day in range(35)], 8640)
    assert sum(each["count"] for each in bucket_rows(found)) == len(spikes) + len(quiet)


@pytest.mark.parametrize(
    ("query", "kind", "named"),
    [
        ("from=2026-07-01T14:00:00", "invalid-parameter", "from"),
        ("to=9999-12-31T23:59:59-12:00", "invalid-parameter", "to"),
        ("from=0001-01-01T00:00:00Z", "invalid-parameter", "from"),
        ("width=9", "invalid-parameter", "width"),
        ("minutes=50401", "invalid-parameter", "minutes"),
        ("from=2026-07-01T14:00:00Z", "invalid-window", "to is None"),
        ("from=2026-07-01T14:00:00Z&to=2026-07-01T14:00:00Z", "invalid-window", "from is 2026-07-01T14:00:00+00:00"),
        ("from=2026-05-01T00:00:00Z&to=2026-07-01T00:00:00Z", "invalid-window", "from is 2026-05-01"),
    ],
)
def test_a_window_that_is_none_is_refused(client, feed, query, kind, named):
    body = problem(client.get(f"/api/feeds/{feed.name}/services/a/series?{query}"), 422, kind)
    assert named in body["detail"]


def test_an_answer_that_did_not_change_is_not_sent_again(client, feed):
    state, at = client.app.state.sundial, round(NOON.timestamp() * 1000)
    state.memory.put_reading(feed.name, "a", Reading(at, 90, 45.0, 1.0, 200.0, True, 3))
    path = f"/api/feeds/{feed.name}/services/a/series?from=2026-07-01T11:00:00Z&to=2026-07-01T12:00:00Z"
    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    state.memory.put_reading(feed.name, "a", Reading(at, 91, 45.0, 1.0, 200.0, True, 3))
    corrected = client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (corrected.status_code, readings(corrected.json())) == (200, {NOON: 91})


def test_anomalies_carry_the_feeds_own_time(client, feed):
    at = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    memory = client.app.state.sundial.memory
    memory.put_reading(feed.name, "a", Reading(round(at.timestamp() * 1000), 90, 45.0, 1.0, 200.0, True, 3))
    memory.put_anomaly(feed.name, Anomaly("a", round(at.timestamp() * 1000), 90, 45.0, 1.0, 200.0, 3))
    (found,) = client.get(f"/api/feeds/{feed.name}/anomalies?service=a").json()
    assert found == {
        "feed": feed.name,
        "service": "a",
        "at": "2026-07-01T12:00:00Z",
        "at_local": "2026-07-01T08:00:00-04:00",
        "value": 90,
        "expected": 45.0,
        "spread": 1.0,
        "pct": 200.0,
        "baseline_version": 3,
    }


def test_incidents_say_who_judged_them_when_and_why(client, feed, lake):
    state, at = client.app.state.sundial, dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    start = round(at.timestamp() * 1000)
    for service in ("a", "b", "c"):
        state.incidents.put(feed.name, of(service, start))
    world.say(lake, feed, 1, "exclude", at, ServiceName="b")
    world.say(lake, feed, 2, "false", IncidentId=f"a@{start}")
    found = {each["service"]: each["verdict"] for each in client.get(f"/api/feeds/{feed.name}/incidents").json()}
    said = {"by": "mara", "at": "2026-11-21T09:30:00Z", "reason": "a drill"}
    assert found == {"a": {"statement": 2, "kind": "false"} | said, "b": {"statement": 1, "kind": "exclude"} | said, "c": None}
    scored = event_json(feed, Event(SCORED, feed.name, "a", Reading(start, 90, 45.0, 1.0, 200.0, True, 3)))
    assert {name: json.loads(scored)[name] for name in ("feed", "service", "value")} == {
        "feed": feed.name,
        "service": "a",
        "value": 90,
    }
    event = Event(INCIDENT, feed.name, "a", of("a", start, "closed"))
    assert json.loads(event_json(feed, event, state.tables.statements(feed)))["verdict"] == found["a"]
    world.say(lake, feed, 3, "take_back", TakesBack=2)
    world.say(lake, feed, 4, "acknowledge", IncidentId=f"a@{start}")
    until("it is taken back", lambda: [each.id for each in state.tables.statements(feed)] == [1, 4])
    newest = client.get(f"/api/feeds/{feed.name}/incidents?service=a").json()
    assert [(each["verdict"], each["acknowledgement"]) for each in newest] == [(None, {"statement": 4} | said)]


def test_the_baseline_says_how_each_version_came_to_be(client, feed, lake):
    world.promote(lake, feed, {"a": 10.0}, at="2026-11-20T03:00:00+00:00")
    world.promote(lake, feed, {"a": 10.0}, gate=False, by="omar", reason="a known move", run_id="nightly-2", as_of="2026-11-21")
    world.roll_back(lake, feed, 0, at="2026-11-21T09:30:00+00:00")
    world.keep_up(lake, feed)
    found = client.get(f"/api/feeds/{feed.name}/baseline?limit=3").json()
    assert (found["version"], found["in_force"]) == (2, found["history"][0])
    assert found["in_force"] == {
        "version": 2,
        "kind": "rollback",
        "promoted_at": "2026-11-21T09:30:00Z",
        "by": "mara",
        "reason": "it was worse",
        "gate": True,
        "as_of": "2026-11-20",
        "candidate_version": 3,
        "rolled_back_to": 0,
        "run_id": "rollback-1",
    }
    approved, promoted = found["history"][1:]
    assert (approved["kind"], approved["gate"], approved["by"], approved["as_of"]) == ("promotion", False, "omar", "2026-11-21")
    assert (promoted["version"], promoted["rolled_back_to"]) == (0, None)
    assert client.get(f"/api/feeds/{feed.name}").json()["baseline_version"] == 2


def test_gate_results_carry_severity_and_where_the_docs_are(client, feed, lake):
    start = dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC)
    found = [world.expectation(), world.expectation(success=False, severity="warning")]
    run = "scheduled__2026-11-20T00:00:00+00:00"
    world.gate_result(lake, feed, run, True, found, start)
    world.gate_result(lake, feed, "cleaned-up", True, [], start - dt.timedelta(days=1))
    world.data_docs(lake, feed, run)
    newest, oldest = client.get(f"/api/feeds/{feed.name}/gate-results").json()
    assert (newest["run_id"], newest["success"], newest["expectations"]) == (run, True, found)
    assert newest["docs_url"] == f"/gate/{feed.name}/scheduled__2026-11-20T00%3A00%3A00%2B00%3A00/"
    assert (oldest["run_id"], oldest["docs_url"]) == ("cleaned-up", None)


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


def test_health_says_which_services_found_no_room(offline, feed, lake):
    app = create_app(replace(offline, services_per_feed=2))
    client, state = TestClient(app, base_url="http://127.0.0.1"), app.state.sundial
    world.promote(lake, feed, {"a": 100.0})
    state.baseline_services.look()
    for service in ("a", "x" * 200, "y", "z"):
        state.memory.put_reading(feed.name, service, Reading(1, 5, None, None, None, False, -1))
    body = client.get("/health").json()
    assert body["crowded"] == [{"feed": feed.name, "evicted_services": 2, "turned_away_readings": 0, "example": "y"}]
    assert body["remedies"] == [
        f"Feed {feed.name} has more services than the 2 of which serving keeps readings; 'y', for example, has none. "
        "Stop what sends names that are made up, or raise services_per_feed in serving/settings.py."
    ]
    world.promote(lake, feed, dict.fromkeys(("a", "z", "b"), 100.0))
    until("the promotion is seen", lambda: len(state.tables.services(feed)) == 3)
    state.baseline_services.look()
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


def test_only_the_declared_methods(client):
    problem(client.post("/api/feeds"), 405, "http")
