"""Transactions: all of a batch or nothing of it, for readers that ask for it; and one writer under one name."""

import uuid

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from tests.delivery.cluster import ALL, Cluster
from tests.support.waiting import until


def transactional(cluster: Cluster, name: str | None = None) -> Producer:
    producer = cluster.producer(**ALL, **{"transactional.id": name or uuid.uuid4().hex})
    producer.init_transactions(30)
    return producer


def put(producer: Producer, topic: str, *values: str) -> None:
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def test_an_aborted_batch_is_shown_only_to_who_reads_uncommitted(cluster):
    topic, producer = cluster.topic(), transactional(cluster)
    for values, end in (
        ("ab", producer.commit_transaction),
        ("cd", producer.abort_transaction),
        ("e", producer.commit_transaction),
    ):
        producer.begin_transaction()
        put(producer, topic, *values)
        end()
    until("the last batch is shown", lambda: cluster.values(topic) == ["a", "b", "e"])
    assert cluster.values(topic, committed=False) == ["a", "b", "c", "d", "e"]


def test_an_open_transaction_holds_back_everything_behind_it(cluster):
    topic, producer = cluster.topic(), transactional(cluster)
    producer.begin_transaction()
    put(producer, topic, "of the transaction")
    cluster.write(topic, ["of another writer"])
    assert cluster.values(topic) == []
    assert cluster.values(topic, committed=False) == ["of the transaction", "of another writer"]
    producer.commit_transaction()
    until("both are shown", lambda: cluster.values(topic) == ["of the transaction", "of another writer"])


def test_a_zombie_is_fenced_by_its_successor_of_the_same_name(cluster):
    topic, name = cluster.topic(), uuid.uuid4().hex
    zombie = transactional(cluster, name)
    zombie.begin_transaction()
    put(zombie, topic, "by the zombie")
    successor = transactional(cluster, name)  # aborts what the other had begun
    with pytest.raises(KafkaException) as failure:
        zombie.commit_transaction()
    assert failure.value.args[0].code() == KafkaError._FENCED
    assert failure.value.args[0].fatal()
    successor.begin_transaction()
    put(successor, topic, "by the successor")
    successor.commit_transaction()
    until("the successor's is shown, and no other", lambda: cluster.values(topic) == ["by the successor"])


def test_what_was_read_and_what_was_written_of_it_take_effect_together(cluster):
    """A worker that dies between its writes and its commit is followed by another, and each input has one output."""
    source, target, group, name = cluster.topic(), cluster.topic(), uuid.uuid4().hex, uuid.uuid4().hex
    cluster.write(source, ["1", "2", "3"])

    def work(finish: bool) -> None:
        writer = transactional(cluster, name)  # first: while an earlier one's transaction is open, its place can't be told
        reader = cluster.consumer(**{"group.id": group, "isolation.level": "read_committed"})
        place = reader.committed([TopicPartition(source, 0)], timeout=10)[0]
        reader.assign([TopicPartition(source, 0, max(place.offset, 0))])
        writer.begin_transaction()
        for message in reader.consume(2, timeout=20):
            put(writer, target, message.value().decode() * 2)
        writer.send_offsets_to_transaction(reader.position([TopicPartition(source, 0)]), reader.consumer_group_metadata())
        if finish:
            writer.commit_transaction()
        reader.close()

    work(finish=True)
    work(finish=False)
    work(finish=True)
    until("each is shown once", lambda: cluster.values(target) == ["11", "22", "33"])
    assert cluster.values(target, committed=False) == ["11", "22", "33", "33"]
