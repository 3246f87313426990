"""Contracts that a test declares for itself, and the registry's client."""

import uuid

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from contracts import avro
from contracts.declarations import Topic


@pytest.fixture
def client(broker) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": broker.registry})


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
