"""What a candidate would change: its difference from the version that the gate compared it with, and what it expects by slot."""

import datetime as dt
import shutil

import pytest
from deltalake import DeltaTable

from serving import lake as lake_module
from tests.serving import world
from tests.serving.conftest import problem
from tests.serving.test_pagination import pages

MONDAY, SUNDAY = 1, 7
JUDGED = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)


@pytest.fixture
def judge(lake, feed):
    """judge(candidate, compared_with): the gate refuses the candidate, a minute after the one before."""
    minutes = iter(range(1000))

    def refuse(candidate: int, compared_with: int | None) -> None:
        minute = next(minutes)
        at = JUDGED + dt.timedelta(minutes=minute)
        world.gate_result(lake, feed, f"night-{minute}", False, [], at, candidate, compared_with)

    return refuse


@pytest.fixture
def diff(client, feed):
    """diff(query): the rows of a difference."""

    def rows(query: str) -> list[dict]:
        answer = client.get(f"/api/feeds/{feed.name}/baseline/diff?{query}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    return rows


def test_a_candidate_is_compared_with_what_the_gate_compared_it_with(diff, lake, feed, judge):
    world.promote(lake, feed, {"same": 10.0, "moved": 10.0, "gone": 10.0})
    candidate = world.build(lake, feed, scales={"same": 10.0, "moved": 15.0, "new": 10.0})
    judge(candidate, 0)
    world.promote(lake, feed, {"same": 10.0, "moved": 30.0})
    rows = diff(f"candidate={candidate}")
    expected = {"gone": "removed", "moved": "changed", "new": "added"}
    days = range(MONDAY, SUNDAY + 1)
    assert [(row["service"], row["day_type"], row["change"]) for row in rows] == [
        (service, day, change) for service, change in expected.items() for day in days
    ]
    mean = sum(world.shape(slot, feed.slots, 10.0) for slot in range(feed.slots)) / feed.slots
    moved = rows[7]
    assert (moved["slots"], moved["largest_at"]) == (feed.slots, "14:24:00")
    assert (moved["mean_before"], moved["mean_after"], moved["pct"]) == pytest.approx((mean, 1.5 * mean, 150.0))
    assert moved["largest"] == pytest.approx(max(world.shape(slot, feed.slots, 5.0) for slot in range(feed.slots)))
    assert [row["pct"] for row in diff(f"from=1&candidate={candidate}") if row["service"] == "moved"] == [pytest.approx(50.0)] * 7


def test_a_version_and_a_candidate_of_the_same_number_are_two(diff, lake, feed):
    for scale in (10.0, 20.0):
        world.promote(lake, feed, {"a": scale})
        world.build(lake, feed, scales={"a": 2 * scale})
    assert [row["pct"] for row in diff("from=0&to=1")] == [pytest.approx(200.0)] * 7
    assert [row["pct"] for row in diff("from=0&candidate=1")] == [pytest.approx(400.0)] * 7
    assert [row["pct"] for row in diff("from=0&candidate=0")] == [pytest.approx(200.0)] * 7


def test_a_candidate_that_is_built_from_the_beginning_is_read_again(diff, lake, feed):
    world.promote(lake, feed, {"a": 10.0})
    world.build(lake, feed, scales={"a": 20.0})
    assert diff("candidate=0")[0]["pct"] == pytest.approx(200.0)
    shutil.rmtree(lake / "baseline_candidate")
    world.build(lake, feed, scales={"a": 30.0})
    assert diff("candidate=0")[0]["pct"] == pytest.approx(300.0)


def test_day_types_made_from_the_same_inputs_do_not_differ(diff, lake, feed):
    inputs = {str(day): "then" for day in range(1, 8)}
    world.promote(lake, feed, {"a": 10.0}, inputs=inputs)
    world.build(lake, feed, scales={"a": 20.0}, inputs=inputs | {"3": "now"})
    assert [row["day_type"] for row in diff("candidate=0")] == [3], "the others hold the same rows, so they are not read"
    world.build(lake, feed, scales={"a": 20.0}, inputs=None)
    assert [row["day_type"] for row in diff("candidate=1")] == list(range(1, 8)), "of what it is made is not known"


@pytest.mark.parametrize("judged", [None, -1])
def test_where_the_gate_compared_with_nothing_known_the_version_in_force_counts(diff, lake, feed, judge, judged):
    world.promote(lake, feed, {"a": 10.0})
    world.promote(lake, feed, {"a": 20.0})
    candidate = world.build(lake, feed, scales={"a": 30.0})
    assert diff(f"candidate={candidate}")[0]["pct"] == pytest.approx(150.0), "it is not judged yet"
    judge(candidate, judged)
    assert diff(f"candidate={candidate}")[0]["pct"] == pytest.approx(150.0)
    judge(candidate, 0)
    assert diff(f"candidate={candidate}")[0]["pct"] == pytest.approx(300.0), "the newest verdict counts"


def test_a_gate_result_says_what_it_compared_with(client, lake, feed, judge):
    for compared_with in (None, -1, 4):
        judge(3, compared_with)
    found = client.get(f"/api/feeds/{feed.name}/gate-results").json()
    assert [each["compared_with"] for each in found] == [4, None, None]


def test_a_candidate_says_what_it_expects_of_a_service_by_slot(client, lake, feed):
    world.promote(lake, feed, {"a": 10.0})
    world.build(lake, feed, scales={"a": 20.0, "new": 5.0})
    path = f"/api/feeds/{feed.name}/services"
    row = client.get(f"{path}/a/baseline?candidate=0&day_type=7&limit=2").json()[1]
    average = pytest.approx(world.shape(1, feed.slots, 20.0))
    assert (row["day_type"], row["slot"], row["local_time"]) == (SUNDAY, 1, "00:00:10")
    assert (row["expected"], row["last4avg"], row["samples"], row["spread"]) == (average, average, 4, 0.4)
    new = client.get(f"{path}/new/baseline?candidate=0&day_type=1&limit=1").json()
    assert new[0]["spread"] == 0.1, "a service that only the candidate knows"
    assert client.get(f"{path}/new/baseline?version=0&day_type=1").json() == []
    problem(client.get(f"{path}/nobody/baseline?candidate=0"), 404, "unknown-service")


def test_a_difference_of_a_candidate_has_pages_that_no_cache_keeps(client, lake, feed):
    world.promote(lake, feed, {"a": 10.0, "b": 10.0})
    world.build(lake, feed, scales={"a": 20.0, "b": 5.0})
    path = f"/api/feeds/{feed.name}/baseline/diff?candidate=0"
    found = pages(client, f"{path}&limit=10")
    assert ([len(page) for page in found], [row for page in found for row in page]) == ([10, 4], client.get(path).json())
    assert client.get(path).headers["cache-control"] == "no-store"


def test_a_candidate_whose_files_are_deleted_is_gone(client, diff, lake, feed):
    world.promote(lake, feed, {"a": 10.0})
    for scale in (20.0, 30.0):
        world.build(lake, feed, scales={"a": scale})
    table = DeltaTable(str(lake / "baseline_candidate" / feed.table))
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    for path in ("baseline/diff?candidate=0", "services/a/baseline?candidate=0"):
        body = problem(client.get(f"/api/feeds/{feed.name}/{path}"), 410, "version-gone")
        assert body["detail"].startswith(f"The files of candidate 0 of {feed.name} were deleted")
        assert "--keep-days" in body["remedy"]
    assert diff("candidate=1")[0]["pct"] == pytest.approx(300.0)


def test_a_candidate_that_never_was_is_refused_with_those_that_were(client, lake, feed):
    path = f"/api/feeds/{feed.name}"
    assert "none yet" in problem(client.get(f"{path}/baseline/diff?candidate=0"), 404, "unknown-version")["remedy"]
    world.build(lake, feed, scales={"a": 20.0})
    body = problem(client.get(f"{path}/baseline/diff?candidate=0"), 404, "unknown-version")
    assert body["detail"].endswith("that was in force before candidate 0.")
    world.promote(lake, feed, {"a": 10.0})
    for query in ("baseline/diff?candidate=5", "baseline/diff?from=0&candidate=5", "services/a/baseline?candidate=5"):
        body = problem(client.get(f"{path}/{query}"), 404, "unknown-version")
        assert (body["detail"], body["remedy"][-3:]) == (f"Feed {feed.name} has no candidate 5.", " 0.")
    body = problem(client.get(f"{path}/baseline/diff?from=7&candidate=0"), 404, "unknown-version")
    assert body["detail"] == f"Feed {feed.name} has no version 7 of the baseline."


@pytest.mark.parametrize("query", ["baseline/diff?to=0&candidate=0", "services/a/baseline?version=0&candidate=0"])
def test_a_version_and_a_candidate_can_not_be_asked_for_at_once(client, lake, feed, query):
    world.promote(lake, feed, {"a": 10.0})
    world.build(lake, feed, scales={"a": 20.0})
    path = f"/api/feeds/{feed.name}"
    body = problem(client.get(f"{path}/{query}"), 422, "invalid-parameter")
    assert body["detail"].endswith("candidate: only one of them can be asked for.")
    for wrong in ("-1", "x", str(2**53)):
        problem(client.get(f"{path}/baseline/diff?candidate={wrong}"), 422, "invalid-parameter")
