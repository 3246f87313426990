"""Three brokers to be written to, read from, killed, paused and brought back."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import NewTopic, PartitionMetadata

from stack.deploy.cluster import admin
from stack.instance import Instance, numbered
from stack.parts import kafka, process
from tests.support import topics
from tests.support.waiting import until

ALL = {"acks": "all", "enable.idempotence": True}


@dataclass
class Cluster:
    instance: Instance

    def topic(self, partitions: int = 1, leader: int | None = None, **config: str | int) -> str:
        """A new one, kept by all three; where it has one partition, its leader may be chosen. Settings with _ for each dot."""
        name = f"t-{uuid.uuid4().hex[:8]}"
        settings = {"min.insync.replicas": "2"} | {key.replace("_", "."): str(value) for key, value in config.items()}
        order = [leader, *({1, 2, 3} - {leader})] if leader else None
        placed = (
            {"num_partitions": 1, "replica_assignment": [order]}
            if order
            else {"num_partitions": partitions, "replication_factor": 3}
        )
        client = admin(self.instance.kafka)
        client.create_topics([NewTopic(name, config=settings, **placed)])[name].result(timeout=30)
        until(f"{name} has leaders", lambda: all(found.leader in found.isrs for found in self.partitions(name).values()))
        return name

    def leader(self, topic: str) -> int:
        """Of its first partition; -1 if it has none."""
        return self.partitions(topic)[0].leader

    def in_sync(self, topic: str) -> set[int]:
        return set(self.partitions(topic)[0].isrs)

    def partitions(self, topic: str) -> dict[int, PartitionMetadata]:
        client, found = admin(self.instance.kafka), {}

        def known() -> bool:
            """Each broker learns of a new topic by itself, and any of them may answer."""
            found.update(client.list_topics(timeout=10).topics)
            return topic in found

        until(f"{topic} is known", known)
        return found[topic].partitions

    def broker(self, number: int) -> psutil.Process:
        return process.find(self.instance, numbered(kafka.NAME, number))

    def port(self, number: int) -> int:
        return self.instance.ports[numbered(kafka.NAME, number)]

    @contextmanager
    def without(self, *brokers: int) -> Iterator[None]:
        """They are killed, and come back."""
        killed = [self.broker(number) for number in brokers]
        for each in killed:
            each.kill()
        assert not process.wait_gone(killed, 60)
        try:
            yield
        finally:
            kafka.start(self.instance)

    def producer(self, **options) -> Producer:
        return Producer({"bootstrap.servers": self.instance.kafka, "log_level": 0, "linger.ms": 0} | options)

    def write(self, topic: str, values: Iterable[str], **options) -> list[str | int | None]:
        """Of each value its offset once confirmed, None where nobody confirms, or the name of the error."""
        outcomes: dict[bytes, str | int | None] = {}

        def told(error, message: Message) -> None:
            outcomes[message.value()] = error.name() if error else message.offset()

        values = [value.encode() for value in values]
        producer = self.producer(**(ALL | options))
        for value in values:
            producer.produce(topic, value, on_delivery=told)
        assert producer.flush(60) == 0
        return [outcomes[value] for value in values]

    def put(self, topic: str, key: str, value: str | None) -> None:
        producer = self.producer(**ALL)
        producer.produce(topic, value, key)
        assert producer.flush(30) == 0

    def consumer(self, **options) -> Consumer:
        quiet = {"log_level": 0, "group.id": uuid.uuid4().hex, "enable.auto.commit": False, "fetch.queue.backoff.ms": 5}
        return Consumer({"bootstrap.servers": self.instance.kafka, "auto.offset.reset": "earliest"} | quiet | options)

    def messages(self, topic: str, committed: bool = True) -> list[Message]:
        """All that a reader gets now. committed: without the records of transactions that are open or aborted."""
        return topics.consume(self.instance.kafka, topic, committed=committed)

    def values(self, topic: str, committed: bool = True) -> list[str]:
        return [message.value().decode() for message in self.messages(topic, committed)]
