"""Producers and consumers of meter readings that know one version of the contract, as other people's applications do."""

import datetime as dt
import time
import uuid

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

AT = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
PATIENCE = 120.0


def first(meter: str, watt_hours: int, district: str = "north") -> dict:
    """A reading of version 1."""
    return {"Meter": meter, "At": AT, "District": district, "WattHours": watt_hours}


def second(meter: str, watt_hours: int, zone: str = "south", source: str = "remote") -> dict:
    """A reading of version 2."""
    return {"Meter": meter, "At": AT, "Zone": zone, "WattHours": watt_hours, "Source": source}


class Meters:
    """Writes to a topic with one schema, which must be registered."""

    def __init__(self, broker, topic: str, schema: str):
        registry = SchemaRegistryClient({"url": broker.registry})
        self._serialize = AvroSerializer(registry, schema, conf={"auto.register.schemas": False})
        self._producer, self._topic = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True}), topic

    def send(self, *readings: dict) -> None:
        for reading in readings:
            value = self._serialize(reading, SerializationContext(self._topic, MessageField.VALUE))
            self._producer.produce(self._topic, value, reading["Meter"], partition=0)
        assert self._producer.flush(30) == 0


class Billing:
    """Reads a topic as one schema has it, whatever the records were written with; a group of its own."""

    def __init__(self, broker, topic: str, schema: str):
        self._deserialize = AvroDeserializer(SchemaRegistryClient({"url": broker.registry}), schema)
        options = {"group.id": f"billing-{uuid.uuid4().hex[:8]}", "auto.offset.reset": "earliest"}
        self._consumer, self._topic = Consumer({"bootstrap.servers": broker.kafka, **options}), topic
        self._consumer.subscribe([topic])

    def read(self, count: int) -> list[dict]:
        return [self.decoded(message) for message in self.messages(count)]

    def messages(self, count: int) -> list[Message]:
        got, deadline = [], time.monotonic() + PATIENCE
        while len(got) < count and time.monotonic() < deadline:
            got += self._consumer.consume(count - len(got), timeout=0.5)
        assert len(got) == count
        return got

    def decoded(self, message: Message) -> dict:
        return self._deserialize(message.value(), SerializationContext(self._topic, MessageField.VALUE))

    def close(self) -> None:
        self._consumer.close()
