"""The topics that feeds and queries declare: created at deploy, and brought up to date when a declaration changes.

A record's timestamp is the time at which the broker took it (`LogAppendTime`), whatever the cluster's default is: the retention,
the order of corrections and each start at a time count from it, and a producer's clock may be wrong.

Kafka deletes segments whole, once their newest record is old enough, and compacts none that it still writes. So a segment spans a
seventh of the retention, a week at most; with Kafka's own week a topic that is to keep one day would keep eight.
"""

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from contracts.declarations import Topic
from contracts.kafka_access import PLAIN, KafkaAccess
from stack.deploy.cluster import admin, in_sync
from stack.errors import StackError

MILLISECONDS_PER_DAY = 86_400_000
FOREVER = "-1"
LONGEST_SEGMENTS = 49  # days of retention from which on a segment spans no more


def wanted(topics: Iterable[Topic], replication: int | None = None) -> dict[str, NewTopic]:
    """By name, as Kafka takes them; without what follows from the replication where that is not known."""
    return {topic.name: _new(topic, replication) for topic in topics}


def _new(topic: Topic, replication: int | None) -> NewTopic:
    days = topic.retention_days
    cleanup = "delete" if not topic.compacted else "compact" if days is None else "compact,delete"
    config = {
        "cleanup.policy": cleanup,
        "message.timestamp.type": "LogAppendTime",
        "retention.ms": FOREVER if days is None else str(days * MILLISECONDS_PER_DAY),
        "segment.ms": str(min(days or LONGEST_SEGMENTS, LONGEST_SEGMENTS) * MILLISECONDS_PER_DAY // 7),
    }
    if replication is None:
        return NewTopic(topic.name, topic.partitions, config=config)
    return NewTopic(topic.name, topic.partitions, replication, config=config | {"min.insync.replicas": str(in_sync(replication))})


def deploy(
    bootstrap: str,
    topics: Iterable[Topic],
    replication: int = 1,
    access: KafkaAccess = PLAIN,
    more: Iterable[NewTopic] = (),
) -> list[str]:
    """Create missing topics, add partitions and change settings where declarations changed; says what it did.

    `more` are topics beside those declared.
    """
    client = admin(bootstrap, access)
    existing = client.list_topics(timeout=10).topics

    def copies(name: str) -> int:
        """Of a topic that exists they stay as many."""
        return len(existing[name].partitions[0].replicas) if name in existing else replication

    all_ = {topic.name: _new(topic, copies(topic.name)) for topic in topics} | {topic.topic: topic for topic in more}
    changes = create(client, [topic for name, topic in all_.items() if name not in existing])
    for name, topic in all_.items():
        if name not in existing:
            continue
        has = len(existing[name].partitions)
        if has > topic.num_partitions:
            what = f"topic {name} has {has} partitions, its declaration says {topic.num_partitions}; Kafka cannot take any away"
            raise StackError(what, remedy=f"declare partitions: {has}, or delete the topic")
        if has < topic.num_partitions:
            client.create_partitions([NewPartitions(name, topic.num_partitions)])[name].result(timeout=30)
            changes.append(f"{name}: {has} → {topic.num_partitions} partitions")
    return changes + configure(client, [topic for name, topic in all_.items() if name in existing])


def create(client: AdminClient, topics: list[NewTopic]) -> list[str]:
    """Create these; one that another process has created meanwhile counts as created."""
    if not topics:
        return []
    made = []
    for name, future in client.create_topics(topics).items():
        try:
            future.result(timeout=30)
            made.append(f"{name}: created")
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    return made


def configure(client: AdminClient, topics: list[NewTopic]) -> list[str]:
    """Set what differs from the declaration."""
    if not topics:
        return []
    configs = {topic.topic: topic.config for topic in topics}
    described = client.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in configs])
    changes, resources = [], []
    for resource, future in described.items():
        actual = future.result(timeout=30)
        different = {key: value for key, value in configs[resource.name].items() if actual[key].value != value}
        if different:
            entries = [ConfigEntry(k, v, incremental_operation=AlterConfigOpType.SET) for k, v in different.items()]
            resources.append(ConfigResource(ResourceType.TOPIC, resource.name, incremental_configs=entries))
            changes.extend(f"{resource.name}: {key} {actual[key].value} → {value}" for key, value in different.items())
    if resources:
        for future in client.incremental_alter_configs(resources).values():
            future.result(timeout=30)
    return changes
