"""The members of a group share a topic's partitions, and take over from each other."""

from collections import defaultdict

import pytest
from confluent_kafka import TopicPartition

from tests.delivery.cluster import ALL, Cluster
from tests.delivery.member import Member, group
from tests.support.waiting import until

PARTITIONS = 4
EACH = 80  # records of a partition: some seconds of one member's work
WHOLE = set(range(PARTITIONS))


@pytest.fixture
def member(cluster, tmp_path):
    """member(topic, name, …): another member of the group of that topic; killed in the end."""
    started = []

    def start(topic: str, name: str, **settings) -> Member:
        started.append(Member(cluster, tmp_path, topic, name, **settings))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def fill(cluster: Cluster, topic: str) -> set[tuple[int, int]]:
    """The places of its records."""
    producer = cluster.producer(**ALL)
    for number in range(PARTITIONS * EACH):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    return {(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)}


def committed(cluster: Cluster, topic: str) -> dict[int, int]:
    """By partition the offset from which on the topic's group has nothing done, as the broker knows it."""
    asks = cluster.consumer(**{"group.id": group(topic)})
    found = asks.committed([TopicPartition(topic, number) for number in range(PARTITIONS)], timeout=30)
    asks.close()
    return {each.partition: max(each.offset, 0) for each in found}  # below 0: never


@pytest.mark.kill
def test_another_goes_on_where_a_killed_member_had_committed(cluster, member):
    topic = cluster.topic(PARTITIONS)
    missed = {"session.timeout.ms": 15_000}  # time to ask what is committed, before anybody takes over
    dies, stays = member(topic, "dies", **missed), member(topic, "stays", **missed)
    until("each has two partitions", lambda: dies.has() | stays.has() == WHOLE and len(dies.has()) == len(stays.has()) == 2)
    had, places = dies.has(), fill(cluster, topic)
    until("it works", lambda: len(dies.read()) > 20)
    dies.kill()
    begin = {partition: offset for partition, offset in committed(cluster, topic).items() if partition in had}
    assert stays.has() == WHOLE - had, "the other has not taken over yet"
    until("the other has all partitions", lambda: stays.has() == WHOLE)
    until("all is done", lambda: set(committed(cluster, topic).values()) == {EACH}, 120)
    assert {partition for partition, _ in dies.read()} <= had, "it was given nothing else"
    order = defaultdict(list)
    for partition, offset in stays.read():
        order[partition].append(offset)
    for partition in WHOLE:
        assert order[partition] == list(range(begin.get(partition, 0), EACH)), "from there on, in order, and without a gap"
    twice = set(dies.read()) & set(stays.read())
    assert twice == {(partition, offset) for partition, offset in dies.read() if offset >= begin[partition]}
    assert len(twice) <= 1, "what it had read and not committed, one at most"
    assert set(dies.read()) | set(stays.read()) == places


@pytest.mark.parametrize(
    ("strategy", "moved"), [pytest.param("range", 4, id="eager"), pytest.param("cooperative-sticky", 2, id="cooperative")]
)
def test_who_comes_later_takes_from_the_others_all_or_its_share(cluster, member, strategy, moved):
    topic = cluster.topic(PARTITIONS)
    how = {"partition.assignment.strategy": strategy}
    first = member(topic, "first", **how)
    until("one alone has all partitions", lambda: first.has() == WHOLE)
    second = member(topic, "second", **how)
    until("each has two", lambda: len(first.has()) == len(second.has()) == 2 and first.has() | second.has() == WHOLE)
    (taken,) = (each for each in first.told("taken") if each)
    assert len(taken) == moved, "an eager member stops with all of its partitions while they are shared out anew"


@pytest.mark.kill
def test_more_members_than_partitions_leave_one_waiting_to_take_over(cluster, member):
    topic = cluster.topic()
    one, other = member(topic, "one"), member(topic, "other")
    until("one of them has it", lambda: one.has() | other.has() == {0})
    cluster.write(topic, ["a", "b"])
    until("it reads", lambda: len(one.committed() + other.committed()) == 2)
    works, waits = (one, other) if one.read() else (other, one)
    assert waits.read() == []
    works.kill()
    until("the other has it", lambda: waits.has() == {0})
    cluster.write(topic, ["c"])
    until("it goes on with the third", lambda: waits.committed() == [(0, 2)])
