"""The members of a group share a topic's partitions, and take over from each other."""

from collections import Counter, defaultdict

import pytest

from tests.delivery.cluster import ALL, Cluster, until
from tests.delivery.member import Member

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


def test_another_goes_on_where_a_killed_member_had_committed(cluster, member):
    topic = cluster.topic(PARTITIONS)
    dies, stays = member(topic, "dies"), member(topic, "stays")
    until(lambda: dies.has() | stays.has() == WHOLE and len(dies.has()) == len(stays.has()) == 2, "each has two partitions")
    had, places = dies.has(), fill(cluster, topic)
    until(lambda: len(dies.read()) > 20, "it works")
    dies.kill()
    until(lambda: stays.has() == WHOLE, "the other has all partitions")
    # Its last one may be committed without our having been told so.
    until(lambda: places - set(dies.committed()) - set(stays.committed()) <= {dies.read()[-1]}, "each record is done", 120)
    assert {partition for partition, _ in dies.read()} <= had, "it was given nothing else"
    twice = [place for place, times in Counter(dies.read() + stays.read()).items() if times > 1]
    assert set(twice) <= {dies.read()[-1]}, "read twice is what it had read and not committed"
    order = defaultdict(list)
    for partition, offset in stays.read():
        order[partition].append(offset)
    for partition in WHOLE:
        done = max([offset for each, offset in dies.committed() if each == partition], default=-1)
        # Committed by it, and killed before it told us: then the other begins one later.
        assert order[partition][0] in (done + 1, done + 2 if partition == dies.read()[-1][0] else done + 1)
        assert order[partition] == list(range(order[partition][0], EACH)), "in order, and without a gap"


@pytest.mark.parametrize(
    ("strategy", "moved"), [pytest.param("range", 4, id="eager"), pytest.param("cooperative-sticky", 2, id="cooperative")]
)
def test_who_comes_later_takes_from_the_others_all_or_its_share(cluster, member, strategy, moved):
    topic = cluster.topic(PARTITIONS)
    how = {"partition.assignment.strategy": strategy}
    first = member(topic, "first", **how)
    until(lambda: first.has() == WHOLE, "one alone has all partitions")
    second = member(topic, "second", **how)
    until(lambda: len(first.has()) == len(second.has()) == 2 and first.has() | second.has() == WHOLE, "each has two")
    (taken,) = (each for each in first.told("taken") if each)
    assert len(taken) == moved, "an eager member stops with all of its partitions while they are shared out anew"


def test_more_members_than_partitions_leave_one_waiting_to_take_over(cluster, member):
    topic = cluster.topic()
    one, other = member(topic, "one"), member(topic, "other")
    until(lambda: one.has() | other.has() == {0}, "one of them has it")
    cluster.write(topic, ["a", "b"])
    until(lambda: len(one.committed() + other.committed()) == 2, "it reads")
    works, waits = (one, other) if one.read() else (other, one)
    assert waits.read() == []
    works.kill()
    until(lambda: waits.has() == {0}, "the other has it")
    cluster.write(topic, ["c"])
    until(lambda: waits.committed() == [(0, 2)], "it goes on with the third")
