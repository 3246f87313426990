"""Where a reader begins, what it reads again after a crash, and what it is told when its place is gone."""

import time

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.delivery.cluster import Cluster

VALUES = [str(number) for number in range(10)]


def take(consumer: Consumer, count: int, seconds: float = 20) -> list[str]:
    """The next values. Raises KafkaException for an error."""
    found, deadline = [], time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(count - len(found), timeout=0.2):
            if message.error():
                raise KafkaException(message.error())
            found.append(message.value().decode())
    return found


def session(cluster: Cluster, topic: str, group: str, count: int, commit: int | None = None, **options) -> list[str]:
    """What a member of a group reads before it ends; it commits that offset, if any."""
    consumer = cluster.consumer(**{"group.id": group} | options)
    consumer.subscribe([topic])
    found = take(consumer, count)
    if commit is not None:
        consumer.commit(offsets=[TopicPartition(topic, 0, commit)], asynchronous=False)
    consumer.close()
    return found


@pytest.mark.parametrize(("reset", "first"), [("earliest", "0"), ("latest", "new")])
def test_a_group_without_a_place_begins_at_the_start_or_at_the_end(cluster, reset, first):
    topic = cluster.topic()
    cluster.write(topic, VALUES)
    consumer = cluster.consumer(**{"auto.offset.reset": reset})
    consumer.subscribe([topic])
    begun = []
    while not begun:
        begun = take(consumer, 1, seconds=1)
        if reset == "latest":
            cluster.write(topic, ["new"])
    consumer.close()
    assert begun == [first]


def test_a_group_without_a_place_may_rather_be_told(cluster):
    topic = cluster.topic()
    cluster.write(topic, VALUES)
    consumer = cluster.consumer(**{"auto.offset.reset": "error"})  # Java: none
    consumer.subscribe([topic])
    with pytest.raises(KafkaException) as failure:
        take(consumer, 1)
    consumer.close()
    assert failure.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET
    assert "no previously committed offset available" in str(failure.value)


@pytest.mark.parametrize(
    ("commit", "again"),
    [
        pytest.param(4, VALUES[4:], id="commits-what-is-done: 4 and 5 are read twice"),
        pytest.param(8, VALUES[8:], id="commits-what-it-has-not-read: nobody reads 6 and 7"),
        pytest.param(None, VALUES, id="commits-nothing: all is read again"),
    ],
)
def test_the_next_goes_on_where_the_last_committed_not_where_it_read(cluster, commit, again):
    topic, group = cluster.topic(), "readers of " + str(commit)
    cluster.write(topic, VALUES)
    assert session(cluster, topic, group, 6, commit) == VALUES[:6]
    assert session(cluster, topic, group, len(again)) == again


def test_automatic_commits_count_what_was_handed_out_as_done(cluster):
    topic = cluster.topic()
    cluster.write(topic, VALUES)
    assert session(cluster, topic, "automatic", 6, **{"enable.auto.commit": True}) == VALUES[:6]
    assert session(cluster, topic, "automatic", 4) == VALUES[6:], "even if the first never came to handling them"


def test_groups_do_not_know_of_each_other(cluster):
    topic = cluster.topic()
    cluster.write(topic, VALUES)
    assert session(cluster, topic, "one", 10, 10) == VALUES
    assert session(cluster, topic, "other", 10, 10) == VALUES
