"""The topics that the feeds declare: created at deploy, and brought up to date when a declaration changes."""

from collections.abc import Iterable

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from contracts.feeds import Feed
from contracts.kafka_access import PLAIN, KafkaAccess
from stack.errors import StackError
from stack.kafka import admin

MILLISECONDS_PER_DAY = 86_400_000


def wanted(feeds: Iterable[Feed], replication: int) -> dict[str, NewTopic]:
    """Every topic of every feed. Derived topics are compacted: readers see the last output of each reading once."""
    topics = {}
    for feed in feeds:
        kept = {"retention.ms": str(feed.retention_days * MILLISECONDS_PER_DAY), "cleanup.policy": "delete"}
        compacted = {**kept, "cleanup.policy": "compact,delete"}
        for name, partitions, config in (
            (feed.topic, feed.partitions, kept),
            (feed.scored_topic, feed.partitions, compacted),
            (feed.anomalies_topic, feed.partitions, compacted),
            (feed.dead_letter_topic, 1, kept),
        ):
            topics[name] = NewTopic(name, partitions, replication, config=config)
    return topics


def deploy(
    bootstrap: str,
    feeds: Iterable[Feed],
    replication: int = 1,
    access: KafkaAccess = PLAIN,
    more: Iterable[NewTopic] = (),
) -> list[str]:
    """Create missing topics, add partitions and change settings where declarations changed; says what it did.

    `more` are topics beside those of the feeds.
    """
    client = admin(bootstrap, access)
    topics = wanted(feeds, replication) | {topic.topic: topic for topic in more}
    existing = client.list_topics(timeout=10).topics
    changes = create(client, [topic for name, topic in topics.items() if name not in existing])
    for name, topic in topics.items():
        if name not in existing:
            continue
        has = len(existing[name].partitions)
        if has > topic.num_partitions:
            what = f"topic {name} has {has} partitions, its feed declares {topic.num_partitions}; Kafka cannot take any away"
            raise StackError(what, remedy=f"declare partitions: {has}, or delete the topic")
        if has < topic.num_partitions:
            client.create_partitions([NewPartitions(name, topic.num_partitions)])[name].result(timeout=30)
            changes.append(f"{name}: {has} → {topic.num_partitions} partitions")
    return changes + configure(client, [topic for name, topic in topics.items() if name in existing])


def create(client: AdminClient, topics: list[NewTopic]) -> list[str]:
    if not topics:
        return []
    return [f"{name}: created" for name, future in client.create_topics(topics).items() if future.result(timeout=30) is None]


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
