"""Brokers die while somebody writes. What all in sync confirmed is there afterwards, in order and once; the rest may not be."""

import threading
import time
from collections import defaultdict
from pathlib import Path

import psutil
import pytest

from tests.delivery.cluster import ALL, Cluster
from tests.support.waiting import until

pytestmark = pytest.mark.kill

PARTITIONS = 4


class Writer(threading.Thread):
    """Writes 0, 1, 2 … one after the other to the partitions in turn, and keeps what was confirmed, with its offset."""

    def __init__(self, cluster: Cluster, topic: str):
        super().__init__(daemon=True)
        self.topic, self.written, self.ended = topic, 0, threading.Event()
        self.confirmed: dict[int, tuple[int, int]] = {}
        self.failed: list[str] = []
        self._producer = cluster.producer(**ALL, **{"message.timeout.ms": 120_000})

    def run(self) -> None:
        while not self.ended.is_set():
            value = self.written
            self._producer.produce(self.topic, str(value), partition=value % PARTITIONS, on_delivery=self._told)
            self.written += 1
            self._producer.poll(0.002)
        self._producer.flush(120)

    def _told(self, error, message) -> None:
        if error:
            self.failed.append(error.name())
        else:
            self.confirmed[int(message.value())] = (message.partition(), message.offset())

    def writes(self, more: int) -> int:
        """Waits for more events to be written; how many were confirmed meanwhile."""
        goal, before = self.written + more, len(self.confirmed)
        until(f"{more} more events are written", lambda: self.written >= goal)
        return len(self.confirmed) - before

    def confirms(self, more: int) -> None:
        goal = len(self.confirmed) + more
        until(f"{more} more confirmed events", lambda: len(self.confirmed) >= goal, 90)


def test_two_of_three_brokers_are_killed_and_nothing_confirmed_is_lost(cluster):
    topic = cluster.topic(PARTITIONS)
    writer = Writer(cluster, topic)
    writer.start()
    writer.confirms(300)
    with cluster.without(1, 2):
        until("what was on its way has come: of 300 more events none is confirmed", lambda: writer.writes(300) == 0)
        assert writer.writes(1000) == 0, "one broker alone confirms nothing"
    writer.confirms(300)
    writer.ended.set()
    writer.join(120)
    assert writer.failed == []
    assert len(writer.confirmed) == writer.written, "what waited was written once the brokers were back"
    found = defaultdict(list)
    for message in cluster.messages(topic):
        found[message.partition()].append(int(message.value()))
        assert writer.confirmed[int(message.value())] == (message.partition(), message.offset())
    assert found == {number: list(range(number, writer.written, PARTITIONS)) for number in range(PARTITIONS)}


def test_one_broker_alone_takes_what_is_to_be_confirmed_by_fewer_and_shows_it_to_nobody(cluster):
    topic = cluster.topic(leader=1)
    assert cluster.write(topic, ["before"]) == [0]
    with cluster.without(2, 3):
        # A new writer that is idempotent would first be given a number, and not by one broker alone.
        simple = {"enable.idempotence": False, "message.timeout.ms": 4000}
        assert cluster.write(topic, ["all"], **simple) == ["_MSG_TIMED_OUT"]
        (one,) = cluster.write(topic, ["one"], **(simple | {"acks": 1}))
        (none,) = cluster.write(topic, ["none"], **(simple | {"acks": 0}))
        assert isinstance(one, int), "confirmed, with its offset"
        assert none is None, "nobody said where it is"
        assert cluster.values(topic) == ["before"], "readers get what is on all brokers that are in sync"
    until("all in sync again", lambda: cluster.in_sync(topic) == {1, 2, 3})
    found = cluster.values(topic)
    assert [value for value in found if value != "all"] == ["before", "one", "none"]
    assert found.count("all") == 1, "not confirmed is not the same as not written: the leader had it"


def test_a_topic_that_wants_more_brokers_than_there_are_refuses_at_once(cluster):
    topic = cluster.topic(leader=1, min_insync_replicas=3)
    with cluster.without(3):
        until("the two other brokers are in sync", lambda: cluster.in_sync(topic) == {1, 2})
        at_once = {"enable.idempotence": False, "retries": 0}
        assert cluster.write(topic, ["all"], **at_once) == ["NOT_ENOUGH_REPLICAS"]
        assert cluster.write(topic, ["one"], **(at_once | {"acks": 1})) == [0]
        assert cluster.values(topic) == []
    until("what was refused was not written", lambda: cluster.values(topic) == ["one"])


def test_what_one_broker_confirmed_is_lost_with_it(cluster):
    topic = cluster.topic(leader=1)
    assert cluster.write(topic, ["all"]) == [0]
    others = [cluster.broker(2), cluster.broker(3)]
    try:
        for each in others:
            until("it is suspended, and asks for nothing more", lambda each=each: suspended(each, cluster.port(1)))
        assert cluster.write(topic, ["one"], acks=1, **{"enable.idempotence": False}) == [1]
        with cluster.without(1):
            for each in others:
                each.resume()
            until("another leader", lambda: cluster.leader(topic) in (2, 3))
            assert cluster.values(topic) == ["all"]
            assert cluster.write(topic, ["next"]) == [1], "at the very offset that was confirmed to the other"
    finally:
        for each in others:
            each.resume()
    until("all in sync again", lambda: cluster.in_sync(topic) == {1, 2, 3})
    assert cluster.values(topic) == ["all", "next"], "nor does it come back with the broker"


def suspended(follower: psutil.Process, port: int) -> bool:
    """Whether it stands still with an answer of its leader unread, behind which it asks for nothing; if not, it runs on.

    A leader answers a follower's request within half a second, even if it has nothing new.
    """
    follower.suspend()
    for _ in range(30):
        if unread(follower, port):
            return True
        time.sleep(0.1)
    follower.resume()
    return False


def unread(process: psutil.Process, port: int) -> int:
    """Bytes that have come over its connections to that port and wait to be read."""
    own = {each.laddr.port for each in process.net_connections() if each.raddr and each.raddr.port == port}
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return sum(_hex(line[4]) for line in lines if _hex(line[1]) in own and _hex(line[2]) == port)


def _hex(pair: str) -> int:
    """What stands behind the colon: of an address its port, of a connection's queues the one of what came."""
    return int(pair.partition(":")[2], 16)


def test_what_acks_0_loses_is_lost_without_an_error(cluster):
    topic = cluster.topic(max_message_bytes=1000)
    long = "x" * 5000
    assert cluster.write(topic, [long]) == ["MSG_SIZE_TOO_LARGE"]
    assert cluster.write(topic, [long], acks=0, **{"enable.idempotence": False}) == [None], "no error, and no offset"
    assert cluster.values(topic) == []
