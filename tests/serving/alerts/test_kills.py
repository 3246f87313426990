"""Each message about an incident comes once to a receiver that knows ids, wherever the process of alerts dies."""

import datetime as dt
import os
import time
from collections import defaultdict
from itertools import pairwise

import pytest

from contracts.alerts import ALERTS
from tests.serving import derived
from tests.serving.alerts.conftest import SECOND, WEBHOOK
from tests.serving.alerts.receiver import Receiver
from tests.serving.alerts.test_process import caught_up, rows, waiting
from tests.support.seed import chance
from tests.support.waiting import until

pytestmark = [pytest.mark.kill, pytest.mark.full, pytest.mark.timeout(900)]
KILLS = int(os.environ.get("SUNDIAL_TEST_KILLS", "10"))
REMINDER = dt.timedelta(minutes=1)  # the shortest that a route may declare


def of_each(receiver: Receiver) -> dict[tuple[str, str], list[dict]]:
    """By the last part of the address and the service: the messages, each once, in the order in which they came first."""
    found = defaultdict(list)
    for each in receiver.once():
        found[each.path.rpartition("/")[2], each.json["incident"]["ServiceName"]].append(each.json)
    return found


def reminders(receiver: Receiver) -> int:
    return sum(event == "reminder" for _, event in receiver.notified())


def events(messages: list[dict]) -> list[str]:
    return [each["event"] for each in messages]


def test_each_message_comes_once_to_a_receiver_that_knows_ids(broker, topics, at, receiver, declare_route, start):
    random = chance("alerts")
    second = {"after": "1 second", "target": WEBHOOK | {"url": SECOND}}
    routes = declare_route(escalation=second, reminder="1 minute")
    first, quick, lasting = receiver.url.rpartition("/")[2], [], []
    member = start(routes)
    until("it has begun", lambda: caught_up(broker), detail=lambda: member.log.read_text())

    def killed() -> None:
        """At a moment of its start, or while messages are on their way."""
        nonlocal member
        wanted, deadline = len(receiver.came) + random.randint(0, 30), time.monotonic() + random.uniform(0.5, 6)
        while len(receiver.came) < wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        member.kill()
        member = start(routes)

    def close(names: list[str]) -> None:
        """Waits first: the process sends nothing about an incident that is over before it decided on the opening."""
        ids = [f"{name}@" for name in names]

        def decided() -> bool:
            known = [row["incident"]["Id"] for row in rows(broker, ALERTS.name).values() if row.get("notified")]
            return all(any(each.startswith(id_) for each in known) for id_ in ids)

        until("the openings are decided on", decided, detail=lambda: member.log.read_text()[-3000:])
        topics.send("incident", [derived.incident(name, at(int(name[1:].partition("-")[0])), "closed") for name in names])

    for number in range(KILLS):
        names = [f"s{number}-{each}" for each in range(20)]
        receiver.answers += [(503, {}, b"busy")] * random.randint(0, 10)
        close(quick[-10:])
        topics.send("incident", [derived.incident(name, at(number)) for name in names])
        quick, lasting = quick + names[:10], lasting + names[10:]
        killed()
    close(quick[-10:])
    reminded = lambda: all("reminder" in events(of_each(receiver)[first, name]) for name in lasting)  # noqa: E731
    for _ in range(3):
        before = reminders(receiver)
        until("reminders are on their way", lambda: reminders(receiver) > before or reminded(), 180)  # noqa: B023
        killed()
    until("all that lasts is reported again", reminded, 180, detail=lambda: member.log.read_text()[-3000:])
    close(lasting)
    killed()

    def over() -> bool:
        found = of_each(receiver)
        ended = all(events(found[first, name])[-1:] == ["closed"] for name in quick + lasting)
        return ended and all(events(each)[-1:] == ["closed"] for each in found.values()) and not waiting(broker)

    until("all is reported", over, detail=lambda: member.log.read_text()[-3000:])
    found = of_each(receiver)
    for name in quick + lasting:
        to_first, to_second = found[first, name], found.get(("second", name), [])
        assert events(to_first) == ["opened", *["reminder"] * (len(to_first) - 2), "closed"]
        assert events(to_second) in ([["escalated", "closed"]] if name in lasting else [["escalated", "closed"], []])
        decided = [dt.datetime.fromisoformat(each["at"]) for each in to_first[:-1]]
        assert all(later - earlier >= REMINDER for earlier, later in pairwise(decided)), "none is reminded of twice"
    print(f"{KILLS} kills, {len(receiver.once())} messages, {receiver.repeats()} came twice with the same id")
