"""History is read as its table is: the service's rows of the dates asked for, and afresh when their files change."""

import datetime as dt
import shutil

import pytest
from deltalake import DeltaTable

from serving import archived
from serving import history as history_module
from serving import lake as lake_module
from serving.history import History
from serving.lake import Lake
from tests.serving import world

MIDNIGHT = dt.datetime(2026, 11, 20, 5, tzinfo=dt.UTC)  # in New York


@pytest.fixture
def history(lake, monkeypatch) -> History:
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)
    return History(Lake(str(lake)))


def minute(number: int) -> dt.datetime:
    return MIDNIGHT + dt.timedelta(minutes=number)


def read(history, feed, first: int, last: int) -> dict[dt.datetime, int]:
    found = history.readings(feed, "a", minute(first), minute(last))
    return {dt.datetime.fromtimestamp(at / 1000, dt.UTC): value for at, value in zip(found.at, found.value, strict=True)}


@pytest.mark.parametrize("here", [True, False], ids=["files of this machine", "files of elsewhere"])
def test_readings_are_those_of_the_service_and_the_window_across_local_midnight(history, feed, lake, monkeypatch, here):
    assert read(history, feed, -2, 1) == {}, "nothing was archived yet"
    rows = {("a", minute(each)): each for each in (-61, -2, -1, 0, 1, 2)} | {("b", minute(0)): 99}
    world.archive(lake, feed, rows)
    if not here:
        monkeypatch.setattr(history_module.Path, "is_dir", lambda path: False)
    assert read(history, feed, -2, 1) == {minute(each): each for each in (-2, -1, 0, 1)}
    assert read(history, feed, -61, -60) == {minute(-61): -61}, "of a day that is in memory by now"
    assert history.services(feed) == {"a", "b"}


def test_a_date_that_is_rewritten_is_read_again_and_the_others_are_not(history, feed, lake, monkeypatch):
    world.archive(lake, feed, {("a", minute(-1)): 1, ("a", minute(0)): 2})
    read(history, feed, -5, 5)
    asked = []
    reads = history._read
    monkeypatch.setattr(history, "_read", lambda *given: (asked.append(given[3]), reads(*given))[1])
    DeltaTable(str(lake / "history" / feed.table)).delete("Date = '2026-11-20'")
    world.archive(lake, feed, {("a", minute(0)): 3})
    assert read(history, feed, -5, 5) == {minute(-1): 1, minute(0): 3}
    assert [file.split("/")[0] for files in asked for file in files] == ["Date=2026-11-20"]


def test_when_the_broker_took_a_reading_is_read_where_history_knows(history, feed, lake):
    world.archive(lake, feed, {("a", minute(0)): 1})
    assert history.until(feed) == minute(0), "a capture's: no broker took it"
    world.archive(lake, feed, {("a", minute(1)): 2}, taken=minute(9))
    assert history.readings(feed, "a", minute(0), minute(5)).taken.tolist() == [0, round(minute(9).timestamp() * 1000)]
    assert history.until(feed) == minute(9)
    shutil.rmtree(lake / "history")
    assert (history.until(feed), history.version(feed)) == (None, None)


def test_services_of_five_weeks_are_known_and_each_file_is_read_once(history, feed, lake, monkeypatch):
    day, names, read_of = dt.timedelta(days=1), [], archived._names
    monkeypatch.setattr(archived, "_names", lambda file, schema: (names.append(file.path), read_of(file, schema))[1])
    world.archive(lake, feed, {(f"{back} days ago", minute(0) - back * day): 1 for back in (0, 1, 2, 20, 34, 35)})
    assert history.services(feed) == {f"{back} days ago" for back in (0, 1, 2, 20, 34, 35)}, "six dates have readings"
    assert history.services(feed, 2) == {"0 days ago", "1 days ago"}
    assert len(names) == 6
    world.archive(lake, feed, {("b", minute(1) - 2 * day): 1})
    assert history.services(feed) - {f"{back} days ago" for back in range(99)} == {"b"}
    assert len(names) == 7
    world.archive(lake, feed, {("c", minute(0) - back * day): 1 for back in range(3, 34) if back != 20})
    assert "35 days ago" not in history.services(feed), "35 dates are newer"
    assert "34 days ago" in history.services(feed)


def test_the_newest_readings_of_each_service_are_those_before_the_feeds_newest(history, feed, lake):
    assert history.newest(feed) == {}
    world.archive(lake, feed, {("a", minute(each)): each for each in (-21, -20, -1, 0)} | {("gone", minute(-30)): 5})
    world.archive(lake, feed, {("b", minute(-3)): 7}, taken=minute(9))
    found = history.newest(feed)
    assert {name: each.value.tolist() for name, each in found.items()} == {"a": [-20, -1, 0], "b": [7]}
    assert found["b"].at.tolist() == [round(minute(-3).timestamp() * 1000)]
    assert (found["a"].taken.tolist(), found["b"].taken.tolist()) == ([0, 0, 0], [round(minute(9).timestamp() * 1000)])


def test_memory_keeps_the_days_that_were_asked_for_last(history, feed, lake, monkeypatch):
    monkeypatch.setattr(history_module, "HELD_READINGS", 3)
    world.archive(lake, feed, {(service, minute(each)): each for service in "ab" for each in (0, 1)})
    assert read(history, feed, 0, 5) == {minute(0): 0, minute(1): 1}
    history.readings(feed, "b", minute(0), minute(5))
    assert [key[1] for key in history._days] == ["b"]
    assert read(history, feed, 0, 5) == {minute(0): 0, minute(1): 1}
