"""Topics in a real broker: created as declared, brought up to date when a declaration changes, refused where they don't fit."""

import uuid

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, ResourceType

from contracts.declarations import Topic
from contracts.feeds import Feed
from stack.deploy import cluster, topics
from stack.errors import StackError
from tests.support.waiting import until


def feed(**overrides) -> Feed:
    declared = {"name": f"deploy-{uuid.uuid4().hex[:8]}", "description": "of the test", "record": "service_use_record"}
    return Feed(**{**declared, "partitions": 2, "retention_days": 3, **overrides})


def settings(broker, topic: str, source: ConfigSource | None = None) -> dict[str, str]:
    """The topic's settings. source: only those that come from there, such as the topic itself or the broker's defaults."""
    client = cluster.admin(broker.kafka)
    (future,) = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    found = future.result(timeout=10).items()
    return {name: entry.value for name, entry in found if source is None or entry.source == source.value}


def partitions(broker, topic: str) -> int:
    return len(cluster.admin(broker.kafka).list_topics(timeout=10).topics[topic].partitions)


def test_a_feeds_topics_are_created_as_declared(broker):
    declared = feed()
    changes = topics.deploy(broker.kafka, declared.topics)
    assert sorted(changes) == sorted(
        f"{declared.name}{suffix}: created" for suffix in ("", ".scored", ".anomalies", ".incidents", ".dead-letter")
    )
    assert partitions(broker, declared.topic) == 2
    assert partitions(broker, declared.dead_letter_topic) == 1
    source, scored = settings(broker, declared.topic), settings(broker, declared.scored_topic)
    assert source["retention.ms"] == str(3 * 86_400_000)
    assert source["cleanup.policy"] == "delete"
    assert set(scored["cleanup.policy"].split(",")) == {"compact", "delete"}
    assert source["segment.ms"] == str(3 * 86_400_000 // 7), "or three days would be ten"
    assert source["min.insync.replicas"] == "1"


def test_a_topic_counts_from_the_brokers_clock_whatever_the_clusters_default_is(broker):
    """A capture of years ago is not deleted at once, and no producer's clock decides what is newer."""
    declared = feed()
    topics.deploy(broker.kafka, declared.topics)
    for topic in (declared.topic, declared.scored_topic, declared.anomalies_topic, declared.dead_letter_topic):
        assert settings(broker, topic, ConfigSource.DYNAMIC_TOPIC_CONFIG)["message.timestamp.type"] == "LogAppendTime"
    entry = ConfigEntry("message.timestamp.type", "CreateTime", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, declared.topic, incremental_configs=[entry])
    client = cluster.admin(broker.kafka)
    client.incremental_alter_configs([changed])[changed].result(timeout=30)
    until("the broker knows", lambda: settings(broker, declared.topic)["message.timestamp.type"] == "CreateTime")
    changes = topics.deploy(broker.kafka, declared.topics)
    assert changes == [f"{declared.topic}: message.timestamp.type CreateTime → LogAppendTime"]


def test_a_table_is_kept_for_ever(broker):
    name = f"table-{uuid.uuid4().hex[:8]}"
    topics.deploy(broker.kafka, [Topic(name, 1, None, compacted=True)])
    found = settings(broker, name)
    assert (found["cleanup.policy"], found["retention.ms"], found["segment.ms"]) == ("compact", "-1", str(7 * 86_400_000))


def test_deploying_again_changes_nothing_and_a_changed_declaration_is_carried_out(broker):
    declared = feed()
    topics.deploy(broker.kafka, declared.topics)
    assert topics.deploy(broker.kafka, declared.topics) == []
    changed = declared.model_copy(update={"partitions": 4, "retention_days": 5})
    changes = topics.deploy(broker.kafka, changed.topics)
    assert f"{declared.name}: 2 → 4 partitions" in changes
    assert f"{declared.name}: retention.ms 259200000 → 432000000" in changes
    assert settings(broker, declared.scored_topic)["retention.ms"] == "432000000"
    assert topics.deploy(broker.kafka, changed.topics) == []


def test_fewer_partitions_than_there_are_is_an_error_that_names_the_topic(broker):
    declared = feed()
    topics.deploy(broker.kafka, declared.topics)
    with pytest.raises(StackError, match=f"topic {declared.name} has 2 partitions, its declaration says 1"):
        topics.deploy(broker.kafka, declared.model_copy(update={"partitions": 1}).topics)


@pytest.mark.parametrize("retention_days", [None, 7])
def test_a_table_gets_no_more_partitions_and_nothing_else_is_changed_before_that_is_said(broker, retention_days):
    """A key's newer row would go to another partition, and the older one would stay for ever."""
    table, other = f"table-{uuid.uuid4().hex[:8]}", f"other-{uuid.uuid4().hex[:8]}"
    topics.deploy(broker.kafka, [Topic(table, 2, retention_days, compacted=True)])
    with pytest.raises(StackError, match=f"topic {table} is a table of 2 partitions, its declaration says 3"):
        topics.deploy(broker.kafka, [Topic(other, 1, 7), Topic(table, 3, retention_days, compacted=True)])
    found = cluster.admin(broker.kafka).list_topics(timeout=10).topics
    assert len(found[table].partitions) == 2
    assert other not in found


def test_a_misspelt_topic_is_not_created_by_asking_for_it(broker):
    name = f"nobody-declared-{uuid.uuid4().hex[:8]}"
    client = cluster.admin(broker.kafka)
    client.list_topics(name, timeout=10)
    assert name not in client.list_topics(timeout=10).topics


def test_the_registry_keeps_its_schemas_for_ever(broker):
    assert settings(broker, "kafkasql-journal")["retention.ms"] == "-1"
