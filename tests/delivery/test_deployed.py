"""Declared topics on three brokers: kept by all, confirmed by two, whoever deploys them again."""

import uuid

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from contracts.declarations import Topic
from contracts.kafka_credentials import PLAIN
from stack.deploy import topics
from stack.deploy.cluster import admin, replication
from tests.support.waiting import until


def settings(cluster, topic: str) -> dict[str, str]:
    client = admin(cluster.instance.kafka)

    def described() -> dict[str, str] | None:
        (future,) = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        try:
            return {name: entry.value for name, entry in future.result(timeout=10).items()}
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            return None  # the broker that was asked has not heard of it yet

    return until(f"a broker knows {topic}", described)


def test_a_topic_is_kept_by_three_brokers_and_confirmed_by_two(cluster):
    name = f"deployed-{uuid.uuid4().hex[:8]}"
    declared = [Topic(name, 2, 7)]
    assert topics.deploy(cluster.instance.kafka, declared, replication(cluster.instance.kafka, PLAIN)) == [f"{name}: created"]
    assert [sorted(found.replicas) for found in cluster.partitions(name).values()] == [[1, 2, 3], [1, 2, 3]]
    assert settings(cluster, name)["min.insync.replicas"] == "2"
    assert topics.deploy(cluster.instance.kafka, declared) == [], "replication counts for new topics; this one has its copies"


def test_what_kafka_keeps_of_its_own_is_kept_as_well(cluster):
    cluster.write(cluster.topic(), ["a"])
    reader = cluster.consumer(**{"group.id": "makes the offsets' topic"})
    reader.subscribe([cluster.topic()])
    reader.poll(5)
    reader.close()
    found = cluster.partitions("__consumer_offsets")
    assert {len(each.replicas) for each in found.values()} == {3}
    assert settings(cluster, "__consumer_offsets")["min.insync.replicas"] == "2"
    assert settings(cluster, "kafkasql-journal")["min.insync.replicas"] == "2"
