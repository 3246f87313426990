"""A silence that a person asks for holds at once, without a restart, and ends when a person ends it."""

import json

import pytest

from contracts.alerts import ALERTS
from tests.serving import derived
from tests.serving.alerts.test_process import caught_up, rows
from tests.support.waiting import until


@pytest.mark.full
def test_a_silence_holds_at_once_and_until_it_is_ended(broker, topics, at, receiver, declare_route, start, alerts, tmp_path):
    member = start(declare_route())
    until("it has begun", lambda: caught_up(broker), detail=lambda: member.log.read_text())
    made = alerts("silence", "--services", "a|b", "--for", "2 hours", "--reason", "it moves")
    id_ = made.split()[1].rstrip(":")
    assert made.startswith(f"silence {id_}: services a|b of all feeds until ")
    assert made.endswith(": it moves")
    assert made in alerts("list")
    topics.send("incident", [derived.incident(name, at(0)) for name in "abc"])
    until("only c is reported", lambda: receiver.notified() == [("c", "opened")], detail=lambda: member.log.read_text())
    assert member.stop() == 0
    member = start(declare_route())  # another process knows it, too
    topics.send("incident", [derived.incident("d", at(1))])
    until("d is reported", lambda: len(receiver.notified()) == 2, detail=lambda: member.log.read_text())
    alerts("unsilence", id_)
    until("a and b are reported", lambda: {("a", "opened"), ("b", "opened")} <= set(receiver.notified()))
    assert f"silence/{id_}" not in rows(broker, ALERTS.name)
    assert f"silence {id_}" not in alerts("list")
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(line["act"], line["silence"], line.get("reason")) for line in lines] == [
        ("alerts silence", id_, "it moves"),
        ("alerts unsilence", id_, None),
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["silence", "--for", "soon", "--reason", "r"], "no silence: "),
        (["silence", "--for", "1 hour", "--reason", "r", "--services", "("], "no silence: "),
        (["silence", "--for", "1 hour", "--reason", "r", "--feed", "none"], "no such feed: none"),
        (["silence", "--for", "1 hour", "--reason", ""], "no silence: "),
        (["unsilence", "0123abcd"], "no such silence: 0123abcd"),
    ],
)
def test_what_makes_no_sense_silences_nothing(broker, alerts_topics, alerts, tmp_path, arguments, why):
    assert why in alerts(*arguments, code=1)
    assert (rows(broker, ALERTS.name), (tmp_path / "audit.jsonl").exists()) == ({}, False)
