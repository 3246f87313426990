"""The API of baselines: how each version came to be in force, and what the gate found."""

import datetime as dt

from tests.serving import world


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
