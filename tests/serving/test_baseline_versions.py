"""Versions of a baseline: what each knows of a service, and what differs between two."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from deltalake import DeltaTable

from serving import lake as lake_module
from serving import long_reads
from serving.archive import series_of
from tests.serving import world
from tests.serving.conftest import problem, served
from tests.serving.test_pagination import pages

MONDAY, SUNDAY = 1, 7


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)


def test_a_version_says_what_it_knows_of_a_service(client, feed, lake):
    world.promote(lake, feed, {"a/b": 10.0, "c": 5.0}, growth=1.2)
    world.promote(lake, feed, {"a/b": 20.0})
    path = f"/api/feeds/{feed.name}/services/a%2Fb/baseline"
    found = client.get(f"{path}?version=0&day_type=7&limit=3").json()
    averages = [world.shape(slot, feed.slots, 10.0) for slot in range(3)]
    assert found == [
        {
            "day_type": SUNDAY,
            "slot": slot,
            "local_time": f"00:00:{10 * slot:02}",
            "expected": pytest.approx(1.2 * averages[slot]),
            "last4avg": pytest.approx(averages[slot]),
            "samples": 4,
            "growth": 1.2,
            "spread": 0.2,
            "level": None,
            "scale": None,
        }
        for slot in range(3)
    ]
    in_force = client.get(f"{path}?day_type=1&limit=1").json()
    assert in_force[0]["expected"] == pytest.approx(world.shape(0, feed.slots, 20.0))


def test_its_pages_have_every_slot_of_every_day_type(client, feed, lake):
    world.promote(lake, feed, {"a": 10.0}, days=[MONDAY, 2])
    found = pages(client, f"/api/feeds/{feed.name}/services/a/baseline?limit=10000")
    assert [len(page) for page in found] == [10_000, 2 * feed.slots - 10_000]
    rows = [(row["day_type"], row["slot"]) for page in found for row in page]
    assert rows == [(day, slot) for day in (MONDAY, 2) for slot in range(feed.slots)]


def test_a_difference_waits_for_no_long_read_and_is_computed_in_the_process_of_those(offline, feed, lake, monkeypatch):
    world.promote(lake, feed, {"a": 10.0}, days=[MONDAY])
    world.promote(lake, feed, {"a": 15.0}, days=[MONDAY])
    begun, goes_on, run, works = threading.Event(), threading.Event(), long_reads.run, []

    def slow(lake, versions, work, *arguments):
        works.append(work.__name__)
        if work is series_of:
            begun.set()
            goes_on.wait(60)
        return run(lake, versions, work, *arguments)

    monkeypatch.setattr(long_reads, "run", slow)
    with served(offline) as (url, _), ThreadPoolExecutor(1) as pool:
        path = f"{url}/api/feeds/{feed.name}"
        long = pool.submit(httpx.get, f"{path}/services/a/series?minutes=10000", timeout=60)
        try:
            assert begun.wait(20)
            for _ in range(2):
                (row,) = httpx.get(f"{path}/baseline/diff", timeout=20).json()
                assert (row["service"], row["pct"]) == ("a", pytest.approx(150))
        finally:
            goes_on.set()
        assert long.result(60).status_code == 200
    assert works == ["series_of", "differences"], "it is kept"


def test_a_difference_has_the_day_types_of_which_something_else_is_expected(client, feed, lake):
    world.promote(lake, feed, {"same": 10.0, "moved": 10.0, "gone": 10.0}, days=[MONDAY, SUNDAY])
    world.promote(lake, feed, {"same": 10.0, "moved": 15.0, "new": 10.0}, days=[MONDAY, SUNDAY])
    rows = client.get(f"/api/feeds/{feed.name}/baseline/diff").json()
    kinds = [(row["service"], row["day_type"], row["change"]) for row in rows]
    expected = {"gone": "removed", "moved": "changed", "new": "added"}
    assert kinds == [(service, day, kind) for service, kind in expected.items() for day in (MONDAY, SUNDAY)]
    gone, moved, new = (row for row in rows if row["day_type"] == MONDAY)
    mean = sum(world.shape(slot, feed.slots, 10.0) for slot in range(feed.slots)) / feed.slots
    peak = max(world.shape(slot, feed.slots, 5.0) for slot in range(feed.slots))
    assert moved["slots"] == feed.slots
    assert (moved["mean_before"], moved["mean_after"], moved["pct"]) == pytest.approx((mean, 1.5 * mean, 150.0))
    assert (moved["largest"], moved["largest_at"]) == (pytest.approx(peak), "14:24:00")
    assert (gone["mean_before"], gone["mean_after"], gone["pct"], gone["slots"]) == (pytest.approx(mean), None, None, None)
    assert (new["mean_before"], new["mean_after"], new["largest_at"]) == (None, pytest.approx(mean), None)
    back = client.get(f"/api/feeds/{feed.name}/baseline/diff?from=1&to=0").json()
    assert [row["largest"] for row in back if row["service"] == "moved"] == [pytest.approx(-peak)] * 2
    found = pages(client, f"/api/feeds/{feed.name}/baseline/diff?limit=4")
    assert ([len(page) for page in found], [row for page in found for row in page]) == ([4, 2], rows)


def test_upkeep_and_a_rollback_change_nothing_that_is_expected(client, feed, lake):
    world.promote(lake, feed, {"a": 10.0})
    world.promote(lake, feed, {"a": 20.0})
    world.roll_back(lake, feed, 0)
    path = f"/api/feeds/{feed.name}/baseline/diff"
    assert client.get(f"{path}?from=0").json() == []
    assert [row["pct"] for row in client.get(path).json()] == [pytest.approx(50.0)] * 7
    world.keep_up(lake, feed)
    assert client.get(f"/api/feeds/{feed.name}/services/a/baseline?limit=1").json()[0]["spread"] == 0.2


def test_a_version_whose_files_are_deleted_is_gone(client, feed, lake):
    world.promote(lake, feed, {"a": 10.0})
    world.promote(lake, feed, {"a": 20.0})
    DeltaTable(world.baseline_path(lake, feed)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    for path in ("baseline/diff", "services/a/baseline?version=0"):
        assert "--keep-days" in problem(client.get(f"/api/feeds/{feed.name}/{path}"), 410, "version-gone")["remedy"]
    assert client.get(f"/api/feeds/{feed.name}/services/a/baseline?version=1&limit=1").json()[0]["spread"] == 0.4


def test_a_version_that_never_was_is_refused_with_those_that_were(client, feed, lake):
    path = f"/api/feeds/{feed.name}/baseline/diff"
    assert "before now" in problem(client.get(path), 404, "unknown-version")["detail"]
    world.promote(lake, feed, {"a": 10.0}, at=dt.datetime.now(dt.UTC).isoformat())
    assert "before version 0" in problem(client.get(path), 404, "unknown-version")["detail"]
    for query in (f"{path}?from=0&to=5", f"/api/feeds/{feed.name}/services/a/baseline?version=5"):
        body = problem(client.get(query), 404, "unknown-version")
        assert (body["detail"], body["remedy"][-3:]) == (f"Feed {feed.name} has no version 5 of the baseline.", " 0.")
    problem(client.get(f"{path}?from=-1"), 422, "invalid-parameter")
