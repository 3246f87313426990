"""A broker or a registry that does not answer is named, with what to do."""

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.schema_registry import SchemaRegistryClient

from stack.deploy import answers, schemas, topics
from stack.errors import StackError

NOBODY = "127.0.0.1:9"  # the port of a service that no machine has any more


def test_brokers_that_are_down_are_named():
    with pytest.raises(StackError) as raised, answers.from_kafka(NOBODY):
        Consumer({"bootstrap.servers": NOBODY, "group.id": "any", "log_level": 0}).list_topics(timeout=0.5)
    assert str(raised.value).splitlines() == [
        "Kafka at 127.0.0.1:9 does not answer",
        "what to do: start the brokers (`sundial up`) or correct SUNDIAL_KAFKA",
    ]


def test_a_request_without_an_answer_in_time_is_no_trace():
    with pytest.raises(StackError, match=r"^Kafka at 127\.0\.0\.1:9 does not answer"), answers.from_kafka(NOBODY):
        raise TimeoutError


def test_what_a_broker_refuses_stays_what_it_is():
    refused = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(KafkaException) as raised, answers.from_kafka(NOBODY):
        raise refused
    assert raised.value is refused


def test_a_registry_that_is_down_is_named():
    client = SchemaRegistryClient({"url": f"http://{NOBODY}", "max.retries": 0})
    with pytest.raises(StackError) as raised, answers.from_registry(f"http://{NOBODY}"):
        client.get_subjects()
    assert str(raised.value).splitlines() == [
        "the schema registry at http://127.0.0.1:9 does not answer",
        "what to do: start it (`sundial up`) or correct SUNDIAL_REGISTRY",
    ]


@pytest.mark.full
def test_a_deployment_names_what_is_down():
    with pytest.raises(StackError, match=r"^Kafka at 127\.0\.0\.1:9 does not answer"):
        topics.deploy(NOBODY, [])
    with pytest.raises(StackError, match=r"^the schema registry at http://127\.0\.0\.1:9 does not answer"):
        schemas.incompatible(f"http://{NOBODY}", [])
