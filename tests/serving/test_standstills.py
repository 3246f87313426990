"""A thread or process of serving that has died or stands still is in /health, with what to do."""

import threading
import time

import pytest
from fastapi.testclient import TestClient

from serving import long_reads
from serving.long_lived import LongLived
from serving.query_tables.topic_table import TopicTable
from tests.serving.test_long_reads import run
from tests.support.waiting import until

DIES = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def remedies(client: TestClient) -> list[str]:
    return client.get("/health").json()["remedies"]


@pytest.fixture
def goes_on():
    """What hangs goes on when the test ends."""
    event = threading.Event()
    yield event
    event.set()


def naps(archive, feed, seconds: float) -> None:
    time.sleep(seconds)


def test_a_thread_that_takes_its_turns_stands_not_still_and_one_that_was_stopped_neither():
    thread = LongLived("works", lambda: None, patience=0.05)
    assert thread.standstill() is None
    thread = LongLived("works", lambda: turns(thread), patience=0.05)
    thread.start()
    thread.stop()
    time.sleep(0.1)
    assert thread.standstill() is None


def turns(thread: LongLived) -> None:
    while not thread.ending.wait(0.01):
        thread.turns()


@DIES
def test_a_thread_that_died_is_said_at_once(client):
    state = client.app.state.sundial

    def ends() -> None:
        raise SystemExit

    assert client.get("/health").json()["standstills"] == []
    state.backlog._feeds = state.lake_watch._feeds = ends
    state.backlog.start()
    state.lake_watch.start()
    both = until("both have died", lambda: found if len(found := remedies(client)) == 2 else None)
    assert both == [
        "Readings from before the start of serving have not been read back for 0 s: the thread backlog has died. "
        "Restart serving; its log says why.",
        "The services of the baselines and the newest promotions have not been read for 0 s: the thread lake-watch has died. "
        "Restart serving; its log says why.",
    ]
    body = client.get("/health").json()
    assert body["status"] == "degraded"
    assert [(each["name"], each["died"]) for each in body["standstills"]] == [("backlog", True), ("lake-watch", True)]


def test_a_thread_that_waits_for_the_lake_for_too_long_is_said(client, goes_on):
    state = client.app.state.sundial
    state.tables.services = lambda feed: goes_on.wait(60) and {}
    state.lake_watch.thread.patience = 0.2
    state.lake_watch.start()
    until("it stands still", state.lake_watch.thread.standstill)
    (remedy,) = remedies(client)  # which does not wait for the lake
    assert remedy.startswith("The services of the baselines and the newest promotions have not been read for ")
    assert "the thread lake-watch stands still" in remedy
    goes_on.set()
    state.lake_watch.stop()
    assert remedies(client) == []


def test_a_table_whose_thread_stands_still_is_said_and_one_that_has_ended_is_not(client, offline, goes_on, monkeypatch):
    tables = client.app.state.sundial.query_tables
    monkeypatch.setattr(TopicTable, "_follow", lambda table, _: goes_on.wait(60) and table.stop())
    table = tables._table("rides.last")
    table.thread.patience = 0.2
    (remedy,) = until("it stands still", lambda: remedies(client))
    assert remedy.startswith("The rows of the topic rides.last have not been read for ")
    assert "the thread table rides.last stands still" in remedy
    goes_on.set()
    table.join()
    assert (table.ended_at is None, remedies(client)) == (False, [])


@pytest.mark.full
def test_a_long_read_that_does_not_end_is_said_while_others_wait(client, lake, feed, monkeypatch):
    monkeypatch.setattr(long_reads, "PATIENCE", 0.5)
    run(lake, feed, naps, 0)  # the process is there
    assert remedies(client) == []
    reads = [threading.Thread(target=run, args=(lake, feed, naps, seconds)) for seconds in (2, 0)]
    for each in reads:
        each.start()
    (remedy,) = until("it stands still", lambda: remedies(client))
    assert remedy.startswith("No window of more than six hours has been answered for ")
    assert "the process long-reads stands still" in remedy
    for each in reads:
        each.join()
    assert remedies(client) == []


def test_a_feed_that_is_not_read_back_is_said_with_the_reason_until_it_is(client, feed):
    state = client.app.state.sundial
    state.live.status.broker = "connected"

    def fails(_) -> int:
        raise OSError("the lake is away")

    state.backlog._read_back = fails
    state.backlog._look(feed)
    assert remedies(client) == [
        f"Readings of feed {feed.name} from before the start of serving are not read back: the lake is away. Serving tries again "
        "every ten seconds; correct what the reason names."
    ]
    state.live.status.broker = "unreachable"  # the remedy of that is enough
    assert [each for each in remedies(client) if "read back" in each] == []
    state.live.status.broker, state.backlog._read_back = "connected", lambda _: 0
    state.backlog._look(feed)
    assert remedies(client) == []
