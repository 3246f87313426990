"""Incidents by the API: who judged them; those of all feeds in one list, open ones first, page by page, in any format."""

import datetime as dt
import io
import json
from dataclasses import replace

import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

from serving.app import create_app
from serving.event_routes import event_json
from serving.kept_events import INCIDENT, SCORED, Event
from serving.memory import Reading
from tests.serving import world
from tests.serving.conftest import declare, problem
from tests.serving.test_incidents import of
from tests.serving.test_past_incidents import DAY, event, night
from tests.support.waiting import until

PATH = "/api/incidents"


@pytest.fixture
def other(feed, declared):
    """A second feed, in another time zone."""
    other = feed.model_copy(update={"name": f"{feed.name}-b", "timezone": "Asia/Tokyo"})
    declare(declared, other)
    return other


@pytest.fixture
def client(other, offline):
    return TestClient(create_app(offline), base_url="http://127.0.0.1")


@pytest.fixture
def state(client):
    return client.app.state.sundial


@pytest.fixture
def full(state, feed, other):
    """Two open incidents in two feeds, two closed ones, and an open group with two members."""
    for each in (
        event("a", 1),
        event("b", 4, "closed", 5),
        replace(event("*", 3, kind="group"), id="*@3", members=["m@3", "n@3"]),
    ):
        state.incidents.put(feed.name, each)
    for each in (event("Mail", 3, group="*@3"), event("news", 3, "closed", 6, group="*@3")):
        state.incidents.put(feed.name, each)
    for each in (event("a", 2, kind="silence"), event("mailbox", 6, "closed", 7)):
        state.incidents.put(other.name, each)


def found(client, **query) -> list[tuple[str, str]]:
    """Which feed (first or second) and service each row has."""
    answer = client.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    return [("second" if each["feed"].endswith("-b") else "first", each["service"]) for each in answer.json()]


def test_open_ones_come_first_then_the_newest_and_members_of_groups_not_at_all(client, full, other):
    expected = [("first", "*"), ("second", "a"), ("first", "a"), ("second", "mailbox"), ("first", "b")]
    assert found(client) == expected
    second = client.get(PATH).json()[1]
    assert (second["feed"], second["kind"], second["end"]) == (other.name, "silence", None)
    assert second["start_local"] == "2026-07-01T11:00:00+09:00"


def test_each_choice_narrows_the_list(client, full, feed, other):
    assert found(client, feed=other.name) == [("second", "a"), ("second", "mailbox")]
    assert found(client, state="open") == [("first", "*"), ("second", "a"), ("first", "a")]
    assert found(client, state="closed") == [("second", "mailbox"), ("first", "b")]
    assert found(client, kind="silence") == [("second", "a")]
    assert found(client, kind="group") == [("first", "*")]
    assert found(client, service="a") == [("second", "a"), ("first", "a")]
    assert found(client, service="a", kind="deviation", feed=feed.name) == [("first", "a")]


def test_a_search_finds_parts_of_names_members_of_groups_too(client, full):
    assert found(client, search="MAIL") == [("first", "Mail"), ("second", "mailbox")]
    assert found(client, search="news", state="open") == []
    assert found(client, service="news") == [("first", "news")]
    assert found(client, search="*") == [], "a group is no service"
    assert len(found(client, search="")) == 5


def test_a_window_has_those_that_last_in_it_from_the_tables_too(client, full, lake, feed, state):
    night(lake, feed, event("old", 0, "closed", 1), event("a", 1, "closed", 2, at=9))
    first, second = (DAY + dt.timedelta(hours=each) for each in (0, 3.5))
    window = {"from": first.isoformat(), "to": second.isoformat()}
    assert found(client, **window) == [("first", "*"), ("second", "a"), ("first", "a"), ("first", "old")]
    closed = next(each for each in client.get(PATH, params=window).json() if each["service"] == "a" and each["feed"] == feed.name)
    assert closed["state"] == "closed", "the table knows more of it"
    now = round(state.now().timestamp() * 1000)
    for name, age in (("recent", 50), ("earlier", 70)):
        start = now - age * 60_000
        state.incidents.put(feed.name, replace(of(name, start - 60_000, "closed"), end=start))
    lasting = [name for _, name in found(client, minutes=60, state="closed")]
    assert lasting == ["recent"], "the window ends now, also of a feed without readings"
    problem(client.get(PATH, params={"from": first.isoformat()}), 422, "invalid-window")


def test_pages_follow_each_other_across_feeds(client, full):
    path, pages = f"{PATH}?limit=2", []
    while path:
        answer = client.get(path)
        pages.append([each["service"] for each in answer.json()])
        link = answer.links.get("next")
        path = link and PATH + link["url"]
    assert pages == [["*", "a"], ["a", "mailbox"], ["b"]]
    problem(client.get(f"{PATH}?cursor=W10x"), 422, "invalid-parameter")


def test_what_people_said_is_with_the_incident_of_their_feed(client, full, lake, feed, other):
    world.say(lake, other, 1, "acknowledge", IncidentId=event("a", 2).id)
    world.say(lake, feed, 1, "false", IncidentId=event("b", 4).id)
    world.say(lake, feed, 2, "false", IncidentId="*@3")
    rows = {(each["feed"], each["service"]): each for each in client.get(PATH).json()}
    assert rows[other.name, "a"]["acknowledgement"]["by"] == "mara"
    assert rows[feed.name, "b"]["verdict"]["kind"] == "false"
    assert rows[feed.name, "a"]["acknowledgement"] is None
    [member] = client.get(PATH, params={"service": "Mail"}).json()
    assert (member["verdict"]["statement"], member["verdict"]["kind"]) == (2, "false"), "its group was a false alarm"


def test_notes_are_with_the_incident_oldest_first_and_judge_nothing(client, full, lake, feed):
    for number, text in enumerate(("deploy 4.2 caused it", "<b>see</b> https://wiki.example.org/4.2"), start=1):
        world.say(lake, feed, number, "note", IncidentId=event("b", 4).id, Reason=text)
    rows = {each["service"]: each for each in client.get(PATH, params={"feed": feed.name}).json()}
    at = "2026-11-21T09:30:00Z"
    assert rows["b"]["notes"] == [
        {"statement": 1, "by": "mara", "at": at, "text": "deploy 4.2 caused it"},
        {"statement": 2, "by": "mara", "at": at, "text": "<b>see</b> https://wiki.example.org/4.2"},
    ]
    assert (rows["b"]["verdict"], rows["b"]["acknowledgement"], rows["a"]["notes"]) == (None, None, [])
    header, row = client.get(PATH, params={"service": "b"}, headers={"Accept": "text/csv"}).text.splitlines()
    assert '"notes"' in header
    assert '""text"":""deploy 4.2 caused it""' in row
    table = pyarrow.parquet.read_table(
        io.BytesIO(client.get(PATH, params={"service": "b"}, headers={"Accept": "application/vnd.apache.parquet"}).content)
    )
    assert [each["statement"] for each in table["notes"][0].as_py()] == [1, 2]


def test_the_newest_notes_are_shown_if_there_are_very_many(client, full, lake, feed):
    for number in range(1, 53):
        world.say(lake, feed, number, "note", IncidentId=event("b", 4).id)
    [row] = client.get(PATH, params={"service": "b"}).json()
    assert [each["statement"] for each in row["notes"]] == list(range(3, 53))


def test_rows_come_in_other_formats(client, full):
    header, first, *_ = client.get(PATH, headers={"Accept": "text/csv"}, params={"kind": "silence"}).text.splitlines()
    assert header.startswith('"feed","service","id"')
    assert '"silence"' in first


@pytest.mark.parametrize("query", ["state=ajar", "kind=x", "limit=0", "minutes=0"])
def test_what_cannot_be_asked_is_refused(client, query):
    assert query.partition("=")[0] in problem(client.get(f"{PATH}?{query}"), 422, "invalid-parameter")["detail"]


def test_an_undeclared_feed_is_refused(client, feed):
    assert feed.name in problem(client.get(f"{PATH}?feed=nope"), 404, "unknown-feed")["remedy"]


def test_incidents_say_who_judged_them_when_and_why(client, feed, lake):
    state, at = client.app.state.sundial, dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    start = round(at.timestamp() * 1000)
    for service in ("a", "b", "c"):
        state.incidents.put(feed.name, of(service, start))
    world.say(lake, feed, 1, "exclude", at, ServiceName="b")
    world.say(lake, feed, 2, "false", IncidentId=f"a@{start}")
    found = {each["service"]: each["verdict"] for each in client.get(f"/api/feeds/{feed.name}/incidents").json()}
    said = {"by": "mara", "at": "2026-11-21T09:30:00Z", "reason": "a drill"}
    assert found == {"a": {"statement": 2, "kind": "false"} | said, "b": {"statement": 1, "kind": "exclude"} | said, "c": None}
    scored = event_json(feed, Event(SCORED, feed.name, "a\u2028\x85", Reading(start, 90, 45.0, 1.0, 200.0, True, 3)))
    assert len(scored.splitlines()) == 1, "as an event has it"
    assert {name: json.loads(scored)[name] for name in ("feed", "service", "value")} == {
        "feed": feed.name,
        "service": "a\u2028\x85",
        "value": 90,
    }
    event = Event(INCIDENT, feed.name, "a", of("a", start, "closed"))
    assert json.loads(event_json(feed, event, state.tables.statements(feed)))["verdict"] == found["a"]
    world.say(lake, feed, 3, "take_back", TakesBack=2)
    world.say(lake, feed, 4, "acknowledge", IncidentId=f"a@{start}")
    until("it is taken back", lambda: [each.id for each in state.tables.statements(feed)] == [1, 4])
    newest = client.get(f"/api/feeds/{feed.name}/incidents?service=a").json()
    assert [(each["verdict"], each["acknowledgement"]) for each in newest] == [(None, {"statement": 4} | said)]
