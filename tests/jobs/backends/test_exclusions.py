"""The log of statements only grows, and none is written on what another writer has changed."""

import datetime as dt
from threading import Thread

import pytest

from contracts.exclusions import Excluded, Statement
from contracts.feeds import load_feed
from jobs.backends import exclusions
from jobs.errors import JobError
from tests.jobs.conftest import platform_in

FEED = load_feed("service-use")
NOON = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def platform(tmp_path):
    return platform_in(tmp_path)


@pytest.fixture
def table(platform):
    return exclusions.table_of(platform, FEED)


def said(number: int, kind: str = "exclude", takes_back: int | None = None, service: str | None = "a") -> Statement:
    span = (NOON, NOON + number * HOUR) if kind == "exclude" else (None, None)
    return Statement(number, kind, service, *span, takes_back, None, "mara", "a drill, “planned”", NOON, f"r{number}")


def test_statements_are_read_as_they_were_written_and_the_excluded_readings_are_those_in_force(platform, table):
    assert (exclusions.read(table, -1), exclusions.in_force(platform, FEED)) == ([], [])
    log = [said(1), said(2, service=None), said(3, "take_back", takes_back=1, service=None)]
    for version, each in enumerate(log):
        exclusions.add(table, each, after=version - 1)
    assert exclusions.read(table, 2) == log
    assert exclusions.read(table, 1) == log[:2]
    assert exclusions.in_force(platform, FEED) == [Excluded(None, NOON, NOON + 2 * HOUR)]
    assert table.commits()[0].note == {"run_id": "r3", "statement": 3}


@pytest.mark.parametrize("first", [True, False])
def test_a_statement_is_not_added_to_what_another_has_changed(table, first):
    if not first:
        exclusions.add(table, said(1), after=-1)
    before = table.version()
    exclusions.add(table, said(2), after=before)
    with pytest.raises(JobError, match="it has changed since it was read, so nothing was written; run this again"):
        exclusions.add(table, said(3), after=before)
    assert [each.id for each in exclusions.read(table, table.version())][-1] == 2


def test_a_statement_that_comes_at_the_same_moment_is_noticed_too(table, monkeypatch):
    exclusions.add(table, said(1), after=-1)
    log = type(table).log

    def meanwhile(self, version=None):
        found = log(self, version)
        if version == 0:
            monkeypatch.setattr(type(table), "log", log)
            other = Thread(target=exclusions.add, args=(table, said(2), 0))
            other.start()
            other.join()
        return found

    monkeypatch.setattr(type(table), "log", meanwhile)
    with pytest.raises(JobError, match="it has changed since it was read"):
        exclusions.add(table, said(3), after=0)
    assert exclusions.read(table, table.version()) == [said(1), said(2)]
