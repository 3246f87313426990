"""Versions that live beside each other on a real broker and registry: old and new producers, old and new consumers, and the
declared converter that serves those who know the old version only."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.serialization import SerializationError
from fastavro.read import SchemaResolutionError

from contracts import avro
from contracts.avro import Level
from contracts.declarations import Topic, dead_letter_topic
from contracts.declared_topics import query_topics
from contracts.queries import load_queries
from jobs import run_queries
from jobs.backends.registry import Registry
from jobs.errors import JobError
from jobs.streams import feeds_read
from stack.deploy import schemas, topics
from supervision.files import StreamFolder
from tests.jobs.meters import AT, Billing, Meters, first, second

V1, V2 = (avro.text("meter_reading", version) for version in (1, 2))


@pytest.fixture
def consumers(broker):
    """consumers(topic, schema): one of its own group, closed in the end."""
    made = []

    def consumer(topic: str, schema: str) -> Billing:
        made.append(Billing(broker, topic, schema))
        return made[-1]

    yield consumer
    for each in made:
        each.close()


def test_where_a_level_is_full_old_and_new_producers_and_consumers_go_together_in_any_order(broker, consumers):
    old = json.loads(V1)
    new = old | {"fields": [*old["fields"], {"name": "Source", "type": "string", "default": "manual"}]}
    topic = f"full-{uuid.uuid4().hex[:8]}"
    topics.deploy(broker.kafka, [Topic(topic, 1, 7)])
    client = SchemaRegistryClient({"url": broker.registry})
    schemas.register_one(client, avro.subject(topic), json.dumps(old), Level.FULL)
    old_consumer, old_producer = consumers(topic, json.dumps(old)), Meters(broker, topic, json.dumps(old))
    old_producer.send(first("m-1", 10))
    assert old_consumer.read(1) == [first("m-1", 10)]
    schemas.register_one(client, avro.subject(topic), json.dumps(new), Level.FULL)
    Meters(broker, topic, json.dumps(new)).send(first("m-2", 20) | {"Source": "remote"})
    old_producer.send(first("m-1", 30))
    assert old_consumer.read(2) == [first("m-2", 20), first("m-1", 30)]
    assert consumers(topic, json.dumps(new)).read(3) == [
        first("m-1", 10) | {"Source": "manual"},
        first("m-2", 20) | {"Source": "remote"},
        first("m-1", 30) | {"Source": "manual"},
    ]


def test_what_is_written_bears_the_id_of_the_contract_that_it_was_written_with_not_of_the_newest(live_platform, broker):
    subject = f"ids-{uuid.uuid4().hex[:8]}-value"
    client, registry = SchemaRegistryClient({"url": broker.registry}), Registry(live_platform)
    ids = [schemas.register_one(client, subject, schema, Level.BACKWARD) for schema in (V1, V2)]
    assert [registry.id_of(subject, avro.schema("meter_reading", version)) for version in (1, 2)] == ids
    with pytest.raises(JobError, match=f"subject {subject}: lacks what is declared; `sundial schemas register`"):
        registry.id_of(subject, avro.latest("taxi_ride"))


class Converter:
    """The declared query `meter-readings-v1` between topics of its own."""

    def __init__(self, platform, run_job, name: str):
        self._platform, self._run_job, self.topic, self.old_topic = platform, run_job, name, f"{name}.v1"

    def while_running(self, act: Callable[[], list]) -> list:
        """What `act` gives, which is done beside the driver; then the driver is stopped."""
        stream = StreamFolder.of(self._platform.streams, self.topic, "queries")
        stream.make()

        def conduct() -> list:
            try:
                return act()
            finally:
                stream.request_stop()

        with ThreadPoolExecutor(1) as beside:
            found = beside.submit(conduct)
            self._run_job(run_queries, self._platform, "--application", self.topic)
            return found.result()


@pytest.fixture
def converter(live_platform, broker, run_job, monkeypatch, own_signals):
    name = f"meters-{uuid.uuid4().hex[:8]}"
    made = Converter(live_platform, run_job, name)
    query = load_queries()["meter-readings-v1"]
    inputs = {alias: each.model_copy(update={"topic": made.topic}) for alias, each in query.inputs.items()}
    outputs = tuple(each.model_copy(update={"topic": made.old_topic}) for each in query.outputs)
    own = query.model_copy(update={"inputs": inputs, "outputs": outputs})
    monkeypatch.setattr(feeds_read, "load_application", lambda *_: {own.name: own})
    topics.deploy(broker.kafka, query_topics([own]))
    schemas.register(broker.registry, query_topics([own]))
    return made


@pytest.mark.full
def test_a_converter_serves_old_consumers_while_old_and_new_producers_write(converter, broker, consumers):
    old_producer, new_producer = (Meters(broker, converter.topic, schema) for schema in (V1, V2))
    old_producer.send(first("m-1", 10, "east"))
    new_producer.send(second("m-2", 20, "west"), second("m-3", 2**31))
    served = consumers(converter.old_topic, V1)

    def live() -> list:
        before = served.messages(2)
        new_producer.send(second("m-2", 40, "west"))
        return before + served.messages(1)

    messages = converter.while_running(live)
    assert [served.decoded(message) for message in messages] == [
        first("m-1", 10, "east"),
        first("m-2", 20, "west"),
        first("m-2", 40, "west"),
    ]
    assert [message.key() for message in messages] == [b"m-1", b"m-2", b"m-2"]
    assert SchemaRegistryClient({"url": broker.registry}).get_versions(avro.subject(converter.old_topic)) == [1]
    (letter,) = consumers(dead_letter_topic(converter.old_topic), V1).messages(1)
    assert dict(letter.headers())["reason"] == b"null where meter_reading wants a value: WattHours"
    assert json.loads(letter.value())["Meter"] == "m-3"

    new_consumer = consumers(converter.topic, V2).read(4)
    assert new_consumer[0] == {"Meter": "m-1", "At": AT, "Zone": "east", "WattHours": 10, "Source": "manual"}
    assert new_consumer[2] == second("m-3", 2**31)
    unserved = consumers(converter.topic, V1)
    with pytest.raises((SerializationError, SchemaResolutionError)):
        unserved.decoded(unserved.messages(2)[1])
