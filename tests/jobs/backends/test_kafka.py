"""What jobs find in topics; a topic that is missing, or a broker that does not answer, is named."""

import uuid
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from jobs.backends import kafka
from jobs.errors import JobError
from tests.support.topics import consume, produce
from tests.support.waiting import until


class Asked(AdminClient):
    """Notes the topics whose partitions it is asked for."""

    topics: ClassVar[list[list[str]]] = []

    def describe_topics(self, *asked, **options):
        self.topics.append(asked[0].topic_names)
        return super().describe_topics(*asked, **options)

    def list_topics(self, *_, **options):
        raise AssertionError("all topics were asked for")


def test_a_topic_that_does_not_exist_is_named(broker, lake_platform):
    with pytest.raises(JobError, match=r"topic nowhere: .*`sundial up` creates"):
        kafka.available(replace(lake_platform, kafka=broker.kafka), "nowhere")


def test_a_broker_that_does_not_answer_is_named(lake_platform, monkeypatch):
    monkeypatch.setattr(kafka, "PATIENCE", 0.5)
    with pytest.raises(JobError, match=r"Kafka at 127\.0\.0\.1:1 does not say how far calls go: "):
        kafka.Ends(lake_platform, ["calls"]).now()


def test_only_these_topics_are_asked_for_and_a_partition_that_is_added_is_soon_among_them(broker, lake_platform, monkeypatch):
    platform, topic, clock = replace(lake_platform, kafka=broker.kafka), f"ends-{uuid.uuid4().hex[:8]}", [0.0]
    monkeypatch.setattr(kafka, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(kafka, "AdminClient", Asked)
    monkeypatch.setattr(Asked, "topics", [])
    ends = kafka.Ends(platform, [topic])
    with pytest.raises(JobError, match=rf"no topic {topic}; `sundial up` creates"):
        ends.now()
    admin = AdminClient({"bootstrap.servers": broker.kafka})
    admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])[topic].result(30)
    produce(broker.kafka, topic, [(b"k", b"v")])
    assert ends.now() == {topic: {0: 1}}
    produce(broker.kafka, topic, [(b"k", b"v")])
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
    until("two partitions", lambda: len(admin.list_topics(topic).topics[topic].partitions) == 2)
    consume(broker.kafka, topic)  # waits for the leader of the second, which comes a moment after the partition
    clock[0] += kafka.SAME
    assert (ends.now(), Asked.topics) == ({topic: {0: 2}}, [[topic]] * 2)
    clock[0] += 0.1
    assert (ends.now(), Asked.topics) == ({topic: {0: 2, 1: 0}}, [[topic]] * 3)


@pytest.mark.full
def test_the_newest_value_of_a_key_is_found_in_whichever_partition_it_is(broker, lake_platform):
    platform, topic = replace(lake_platform, kafka=broker.kafka), f"keys-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.kafka})
    admin.create_topics([NewTopic(topic, num_partitions=4, replication_factor=1)])[topic].result(30)
    keys = [f"k{number}".encode() for number in range(20)]
    produce(broker.kafka, topic, [(key, b"old") for key in keys] + [(key, b"new " + key) for key in keys] + [(b"k7", None)])
    partitions = {message.partition() for message in consume(broker.kafka, topic)}
    assert partitions == {0, 1, 2, 3}
    found = {key: kafka.last_value(platform, topic, key, "test", 30) for key in [*keys[:9], b"none"]}
    assert found == {key: b"new " + key for key in keys[:9]} | {b"k7": None, b"none": None}
