"""Versions in a real registry: what each level takes and refuses, which field is named, and which versions a topic holds."""

import json
import uuid

import pytest
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, Schema, SchemaRegistryClient, ServerConfig
from confluent_kafka.schema_registry.error import SchemaRegistryError

from contracts import avro
from contracts.avro import Level
from contracts.feeds import Feed
from stack.deploy import schemas
from stack.errors import StackError


def reading(*fields: dict) -> str:
    plain = {"name": "At", "type": {"type": "long", "logicalType": "timestamp-millis"}}
    return json.dumps({"type": "record", "name": "reading", "namespace": "sundial", "fields": [plain, *fields]})


PLAIN, NEEDED = reading(), reading({"name": "Zone", "type": "string"})
DEFAULTED = reading({"name": "Zone", "type": "string", "default": ""})
V1_ZONELESS = "Zone: readers of the new version need it (it has no default there), and records of version 1 have none"
V1_ZONED = "Zone: readers of version 1 need it (it has no default there), and records of the new version have none"


@pytest.fixture
def subject(client) -> str:
    return f"levels-{uuid.uuid4().hex[:8]}-value"


@pytest.mark.parametrize(
    ("level", "history", "taken", "refused", "why"),
    [
        ("BACKWARD", [NEEDED], PLAIN, None, None),
        ("BACKWARD", [PLAIN, DEFAULTED], NEEDED, None, None),
        ("BACKWARD", [PLAIN], DEFAULTED, NEEDED, V1_ZONELESS),
        ("BACKWARD_TRANSITIVE", [PLAIN, DEFAULTED], PLAIN, NEEDED, V1_ZONELESS),
        ("FORWARD", [PLAIN], NEEDED, None, None),
        ("FORWARD", [NEEDED, DEFAULTED], PLAIN, None, None),
        ("FORWARD", [NEEDED], DEFAULTED, PLAIN, V1_ZONED),
        ("FORWARD_TRANSITIVE", [NEEDED, DEFAULTED], NEEDED, PLAIN, V1_ZONED),
        ("FULL", [PLAIN, DEFAULTED], NEEDED, None, None),
        ("FULL", [PLAIN], DEFAULTED, NEEDED, V1_ZONELESS),
        ("FULL", [NEEDED], DEFAULTED, PLAIN, V1_ZONED),
        ("FULL_TRANSITIVE", [PLAIN, DEFAULTED], PLAIN, NEEDED, V1_ZONELESS),
    ],
)
def test_registry_and_own_check_agree_on_what_a_level_allows(client, subject, level, history, taken, refused, why):
    ids = [client.register_schema(subject, Schema(schema, "AVRO")) for schema in history[:1]]
    client.set_config(subject, ServerConfig(compatibility=ConfigCompatibilityLevel.NONE))
    ids += [client.register_schema(subject, Schema(schema, "AVRO")) for schema in history[1:]]
    client.set_config(subject, ServerConfig(compatibility=ConfigCompatibilityLevel[level]))
    if refused:
        with pytest.raises(SchemaRegistryError) as registrys:
            client.register_schema(subject, Schema(refused, "AVRO"))
        assert registrys.value.http_status_code == 409
        with pytest.raises(StackError) as ours:
            schemas.register_one(client, subject, refused, Level(level))
        assert ours.value.what == f"{subject}: the new version is refused as incompatible ({level}):\n  {why}"
        assert len(client.get_versions(subject)) == len(history)
    number = schemas.register_one(client, subject, taken, Level(level))
    assert (number in ids) == (taken in history)
    assert client.lookup_schema(subject, Schema(taken, "AVRO")).schema_id == number


def test_another_unit_is_refused_although_the_registry_would_take_it(broker, client, subject):
    micros = PLAIN.replace("millis", "micros")
    schemas.register_one(client, subject, PLAIN, Level.FULL)
    assert client.test_compatibility(subject, Schema(micros, "AVRO"))
    with pytest.raises(StackError, match=r"At: records of version 1 hold long \(timestamp-millis\), which readers of"):
        schemas.register_one(client, subject, micros, Level.FULL)
    assert client.get_versions(subject) == [1]


def test_a_schema_written_otherwise_is_the_same_one_and_an_alias_alone_is_another(client, subject):
    number = schemas.register_one(client, subject, DEFAULTED, Level.FULL)
    assert schemas.register_one(client, subject, json.dumps(json.loads(DEFAULTED), indent=2) + "\n", Level.FULL) == number
    aliased = DEFAULTED.replace('"name": "Zone"', '"name": "Zone", "aliases": ["District"]')
    assert schemas.register_one(client, subject, aliased, Level.FULL) != number
    assert client.get_versions(subject) == [1, 2]


def test_the_level_is_the_contracts_and_may_be_changed_with_a_new_version(broker, client, declared):
    topic = declared("FULL", PLAIN)
    subject = avro.subject(topic.name)
    schemas.register(broker.registry, [topic])
    assert client.get_config(subject).compatibility_level == "FULL"
    declared("FULL", PLAIN, NEEDED)
    refused = {subject: f"v2 (FULL):\n  {V1_ZONELESS.replace('the new version', 'v2')}"}
    assert schemas.incompatible(broker.registry, [topic]) == refused
    with pytest.raises(StackError, match=r"(?s)v2 is refused as incompatible \(FULL\):\n  Zone: .*contract.yaml"):
        schemas.register(broker.registry, [topic])
    declared("FORWARD", PLAIN, NEEDED)
    assert schemas.incompatible(broker.registry, [topic]) == {}
    schemas.register(broker.registry, [topic])
    assert (client.get_config(subject).compatibility_level, client.get_versions(subject)) == ("FORWARD", [1, 2])


def test_a_topic_that_keeps_to_a_version_holds_none_that_is_newer(broker, client, declared):
    topic = declared("BACKWARD", PLAIN, DEFAULTED, newest=1)
    ids = schemas.register(broker.registry, [topic])
    subject = avro.subject(topic.name)
    assert client.get_versions(subject) == [1]
    assert client.get_latest_version(subject).schema_id == ids[subject]


def test_what_the_registry_alone_refuses_is_told_in_its_words(client, subject):
    schemas.register_one(client, subject, PLAIN, Level.BACKWARD)
    client.set_config(subject, ServerConfig(compatibility=ConfigCompatibilityLevel.FULL))
    with pytest.raises(StackError, match=r"the registry refuses the new version as incompatible: .*Zone") as failure:
        schemas.register_one(client, subject, NEEDED, Level.FORWARD)
    assert isinstance(failure.value.__cause__, SchemaRegistryError)
    assert failure.value.__cause__.http_status_code == 409


def feed(**overrides) -> Feed:
    declared = {"name": f"deploy-{uuid.uuid4().hex[:8]}", "description": "of the test", "record": "service_use_record"}
    return Feed(**{**declared, "partitions": 2, "retention_days": 3, **overrides})


def test_contracts_are_registered_once_under_their_topics_with_full_compatibility(broker):
    declared = feed()
    ids = schemas.register(broker.registry, declared.topics)
    assert set(ids) == {f"{declared.name}{suffix}-value" for suffix in ("", ".scored", ".anomalies", ".incidents")}
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
