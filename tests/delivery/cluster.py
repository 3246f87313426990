"""Three brokers to be written to, read from, killed, paused and brought back."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import NewTopic, PartitionMetadata

from stack import kafka, process
from stack.home import Home, numbered

ALL = {"acks": "all", "enable.idempotence": True}


def until(holds: Callable[[], bool], what: str, seconds: float = 60) -> float:
    """Wait for it; how long it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - began


@dataclass
class Cluster:
    home: Home

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
        client = kafka.admin(self.home.kafka)
        client.create_topics([NewTopic(name, config=settings, **placed)])[name].result(timeout=30)
        until(lambda: all(found.leader in found.isrs for found in self.partitions(name).values()), f"{name} has leaders")
        return name

    def leader(self, topic: str) -> int:
        """Of its first partition; -1 if it has none."""
        return self.partitions(topic)[0].leader

    def in_sync(self, topic: str) -> set[int]:
        return set(self.partitions(topic)[0].isrs)

    def partitions(self, topic: str) -> dict[int, PartitionMetadata]:
        client, found = kafka.admin(self.home.kafka), {}

        def known() -> bool:
            """Each broker hears of a new topic by itself, and any of them may answer."""
            found.update(client.list_topics(timeout=10).topics)
            return topic in found

        until(known, f"{topic} is known")
        return found[topic].partitions

    def broker(self, number: int) -> psutil.Process:
        return process.find(self.home, numbered(kafka.NAME, number))

    @contextmanager
    def without(self, *brokers: int) -> Iterator[None]:
        """They are killed, and come back."""
        killed = [self.broker(number) for number in brokers]
        for each in killed:
            each.kill()
        process.wait_gone(killed, 5)
        try:
            yield
        finally:
            kafka.start(self.home)

    def producer(self, **options) -> Producer:
        return Producer({"bootstrap.servers": self.home.kafka, "log_level": 0, "linger.ms": 0} | options)

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
        return Consumer({"bootstrap.servers": self.home.kafka, "auto.offset.reset": "earliest"} | quiet | options)

    def messages(self, topic: str, **options) -> list[Message]:
        """All that a reader is given now, up to the end that is shown to it."""
        consumer, found = self.consumer(**({"enable.partition.eof": True} | options)), []
        ahead = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in ahead])
        deadline = time.monotonic() + 30
        while ahead:
            assert time.monotonic() < deadline, f"{topic}: no end of {ahead} within 30 s"
            for message in consumer.consume(10_000, timeout=0.2):
                if not message.error():
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ahead.discard(message.partition())
        consumer.close()
        return found

    def values(self, topic: str, **options) -> list[str]:
        return [message.value().decode() for message in self.messages(topic, **options)]
