"""The members of a group share a topic's partitions; when one comes, leaves or dies, each record is still handled by somebody."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.delivery.cluster import ALL, Cluster, until

PARTITIONS, COMMIT_EVERY = 4, 10  # as member.py
PATIENCE = 180  # seconds; on a busy machine


class Member:
    """A member's process, and what it told."""

    def __init__(self, cluster: Cluster, topic: str, session_seconds: int):
        command = [sys.executable, Path(__file__).with_name("member.py"), cluster.home.kafka, topic, str(session_seconds)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.told: list[dict] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def each(self, what: str) -> list:
        return [line[what] for line in list(self.told) if what in line]

    def holds(self) -> set[int]:
        held = set()
        for line in list(self.told):
            held = (held | set(line.get("assigned", ()))) - set(line.get("revoked", ()))
        return held

    def end(self, kill: bool) -> None:
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait(PATIENCE)
        self._listener.join(PATIENCE)


class Writer(threading.Thread):
    """About 200 numbers a second, to the partitions in turn."""

    def __init__(self, cluster: Cluster, topic: str):
        super().__init__(daemon=True)
        self.topic, self.written, self.ended, self._producer = topic, 0, threading.Event(), cluster.producer(**ALL)

    def run(self) -> None:
        while not self.ended.wait(0.005):
            self._producer.produce(self.topic, str(self.written), partition=self.written % PARTITIONS)
            self.written += 1
            self._producer.poll(0)
        self._producer.flush(60)


@contextmanager
def written_all_along(cluster: Cluster, topic: str) -> Iterator[Writer]:
    writer = Writer(cluster, topic)
    writer.start()
    yield writer
    writer.ended.set()
    writer.join(60)


def awaited(holds, what: str) -> float:
    return until(holds, what, PATIENCE)


@pytest.mark.timeout(6 * PATIENCE)
def test_a_member_joins_and_is_killed_and_each_record_is_handled_at_least_once(cluster):
    topic = cluster.topic(PARTITIONS)
    stays, members = Member(cluster, topic, session_seconds=15), []
    members.append(stays)
    try:
        with written_all_along(cluster, topic) as writer:
            awaited(lambda: stays.holds() == {0, 1, 2, 3}, "the first member has all partitions")
            killed = Member(cluster, topic, session_seconds=15)
            members.append(killed)
            awaited(lambda: len(killed.holds()) == 2 and len(stays.holds()) == 2, "each has two")
            awaited(lambda: len(killed.each("handled")) > 55, "the second handles its share")
            moved = killed.holds()
            killed.end(kill=True)
            awaited(lambda: stays.holds() == {0, 1, 2, 3}, "the first takes over")
        awaited(lambda: set(range(writer.written)) <= handled(members).keys(), "all is handled")
    finally:
        for member in members:
            member.end(kill=False)
    assert set(stays.each("revoked")[0]) == moved, "cooperative: it goes on with the two that it keeps"
    times = handled(members)
    again = {value for value, count in times.items() if count > 1}
    assert again <= set(killed.each("handled")[-COMMIT_EVERY:]), "handled again is what was done since the last commit"
    assert max(times.values()) <= 2


@pytest.mark.timeout(6 * PATIENCE)
def test_a_member_that_leaves_hands_over_at_once_and_nothing_is_handled_twice(cluster):
    """Long before its session would be over, which lasts as long as the test is given."""
    topic = cluster.topic(PARTITIONS)
    members = [Member(cluster, topic, session_seconds=2 * PATIENCE) for _ in range(2)]
    stays, leaves = members
    try:
        with written_all_along(cluster, topic) as writer:
            awaited(lambda: [len(each.holds()) for each in members] == [2, 2], "each has two")
            awaited(lambda: len(leaves.each("handled")) > 55, "the second handles its share")
            leaves.end(kill=False)
            awaited(lambda: len(stays.holds()) == PARTITIONS, "the first takes over")
        awaited(lambda: set(range(writer.written)) <= handled(members).keys(), "all is handled")
    finally:
        for member in members:
            member.end(kill=False)
    assert max(handled(members).values()) == 1


def handled(members: list[Member]) -> Counter:
    """How many times each record was."""
    return Counter(value for member in members for value in member.each("handled"))
