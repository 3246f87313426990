"""`sundial schemas diff`: what changes between two versions, and whether the contract's level allows it."""

import json

import pytest
from confluent_kafka.schema_registry import Schema
from typer.testing import CliRunner

from contracts import avro
from stack.commands.cli import app


def reading(*fields: dict) -> str:
    plain = {"name": "At", "type": {"type": "long", "logicalType": "timestamp-millis"}}
    return json.dumps({"type": "record", "name": "reading", "namespace": "sundial", "fields": [plain, *fields]})


PLAIN, NEEDED = reading(), reading({"name": "Zone", "type": "string"})


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
    monkeypatch.setattr("stack.commands.schemas.declared_topics", lambda: [topic])
    client.register_schema(subject, Schema(PLAIN, "AVRO"))
    code, output, _ = sundial("schemas", "diff", subject)
    assert (code, output.splitlines()) == (
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
    code, output, _ = sundial("schemas", "diff", subject)
    assert (code, output.splitlines()[-1]) == (0, "the contract's level: FORWARD, allowed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "no record in schemas/avro and no subject in the registry is named 'nobody'"),
        (["meter_reading", "--from", "7"], "meter_reading has no version 7"),
        (["meter_reading", "--to", "7"], "one of: v1, v2"),
        (["meter_reading", "--to", "1"], "meter_reading has nothing before v1"),
        (["meter_reading", "--to", "/nowhere.avsc"], "/nowhere.avsc can't be read as an Avro schema"),
    ],
)
def test_what_can_not_be_compared_is_said(sundial, arguments, message):
    code, _, errors = sundial("schemas", "diff", *arguments)
    assert code == 1
    assert message in errors
