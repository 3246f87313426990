"""The topics that feeds and queries declare: created at deploy, and brought up to date when a declaration changes.

A record's timestamp is the time at which the broker took it (`LogAppendTime`), whatever the cluster's default is: the retention,
the order of corrections and each start at a time count from it, and a producer's clock may be wrong.

Kafka deletes segments whole, once their newest record is old enough, and compacts none that it still writes. So a segment spans a
seventh of the retention, a week at most; with Kafka's own week a topic that is to keep one day would keep eight.
"""

import time
from collections.abc import Iterable, Mapping

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
from contracts.kafka_credentials import PLAIN, KafkaCredentials
from stack.deploy import answers
from stack.deploy.cluster import admin, in_sync
from stack.errors import StackError

MILLISECONDS_PER_DAY = 86_400_000
FOREVER = "-1"
VISIBLE_WITHIN = 60  # seconds
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
    credentials: KafkaCredentials = PLAIN,
    more: Iterable[NewTopic] = (),
) -> list[str]:
    """Create missing topics, add partitions and change settings where declarations changed; says what it did.

    `more` are topics beside those declared. Raises StackError if the brokers do not answer.
    """
    with answers.from_kafka(bootstrap):
        return _deploy(admin(bootstrap, credentials), topics, replication, more)


def _deploy(client: AdminClient, topics: Iterable[Topic], replication: int, more: Iterable[NewTopic]) -> list[str]:
    topics, existing = list(topics), client.list_topics(timeout=10).topics
    growing = {topic.name for topic in topics if topic.grows}

    def copies(name: str) -> int:
        """Of a topic that exists they stay as many."""
        return len(existing[name].partitions[0].replicas) if name in existing else replication

    all_ = {topic.name: _new(topic, copies(topic.name)) for topic in topics} | {topic.topic: topic for topic in more}
    more_partitions = {}
    for name, topic in all_.items():
        if name in existing and (has := len(existing[name].partitions)) != topic.num_partitions:
            _refuse_what_kafka_cannot(topic, has, grows=name in growing)
            more_partitions[name] = has
    changes = create(client, [topic for name, topic in all_.items() if name not in existing])
    for name, has in more_partitions.items():
        client.create_partitions([NewPartitions(name, all_[name].num_partitions)])[name].result(timeout=30)
        changes.append(f"{name}: {has} → {all_[name].num_partitions} partitions")
    changes += configure(client, [topic for name, topic in all_.items() if name in existing])
    if changes:
        _await_visible(client, all_)
    return changes


def _refuse_what_kafka_cannot(topic: NewTopic, has: int, *, grows: bool) -> None:
    """Raises StackError where the topic can't get the number of partitions that its declaration says."""
    said = f"its declaration says {topic.num_partitions}"
    if has > topic.num_partitions:
        what = f"topic {topic.topic} has {has} partitions, {said}; Kafka cannot take any away"
        raise StackError(what, remedy=f"declare partitions: {has}, or delete the topic")
    if "compact" in topic.config["cleanup.policy"] and not grows:
        what = (
            f"topic {topic.topic} is a table of {has} partitions, {said}; newer rows of a key would go to another partition than "
            "its older ones, and readers could take an older row for the last"
        )
        raise StackError(what, remedy=f"declare partitions: {has}, or write the rows to a new topic")


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
    changes, resources = [], []
    for name, different in _differences(client, topics).items():
        entries = [ConfigEntry(k, new, incremental_operation=AlterConfigOpType.SET) for k, (_, new) in different.items()]
        resources.append(ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries))
        changes.extend(f"{name}: {key} {old} → {new}" for key, (old, new) in different.items())
    if resources:
        for future in client.incremental_alter_configs(resources).values():
            future.result(timeout=30)
    return changes


def _differences(client: AdminClient, topics: Iterable[NewTopic]) -> dict[str, dict[str, tuple[str, str]]]:
    """By topic, the settings that are not as declared: (is, declared)."""
    configs, found = {topic.topic: topic.config for topic in topics}, {}
    for resource, future in client.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in configs]).items():
        actual = future.result(timeout=30)
        different = {k: (actual[k].value, value) for k, value in configs[resource.name].items() if actual[k].value != value}
        if different:
            found[resource.name] = different
    return found


def _await_visible(client: AdminClient, topics: Mapping[str, NewTopic]) -> None:
    """Return when the brokers show what they were asked for: the controller says yes before they know of it."""
    deadline = time.monotonic() + VISIBLE_WITHIN
    while not _visible(client, topics):
        if time.monotonic() > deadline:
            raise StackError(
                f"the brokers have not taken up the changes of topics within {VISIBLE_WITHIN} s", remedy="look at their logs"
            )
        time.sleep(0.05)


def _visible(client: AdminClient, topics: Mapping[str, NewTopic]) -> bool:
    known = client.list_topics(timeout=10).topics
    if any(name not in known or len(known[name].partitions) < topic.num_partitions for name, topic in topics.items()):
        return False
    try:
        return not _differences(client, topics.values())
    except KafkaException as error:
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise
        return False
