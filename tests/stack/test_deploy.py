"""Topics and contracts in a real broker and registry: deployed once, brought up to date, and refused where they don't fit."""

import json
import uuid

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, Schema, SchemaRegistryClient, ServerConfig
from confluent_kafka.schema_registry.error import SchemaRegistryError

from contracts.avro import Level
from contracts.declarations import Topic
from contracts.feeds import Feed
from stack import kafka, schemas, topics
from stack.errors import StackError


def feed(**overrides) -> Feed:
    declared = {"name": f"deploy-{uuid.uuid4().hex[:8]}", "description": "of the test", "record": "service_use_record"}
    return Feed(**{**declared, "partitions": 2, "retention_days": 3, **overrides})


def settings(broker, topic: str) -> dict[str, str]:
    client = kafka.admin(broker.kafka)
    (future,) = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    return {name: entry.value for name, entry in future.result(timeout=10).items()}


def partitions(broker, topic: str) -> int:
    return len(kafka.admin(broker.kafka).list_topics(timeout=10).topics[topic].partitions)


def test_a_feeds_topics_are_created_as_declared(broker):
    declared = feed()
    changes = topics.deploy(broker.kafka, declared.topics)
    assert sorted(changes) == sorted(
        f"{declared.name}{suffix}: created" for suffix in ("", ".scored", ".anomalies", ".dead-letter")
    )
    assert partitions(broker, declared.topic) == 2
    assert partitions(broker, declared.dead_letter_topic) == 1
    source, scored = settings(broker, declared.topic), settings(broker, declared.scored_topic)
    assert source["retention.ms"] == str(3 * 86_400_000)
    assert source["cleanup.policy"] == "delete"
    assert source["message.timestamp.type"] == "LogAppendTime"  # a capture of years ago is not deleted at once
    assert set(scored["cleanup.policy"].split(",")) == {"compact", "delete"}
    assert source["segment.ms"] == str(3 * 86_400_000 // 7), "or three days would be ten"
    assert source["min.insync.replicas"] == "1"


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


def test_a_misspelt_topic_is_not_created_by_asking_for_it(broker):
    name = f"nobody-declared-{uuid.uuid4().hex[:8]}"
    client = kafka.admin(broker.kafka)
    client.list_topics(name, timeout=10)
    assert name not in client.list_topics(timeout=10).topics


def test_the_registry_keeps_its_schemas_for_ever(broker):
    assert settings(broker, "kafkasql-journal")["retention.ms"] == "-1"


def test_contracts_are_registered_once_under_their_topics_with_full_compatibility(broker):
    declared = feed()
    ids = schemas.register(broker.registry, declared.topics)
    assert set(ids) == {f"{declared.name}{suffix}-value" for suffix in ("", ".scored", ".anomalies")}
    assert schemas.register(broker.registry, declared.topics) == ids
    client = SchemaRegistryClient({"url": broker.registry})
    subject = f"{declared.name}-value"
    assert client.get_config(subject).compatibility_level == "FULL"
    assert json.loads(client.get_latest_version(subject).schema.schema_str)["name"] == "service_use_record"
    assert schemas.incompatible(broker.registry, declared.topics) == {}


OTHER = {"type": "record", "name": "service_use_record", "namespace": "sundial", "fields": [{"name": "Colour", "type": "string"}]}


def test_an_incompatible_schema_is_refused_by_subject_and_field(broker):
    declared = feed()
    schemas.register(broker.registry, declared.topics)
    client = SchemaRegistryClient({"url": broker.registry})
    subject = f"{declared.name}-value"
    with pytest.raises(StackError) as failure:
        schemas.register_one(client, subject, json.dumps(OTHER), Level.FULL)
    assert failure.value.what.splitlines() == [
        f"{subject}: the new version is refused as incompatible (FULL):",
        "  Colour: readers of the new version need it (it has no default there), and records of version 1 have none",
        "  Timestamp: readers of version 1 need it (it has no default there), and records of the new version have none",
        "  Value: readers of version 1 need it (it has no default there), and records of the new version have none",
    ]
    with pytest.raises(SchemaRegistryError, match="Colour at /fields/0") as registrys:
        client.register_schema(subject, Schema(json.dumps(OTHER), "AVRO"))
    assert registrys.value.http_status_code == 409
    assert client.get_versions(subject) == [1]


def test_a_compatible_version_is_taken(broker):
    declared = feed()
    schemas.register(broker.registry, declared.topics)
    client = SchemaRegistryClient({"url": broker.registry})
    subject = f"{declared.name}-value"
    grown = json.loads(client.get_latest_version(subject).schema.schema_str)
    grown["fields"].append({"name": "Region", "type": ["null", "string"], "default": None})
    schemas.register_one(client, subject, json.dumps(grown), Level.FULL)
    assert client.get_versions(subject) == [1, 2]
    assert (
        schemas.register(broker.registry, declared.topics)[subject]
        == client.lookup_schema(subject, Schema(client.get_version(subject, 1).schema.schema_str, "AVRO")).schema_id
    )


def test_a_check_names_what_the_registry_would_refuse(broker):
    declared = feed()
    subject = f"{declared.name}-value"
    client = SchemaRegistryClient({"url": broker.registry})
    client.register_schema(subject, Schema(json.dumps(OTHER), "AVRO"))
    client.set_config(subject, ServerConfig(compatibility=ConfigCompatibilityLevel.FULL))
    assert list(schemas.incompatible(broker.registry, declared.topics)) == [subject]
