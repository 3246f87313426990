"""Readings one by one: merged from history and memory, judged as in the series, page by page."""

import datetime as dt

import pyarrow as pa
import pytest

from serving.memory import Reading
from serving.rows import ARROW
from tests.serving import world
from tests.serving.conftest import bucket_rows, problem
from tests.serving.test_pagination import pages

NOON = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
WINDOW = "from=2026-07-01T11:00:00Z&to=2026-07-01T13:00:00Z"
STEP = dt.timedelta(seconds=10)


def epoch(at: dt.datetime) -> int:
    return round(at.timestamp() * 1000)


@pytest.fixture
def path(client, feed, lake):
    """A service with six readings: four of history, of which one is scored, too, and two that only the stream has."""
    world.promote(lake, feed, {"a/b": 10.0})
    world.archive(lake, feed, {("a/b", NOON + number * STEP): 10 + number for number in range(4)})
    world.archive(lake, feed, {("a/b", NOON + dt.timedelta(hours=2)): 99})
    for number, anomalous in ((3, True), (4, False), (5, True)):
        reading = Reading(epoch(NOON + number * STEP), 10 + number, 45.0, 1.0, 50.0, anomalous, 7, taken=1)
        client.app.state.sundial.memory.put_reading(feed.name, "a/b", reading)
    return f"/api/feeds/{feed.name}/services/a%2Fb"


def test_each_reading_is_there_once_with_its_verdict(client, feed, path):
    rows = client.get(f"{path}/readings?{WINDOW}").json()
    assert [(row["at"], row["value"]) for row in rows] == [
        (f"2026-07-01T12:00:{10 * number:02}Z", 10 + number) for number in range(6)
    ]
    assert [(row["expected"], row["anomalous"], row["baseline_version"]) for row in rows[3:]] == [
        (45.0, True, 7),
        (45.0, False, 7),
        (45.0, True, 7),
    ]
    slot = 8 * 360  # eight o'clock in New York
    assert [row["expected"] for row in rows[:3]] == pytest.approx(
        [world.shape(slot + each, feed.slots, 10.0) for each in range(3)]
    )
    assert {row["baseline_version"] for row in rows[:3]} == {0}


@pytest.mark.parametrize(
    "asked", [f"readings?{WINDOW}", f"series?{WINDOW}", "series?from=2026-06-29T00:00:00Z&to=2026-07-02T00:00:00Z"]
)
def test_a_file_of_history_that_is_gone_is_named(client, feed, lake, path, asked):
    for file in (lake / "history" / feed.table).rglob("*.parquet"):
        file.unlink()
    answer = client.get(f"{path}/{asked}")
    problem(answer, 503, "no-lake")
    assert f"/history/{feed.table}/" in answer.json()["detail"]


def test_they_are_those_of_the_series(client, path):
    buckets = bucket_rows(client.get(f"{path}/series?{WINDOW}").json())
    rows = client.get(f"{path}/readings?{WINDOW}").json()
    of_series = [(each["at"], each["mean"], each["expected"], each["low"], each["high"]) for each in buckets if each["count"]]
    assert of_series == [
        (dt.datetime.fromisoformat(row["at"]), row["value"], row["expected"], row["low"], row["high"]) for row in rows
    ]


def test_pages_have_each_reading_once(client, path):
    whole = client.get(f"{path}/readings?{WINDOW}").json()
    found = pages(client, f"{path}/readings?{WINDOW}&limit=2")
    assert [len(page) for page in found] == [2, 2, 2]
    assert [row for page in found for row in page] == whole


def test_as_arrow_they_have_types(client, path):
    found = pa.ipc.open_stream(client.get(f"{path}/readings?{WINDOW}", headers={"Accept": ARROW}).content).read_all()
    assert found.schema.field("at").type == pa.timestamp("ms", "UTC")
    assert found["at"].to_pylist() == [NOON + number * STEP for number in range(6)]
    assert found["anomalous"].to_pylist()[3:] == [True, False, True]


def test_the_series_as_rows_has_its_buckets(client, path):
    url = f"{path}/series?{WINDOW}&width=10"
    found = pa.ipc.open_stream(client.get(url, headers={"Accept": ARROW}).content).read_all()
    assert found.to_pylist() == bucket_rows(client.get(url).json())
    etags = {client.get(url, headers={"Accept": each}).headers["etag"] for each in (ARROW, "text/csv", "*/*")}
    assert len(etags) == 3
    again = client.get(
        url, headers={"Accept": ARROW, "If-None-Match": client.get(url, headers={"Accept": ARROW}).headers["etag"]}
    )
    assert (again.status_code, again.headers["vary"]) == (304, "Accept")


def test_a_window_without_readings_has_no_rows(client, path):
    assert client.get(f"{path}/readings?minutes=1&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z").json() == []


def test_a_window_that_ends_now_ends_with_the_newest_reading_of_a_replay(client, path):
    assert [row["value"] for row in client.get(f"{path}/readings?minutes=120").json()] == [*range(10, 16), 99]


@pytest.mark.parametrize("query", ["from=2026-07-01T14:00:00Z", "to=2026-07-01T14:00:00Z"])
def test_half_a_window_is_refused(client, path, query):
    problem(client.get(f"{path}/readings?{query}"), 422, "invalid-window")
