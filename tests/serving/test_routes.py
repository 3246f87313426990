"""The API without a broker: what is checked, what is refused, what the answers carry."""

import datetime as dt

import pytest
from fastapi.testclient import TestClient

from serving.app import create_app
from serving.memory import Anomaly, Reading
from tests.serving import world
from tests.serving.conftest import declare, problem

NOON = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


def test_with_nothing_there_everything_says_none_yet(client, feed):
    assert client.get("/api/feeds").json() == [client.get(f"/api/feeds/{feed.name}").json()]
    info = client.get(f"/api/feeds/{feed.name}").json()
    assert (info["services"], info["newest_at"], info["anomalies"], info["baseline_version"]) == (0, None, 0, None)
    assert info["rule"] == {"normal": "plain", "percent": 5.0, "spread": 6.0, "minimum": 20.0}
    assert client.get(f"/api/feeds/{feed.name}/services").json() == []
    assert client.get(f"/api/feeds/{feed.name}/anomalies").json() == []
    assert client.get(f"/api/feeds/{feed.name}/incidents").json() == []
    nothing = {"version": None, "in_force": None, "special_days": [], "history": []}
    assert client.get(f"/api/feeds/{feed.name}/baseline").json() == nothing
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
    for path in ("services/a%2Fb/series", "services/a%2Fb/newest", "anomalies?service=a%2Fb"):
        body = problem(client.get(f"/api/feeds/{feed.name}/{path}"), 404, "unknown-service")
        assert "'a/b'" in body["detail"]
    problem(client.get(f"/api/events?feed={feed.name}&service=x"), 404, "unknown-service")
    problem(client.get("/api/events?feed=x"), 404, "unknown-feed")
    assert "feed" in problem(client.get("/api/events?service=x"), 422, "invalid-parameter")["detail"]


def test_a_service_has_its_newest_reading_and_one_that_only_the_baseline_knows_has_none(client, feed, lake):
    world.promote(lake, feed, {"a/b": 100.0, "quiet": 50.0}, days=[1])
    at = round(NOON.timestamp() * 1000)
    for value, when in ((1, at), (3, at + 20_000), (2, at + 10_000)):
        client.app.state.sundial.memory.put_reading(feed.name, "a/b", Reading(when, value, 100.0, None, float(value), True, 0))
    found, none = (client.get(f"/api/feeds/{feed.name}/services/{name}/newest").json() for name in ("a%2Fb", "quiet"))
    assert [found, none] == client.get(f"/api/feeds/{feed.name}/services").json()
    newest = ("a/b", "2026-07-01T12:00:20Z", 3, 100.0, 3.0, True, True)
    assert tuple(found[name] for name in ("name", "at", "value", "expected", "pct", "anomalous", "in_baseline")) == newest
    assert (none["name"], none["at"], none["value"], none["in_baseline"]) == ("quiet", None, None, True)


@pytest.mark.parametrize(
    "query", ["services/a/series?minutes=0", "services/a/series?minutes=x", "anomalies?limit=501", "baseline?limit=0"]
)
def test_parameters_out_of_range_are_refused(client, feed, query):
    assert (
        query.split("?")[1].split("=")[0]
        in problem(client.get(f"/api/feeds/{feed.name}/{query}"), 422, "invalid-parameter")["detail"]
    )


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


@pytest.mark.parametrize("table", ["baseline", "history"])
def test_a_damaged_table_says_so_and_leaves_the_other_feeds_and_what_is_live(declared, offline, lake, feed, table):
    other = feed.model_copy(update={"name": "other"})
    declare(declared, other)
    app = create_app(offline)
    client = TestClient(app, base_url="http://127.0.0.1")
    for each in (feed, other):
        world.promote(lake, each, {"of the baseline": 1.0})
        world.archive(lake, each, {("archived", NOON): 5})
        app.state.sundial.memory.put_reading(each.name, "live", Reading(1, 5, None, None, None, False, -1))
    (lake / table / feed.table / "_delta_log" / "00000000000000000000.json").write_text("{")
    found = {each["name"]: each for each in client.get("/api/feeds").json()}
    whole = {"services": 3, "newest_at": "2026-07-01T12:00:00Z", "baseline_version": 0, "unreadable": None}
    assert {field: found["other"][field] for field in whole} == whole
    lost = {"baseline_version": None} if table == "baseline" else {"newest_at": "1970-01-01T00:00:00.001000Z"}
    reason = found[feed.name]["unreadable"]
    assert reason.startswith(f"{table}: Kernel error: Json error")
    assert "\n" not in reason, "it is the reason, without Delta's own stack"
    assert {field: found[feed.name][field] for field in whole} == whole | {"services": 2, "unreadable": reason} | lost
    assert client.get(f"/api/feeds/{feed.name}").json() == found[feed.name]
    names = {each["name"] for each in client.get(f"/api/feeds/{feed.name}/services").json()}
    assert names == {"live", "archived", "of the baseline"} - {"of the baseline" if table == "baseline" else "archived"}
    assert client.get(f"/api/feeds/{feed.name}/anomalies?service=live").status_code == 200
    (remedy,) = [each for each in client.get("/health").json()["remedies"] if "Tables of feed" in each]
    assert remedy.startswith(f"Tables of feed {feed.name} can't be read: {reason}.")


def test_only_the_declared_methods(client):
    problem(client.post("/api/feeds"), 405, "http")
