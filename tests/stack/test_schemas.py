"""Versions in a real registry: what each level takes and refuses, which field is named, and which versions a topic holds."""

import json
import uuid

import pytest
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, Schema, SchemaRegistryClient, ServerConfig
from confluent_kafka.schema_registry.error import SchemaRegistryError
from typer.testing import CliRunner

from contracts import avro
from contracts.avro import Level
from contracts.declarations import Topic
from stack import schemas
from stack.cli import app
from stack.errors import StackError


def reading(*fields: dict) -> str:
    plain = {"name": "At", "type": {"type": "long", "logicalType": "timestamp-millis"}}
    return json.dumps({"type": "record", "name": "reading", "namespace": "sundial", "fields": [plain, *fields]})


PLAIN, NEEDED = reading(), reading({"name": "Zone", "type": "string"})
DEFAULTED = reading({"name": "Zone", "type": "string", "default": ""})
V1_ZONELESS = "Zone: readers of the new version need it (it has no default there), and records of version 1 have none"
V1_ZONED = "Zone: readers of version 1 need it (it has no default there), and records of the new version have none"


@pytest.fixture
def client(broker) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": broker.registry})


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


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """declared(level, *schemas): a topic of a contract `reading` that is declared so."""
    monkeypatch.setattr(avro, "SCHEMAS", tmp_path)
    folder = tmp_path / "avro" / "reading"
    folder.mkdir(parents=True)
    name = f"declared-{uuid.uuid4().hex[:8]}"

    def declare(level: str, *versions: str, newest: int | None = None) -> Topic:
        (folder / "contract.yaml").write_text(f"compatibility: {level}\n")
        for number, schema in enumerate(versions, 1):
            (folder / f"v{number}.avsc").write_text(schema)
        return Topic(name, 1, 7, record="reading", version=newest)

    return declare


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
    assert failure.value.__cause__.http_status_code == 409


@pytest.fixture
def sundial(broker, monkeypatch):
    for name, value in broker.environment().items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str):
        result = CliRunner().invoke(app, list(arguments))
        return result.exit_code, result.stdout, result.stderr

    return run


def test_diff_holds_the_registrys_newest_version_against_the_declared_one(sundial, client, declared, monkeypatch):
    topic = declared("FULL", PLAIN, NEEDED)
    subject = avro.subject(topic.name)
    monkeypatch.setattr("stack.schemas_command.declared_topics", lambda: [topic])
    client.register_schema(subject, Schema(PLAIN, "AVRO"))
    code, told, _ = sundial("schemas", "diff", subject)
    assert (code, told.splitlines()) == (
        1,
        [
            "version 1 → v2",
            "  Zone: added without a default",
            "readers of v2 do not read records of version 1",
            "  Zone: readers of v2 need it (it has no default there), and records of version 1 have none",
            "readers of version 1 read records of v2",
            "levels that allow it: FORWARD, FORWARD_TRANSITIVE",
            "the contract's level: FULL, refused",
        ],
    )
    assert sundial("schemas", "check")[0] == 1
    declared("FORWARD", PLAIN, NEEDED)
    code, told, _ = sundial("schemas", "diff", subject)
    assert (code, told.splitlines()[-1]) == (0, "the contract's level: FORWARD, allowed")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody"], "no record in schemas/avro and no subject in the registry is named 'nobody'"),
        (["meter_reading", "--from", "7"], "meter_reading has no version 7"),
        (["meter_reading", "--to", "7"], "one of: v1, v2"),
        (["meter_reading", "--to", "1"], "meter_reading has nothing before v1"),
        (["meter_reading", "--to", "/nowhere.avsc"], "/nowhere.avsc can't be read as an Avro schema"),
    ],
)
def test_what_can_not_be_compared_is_said(sundial, arguments, said):
    code, _, errors = sundial("schemas", "diff", *arguments)
    assert code == 1
    assert said in errors
