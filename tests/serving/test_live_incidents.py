"""Incidents and groups from a real topic, as the API shows them."""

import datetime as dt

import httpx

from tests.serving import derived
from tests.serving.conftest import served
from tests.serving.live import caught_up
from tests.support.waiting import until


def test_an_incident_is_as_its_last_record_says_however_long_ago_it_was_opened(topics, feed, online, at):
    long_ago = dt.datetime.now(dt.UTC) - dt.timedelta(days=3)
    topics.send("incident", [derived.incident("a", at(0)), derived.incident("b", at(1))], written=long_ago)
    with served(online) as (url, state):
        until("the topics are read to their ends", lambda: state.live.status.caught_up)
        client = httpx.Client(base_url=f"{url}/api/feeds/{feed.name}")
        assert [(each["service"], each["state"], each["end"]) for each in client.get("/incidents").json()] == [
            ("b", "opened", None), ("a", "opened", None),
        ]  # fmt: skip
        topics.send("incident", [derived.incident("a", at(0), "closed", Readings=7, LevelShift=True)])
        until("it is closed", lambda: [each.service for each in state.incidents.of(feed.name, only_open=True)] == ["b"])
        [closed] = client.get("/incidents?service=a").json()
        assert (closed["state"], closed["readings"], closed["level_shift"], closed["peak_size"]) == ("closed", 7, True, 9.1)
        assert closed["id"] == f"a@{at(0):%Y-%m-%dT%H:%M:%SZ}"
        assert [each["service"] for each in client.get("/incidents?open=true").json()] == ["b"]
        assert (closed["group"], closed["services"], closed["members"]) == (None, None, [])
        topics.send_raw("incident", closed["id"], None)
        until("it is deleted", lambda: len(state.incidents.of(feed.name)) == 1)
        assert state.live.status.undecodable == 0


def test_members_of_a_group_are_listed_on_demand(topics, feed, serving, at):
    rows = derived.group(derived.incident("a", at(0)), derived.incident("b", at(1)))
    topics.send("incident", [*rows, derived.incident("c", at(2))])
    caught_up(serving, 4)
    listed = serving.get("/incidents").json()
    assert [(each["service"], each["services"], each["members"]) for each in listed] == [
        ("c", None, []),
        ("*", 2, [row["Id"] for row in rows[1:]]),
    ]
    members = serving.get("/incidents", params={"group": rows[0]["Id"]}).json()
    assert [(each["service"], each["group"]) for each in members] == [("b", rows[0]["Id"]), ("a", rows[0]["Id"])]
    assert [each["id"] for each in serving.get("/incidents?service=a").json()] == [rows[1]["Id"]]
