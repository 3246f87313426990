"""Statements in force by the API: of a service, of a kind, about a window, page by page, in any format."""

import datetime as dt

import pytest

from serving import lake as lake_module
from tests.serving import world
from tests.serving.conftest import NASTY, problem

NOON = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


@pytest.fixture
def path(feed):
    return f"/api/feeds/{feed.name}/statements"


@pytest.fixture
def said(lake, feed):
    """Ranges of two minutes of a, of all services and of b; a false alarm that is still open; a note; one that is taken back."""
    world.say(lake, feed, 1, "exclude", NOON, ServiceName="a", Reason=NASTY)
    world.say(lake, feed, 2, "exclude", NOON + 10 * MINUTE)
    world.say(lake, feed, 3, "exclude", NOON, ServiceName="b")
    world.say(lake, feed, 4, "false", NOON + 5 * MINUTE, ServiceName="a", IncidentId="a@1", End=None)
    world.say(lake, feed, 5, "note", NOON, ServiceName="*", IncidentId="*@1")
    world.say(lake, feed, 6, "exclude", NOON, ServiceName="a")
    world.say(lake, feed, 7, "take_back", TakesBack=6)


def numbers(client, path, **query) -> list[int]:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return [each["statement"] for each in answer.json()]


def test_the_newest_comes_first_and_none_that_is_taken_back(client, path, said, feed):
    first, *_, last = client.get(path).json()
    assert numbers(client, path) == [5, 4, 3, 2, 1]
    at = {"feed": feed.name, "by": "mara", "at": "2026-11-21T09:30:00Z", "start": "2026-07-01T12:00:00Z"}
    end = {"end": "2026-07-01T12:02:00Z"}
    assert last == at | end | {"statement": 1, "kind": "exclude", "service": "a", "incident": None, "reason": NASTY}
    assert first == at | end | {"statement": 5, "kind": "note", "service": "*", "incident": "*@1", "reason": "a drill"}


def test_those_of_a_service_and_of_all_services_are_found_and_those_of_a_kind(client, path, said):
    assert numbers(client, path, service="a") == [4, 2, 1]
    assert numbers(client, path, service="b") == [3, 2]
    assert numbers(client, path, service="nobody knows it") == [2]
    assert numbers(client, path, service="a", kind="exclude") == [2, 1]
    assert numbers(client, path, kind="note") == [5]


def window(first: dt.datetime, last: dt.datetime) -> dict[str, str]:
    return {"from": first.isoformat(), "to": last.isoformat()}


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (-10, 0, []),
        (-10, 1, [5, 3, 1]),
        (1, 2, [5, 3, 1]),
        (2, 10, [4]),
        (11, 12, [4, 2]),
        (20, 21, [4]),
    ],
)
def test_a_window_has_what_is_about_any_time_in_it(client, path, said, first, last, expected):
    assert numbers(client, path, **window(NOON + first * MINUTE, NOON + last * MINUTE)) == expected


def test_the_last_minutes_end_now(client, path, lake, feed):
    now = client.app.state.sundial.now()
    world.say(lake, feed, 1, "exclude", now - 50 * MINUTE)
    world.say(lake, feed, 2, "exclude", now - 70 * MINUTE)
    assert numbers(client, path, minutes=60) == [1]
    assert numbers(client, path, minutes=80) == [2, 1]


def test_pages_follow_each_other_while_others_speak(client, path, said, lake, feed, monkeypatch):
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)
    answer = client.get(path, params={"limit": 2, "kind": "exclude"})
    assert [each["statement"] for each in answer.json()] == [3, 2]
    world.say(lake, feed, 8, "exclude", NOON)
    answer = client.get(path + answer.links["next"]["url"])
    assert ([each["statement"] for each in answer.json()], answer.links) == ([1], {})
    assert numbers(client, path, kind="exclude") == [8, 3, 2, 1]
    problem(client.get(f"{path}?cursor=W10x"), 422, "invalid-parameter")


def test_rows_come_in_other_formats(client, path, said):
    header, row = client.get(path, params={"service": "b", "limit": 1}, headers={"Accept": "text/csv"}).text.splitlines()
    assert header == '"feed","statement","kind","service","start","end","incident","by","at","reason"'
    assert ',3,"exclude","b","2026-07-01T12:00:00.000Z","2026-07-01T12:02:00.000Z",,"mara",' in row


@pytest.mark.parametrize("query", ["kind=take_back", "limit=0", "limit=501", "minutes=0", "from=2026-07-01T12:00:00"])
def test_what_cannot_be_asked_is_refused(client, path, query):
    assert query.partition("=")[0] in problem(client.get(f"{path}?{query}"), 422, "invalid-parameter")["detail"]


def test_a_feed_without_statements_has_none_and_an_undeclared_feed_is_refused(client, path):
    assert numbers(client, path) == []
    problem(client.get("/api/feeds/none/statements"), 404, "unknown-feed")
