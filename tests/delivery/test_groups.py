"""The members of a group share a topic's partitions; when one comes, leaves or dies, each record is still handled by somebody."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.delivery.cluster import ALL, Cluster, until

PARTITIONS = 4


class Member:
    """A member's process, and what it told."""

    def __init__(self, cluster: Cluster, topic: str):
        command = [sys.executable, Path(__file__).with_name("member.py"), cluster.home.kafka, topic]
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
        self.process.wait(20)
        self._listener.join(20)


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


def test_a_member_that_leaves_hands_over_at_once_and_nothing_is_handled_twice(cluster):
    topic = cluster.topic(PARTITIONS)
    members = [Member(cluster, topic), Member(cluster, topic)]
    stays, leaves = members
    try:
        with written_all_along(cluster, topic) as writer:
            until(lambda: [len(each.holds()) for each in members] == [2, 2], "each has two")
            until(lambda: len(leaves.each("handled")) > 55, "the second handles its share")
            leaves.end(kill=False)
            assert until(lambda: len(stays.holds()) == PARTITIONS, "the first takes over") < 6, "no time-out was waited for"
        until(lambda: set(range(writer.written)) <= set(stays.each("handled") + leaves.each("handled")), "all is handled")
    finally:
        for member in members:
            member.end(kill=False)
    assert max(Counter(stays.each("handled") + leaves.each("handled")).values()) == 1
