"""The API of baselines: how each version came to be in force, and what the gate found."""

import datetime as dt

from fastapi.testclient import TestClient

from contracts.public_holidays import Holidays
from serving.app import create_app
from tests.serving import world
from tests.serving.conftest import declare


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


def test_holidays_and_special_days_say_what_they_are_taken_for_and_why(offline, feed, lake):
    """Thanksgiving by evidence; the sale by an entry, whatever the baseline knows; Christmas is three weeks off."""
    world.promote(
        lake,
        feed,
        {"a": 10.0},
        as_of="2026-11-24",
        special_days={"2026-11-11": "weekday", "2026-11-26": "weekday", "2026-11-27": "weekday"},
        special_days_why={"2026-11-11": "of old", "2026-11-26": "<b>all</b> others were"},
    )
    calendar = offline.feeds.parent / "calendar"
    calendar.mkdir()
    entry = "name: {}\ndescription: of a test\nfeeds: [" + feed.name + "]\ndates: [{}]\n"
    (calendar / "sale.yaml").write_text(entry.format("sale", "2026-11-27") + "like: itself\n")
    (calendar / "release.yaml").write_text(entry.format("release", "2026-12-01"))
    declare(offline.feeds, feed.model_copy(update={"holidays": Holidays(country="US")}))
    client = TestClient(create_app(offline), base_url="http://127.0.0.1")
    found = client.get(f"/api/feeds/{feed.name}/baseline").json()["special_days"]
    undecided = "as declared: the baseline in force did not decide on it"
    assert [tuple(each.values()) for each in found] == [
        ("2026-12-01", "release", "weekday", undecided),
        ("2026-11-27", "sale", "itself", "as sale.yaml declares"),
        ("2026-11-26", "Thanksgiving Day", "weekday", "<b>all</b> others were"),
        ("2026-11-11", "Veterans Day", "weekday", "of old"),
    ]


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
