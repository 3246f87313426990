"""What jobs find in topics; a topic that is missing, or a broker that does not answer, is named."""

import uuid
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from jobs.backends import kafka
from jobs.errors import JobError
from tests.support.topics import consume, produce


def test_a_topic_that_does_not_exist_is_named(broker, lake_platform):
    with pytest.raises(JobError, match=r"topic nowhere: .*`sundial up` creates"):
        kafka.available(replace(lake_platform, kafka=broker.kafka), "nowhere")


def test_a_broker_that_does_not_answer_is_named(lake_platform, monkeypatch):
    monkeypatch.setattr(kafka, "PATIENCE", 0.5)
    with pytest.raises(JobError, match=r"Kafka at 127\.0\.0\.1:1 does not say how far calls go: "):
        kafka.Ends(lake_platform, ["calls"]).now()


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
