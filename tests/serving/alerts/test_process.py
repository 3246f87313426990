"""The process of alerts on a real broker, with a real receiver: each message once, whatever dies in between."""

import json

import pytest

from contracts.alerts import ALERTS, DEAD
from tests.serving import derived, world
from tests.serving.alerts.conftest import WEBHOOK
from tests.support.topics import consume
from tests.support.waiting import until

UNSET = "SUNDIAL_ALERT_TEST_UNSET"


def rows(broker, topic: str) -> dict[str, dict]:
    """What the topic holds, by key."""
    found: dict[str, dict] = {}
    for message in consume(broker.kafka, topic, committed=True):
        key = message.key().decode()
        found.pop(key, None)
        if message.value():
            found[key] = json.loads(message.value())
    return found


def caught_up(broker) -> bool:
    positions = [row for key, row in rows(broker, ALERTS.name).items() if key.startswith("offset/")]
    return len(positions) == 2 and all(each["caught_up"] for each in positions)


def waiting(broker) -> list[str]:
    return [key for key in rows(broker, ALERTS.name) if key.startswith("message/")]


def test_what_is_open_at_the_first_start_is_told_and_each_event_from_then_on_once(
    broker, topics, feed, at, receiver, declare_route, start
):
    topics.send("incident", [derived.incident(name, at(0)) for name in "ab"])
    topics.send("incident", [derived.incident("a", at(0), "closed")])  # history: over before anyone could be notified
    member = start(declare_route())
    until(
        "the open incident is reported", lambda: receiver.notified() == [("b", "opened")], detail=lambda: member.log.read_text()
    )
    assert caught_up(broker)
    group, *members = derived.group(derived.incident("c", at(1)), derived.incident("d", at(1)))
    topics.send("incident", [*members, group, derived.incident("b", at(0), "closed")])
    until("the group and the closing are reported", lambda: len(receiver.notified()) == 3, detail=lambda: member.log.read_text())
    assert set(receiver.notified()) == {("b", "opened"), ("b", "closed"), ("*", "opened")}
    # What a query that catches up finds is over already.
    topics.send("incident", [derived.incident("past", at(1)), derived.incident("past", at(1), "closed")])
    # Another process goes on where this one was, and the records that come again are known.
    assert member.stop() == 0
    topics.send("incident", [derived.incident("b", at(0)), derived.incident("b", at(0), "closed")])
    start(declare_route())
    topics.send("incident", [derived.incident("e", at(2))])
    until("the news is reported", lambda: ("e", "opened") in receiver.notified())
    assert len(receiver.came) == 4
    assert "s3cret-token" not in member.log.read_text()
    [letter] = [each.json for each in receiver.once() if each.json["incident"]["ServiceName"] == "*"]
    assert (letter["severity"], letter["route"], letter["feed"]) == ("critical", "on-call", feed.name)


def test_a_route_without_its_variables_is_held_until_alerts_is_started_with_them(
    broker, topics, at, receiver, declare_route, start, env, alerts
):
    held = f"the environment variable {UNSET} is not set"
    declare_route(name="held", target=WEBHOOK | {"url": UNSET})
    member = start(declare_route(), longest_pause=3600, first_pause=3600)
    until("it has begun", lambda: caught_up(broker), detail=lambda: member.log.read_text())
    topics.send("incident", [derived.incident("a", at(0))])
    until("the other route is notified", lambda: receiver.notified() == [("a", "opened")], detail=lambda: member.log.read_text())
    until("the held message waits", lambda: held in alerts("list"), detail=lambda: member.log.read_text())
    assert f"WARNING serving.alerts: held: target: {held}; its messages wait" in member.log.read_text()
    assert member.stop() == 0
    env[UNSET] = receiver.url
    member = start(declare_route())
    until("nothing waits", lambda: not waiting(broker), detail=lambda: member.log.read_text())
    topics.send("incident", [derived.incident("a", at(0), "closed")])
    until("both are notified of the closing", lambda: len(receiver.came) == 4, detail=lambda: member.log.read_text())
    assert [each.json["event"] for each in receiver.came if each.json["route"] == "held"] == ["opened", "closed"]


@pytest.mark.full
def test_what_is_refused_becomes_a_dead_letter_and_can_be_tried_again(
    broker, topics, at, receiver, declare_route, start, alerts, tmp_path
):
    path = receiver.url.partition("127.0.0.1:")[2].partition("/")[2]
    receiver.answers = [(503, {}, b"busy"), (404, {}, f"Cannot POST /{path}".encode())]
    member = start(declare_route())
    until("it has begun", lambda: caught_up(broker))
    topics.send("incident", [derived.incident("a", at(0))])
    until("it is given up", lambda: rows(broker, DEAD.name), detail=lambda: member.log.read_text())
    [letter] = consume(broker.kafka, DEAD.name, committed=True)
    assert dict(letter.headers()) == {"reason": "HTTP 404 Cannot POST …".encode()}
    assert json.loads(letter.value())["attempts"] == 1
    assert (receiver.came, waiting(broker)) == ([], [])
    id_ = letter.key().decode()
    assert f"given up: {id_} opened a@" in alerts("list")
    assert "no such message was given up: msg_0 " in alerts("retry", id_, "msg_0", code=1)
    assert waiting(broker) == [], "none is tried if one is not known"
    assert alerts("retry", id_) == "1 messages wait again."
    until("it is reported", lambda: receiver.notified() == [("a", "opened")], detail=lambda: member.log.read_text())
    until("it waits no more", lambda: not waiting(broker))
    assert receiver.came[0].id == id_
    assert (rows(broker, DEAD.name), alerts("retry")) == ({}, "No message was given up.")
    [line] = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (line["act"], line["messages"]) == ("alerts retry", [id_])


@pytest.mark.full
def test_an_opening_that_is_tried_again_opens_nothing_that_is_over(broker, topics, at, receiver, declare_route, start, alerts):
    receiver.answers = [(404, {}, b"wrong key")] * 3
    member = start(declare_route())
    until("it has begun", lambda: caught_up(broker))
    topics.send("incident", [derived.incident(name, at(0)) for name in "ab"])
    until("both openings are given up", lambda: len(rows(broker, DEAD.name)) == 2, detail=lambda: member.log.read_text())
    topics.send("incident", [derived.incident("b", at(0), "closed")])
    until("the closing of b is given up", lambda: len(rows(broker, DEAD.name)) == 3, detail=lambda: member.log.read_text())
    topics.send("incident", [derived.incident("a", at(0), "closed")])
    until("the closing of a is taken", lambda: receiver.notified() == [("a", "closed")], detail=lambda: member.log.read_text())
    assert alerts("retry") == "3 messages wait again."
    until("nothing waits", lambda: ("b", "closed") in receiver.notified() and not waiting(broker))
    assert receiver.notified() == [("a", "closed"), ("b", "opened"), ("b", "closed")]
    assert "of serving" in member.log.read_text().partition("not sent: the incident is over")[0].rpartition("opened a@")[2]


@pytest.mark.full
def test_what_somebody_looks_after_is_not_escalated(broker, topics, feed, lake, at, receiver, declare_route, start):
    world.say(lake, feed, 1, "acknowledge", at(0), ServiceName="a", IncidentId=f"a@{at(0):%Y-%m-%dT%H:%M:%SZ}")
    member = start(declare_route(escalation={"after": "1 second", "target": WEBHOOK}))
    until("it has begun", lambda: caught_up(broker))
    topics.send("incident", [derived.incident(name, at(0)) for name in "ab"])
    until("b is escalated", lambda: ("b", "escalated") in receiver.notified(), detail=lambda: member.log.read_text())
    topics.send("incident", [derived.incident(name, at(0), "closed") for name in "ab"])
    until("both are closed", lambda: receiver.notified().count(("b", "closed")) == 2 and ("a", "closed") in receiver.notified())
    assert [event for service, event in receiver.notified() if service == "a"] == ["opened", "closed"]


@pytest.mark.full
def test_a_second_process_fences_the_first(broker, topics, at, receiver, declare_route, start):
    first = start(declare_route())
    until("it has begun", lambda: caught_up(broker))
    start(declare_route())
    until("the second has begun", lambda: first.log.read_text().count("messages wait") == 2)
    topics.send("incident", [derived.incident("a", at(0))])
    until("the first has ended", first.ended)
    assert "another process of alerts has taken over" in first.log.read_text()
    until("it is reported", lambda: receiver.notified() == [("a", "opened")])
