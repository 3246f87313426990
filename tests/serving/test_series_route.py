"""GET …/series, without a broker: the window, what is expected in it, and what is refused."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from serving.memory import Reading
from serving.state import State
from tests.serving import world
from tests.serving.conftest import bucket_rows, problem, readings, served
from tests.support.waiting import until

NOON = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


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


def test_a_service_that_history_has_but_not_on_its_newest_dates_is_known(client, feed, lake):
    days = {("a", NOON - dt.timedelta(days=back)): 5 for back in (3, 10, 17)}
    world.archive(lake, feed, days | {("b", NOON - dt.timedelta(days=back)): 6 for back in (0, 1)})
    query = {"from": (NOON - dt.timedelta(days=20)).isoformat(), "to": NOON.isoformat(), "width": 4000}
    found = client.get(f"/api/feeds/{feed.name}/services/a/series", params=query)
    assert found.status_code == 200
    assert sum(each["count"] for each in bucket_rows(found.json())) == 3
    assert [each["name"] for each in client.get(f"/api/feeds/{feed.name}/services").json()] == ["a", "b"]


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


def test_a_kept_answer_waits_for_no_long_read(offline, feed, lake, monkeypatch):
    world.archive(lake, feed, {("a", NOON): 5, ("b", NOON): 6})
    query = {"from": (NOON - dt.timedelta(days=2)).isoformat(), "to": NOON.isoformat()}
    begun, goes_on, read = threading.Event(), threading.Event(), State.read

    def slow(state, feed, long, work, service, *arguments):
        if service == "b":
            begun.set()
            goes_on.wait(60)
        return read(state, feed, long, work, service, *arguments)

    monkeypatch.setattr(State, "read", slow)
    with served(offline) as (url, _), ThreadPoolExecutor(1) as pool:
        a, b = (f"{url}/api/feeds/{feed.name}/services/{service}/series" for service in "ab")
        first, other = httpx.get(a, params=query, timeout=20), pool.submit(httpx.get, b, params=query, timeout=60)
        try:
            assert begun.wait(20)
            assert (first.status_code, httpx.get(a, params=query, timeout=20).content) == (200, first.content)
        finally:
            goes_on.set()
        assert list(readings(other.result(20).json()).values()) == [6]


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
