"""A query with two tables on a real broker, and serving."""

import datetime as dt
import io
import json
import uuid

import fastavro
import httpx
import pytest
import yaml
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from contracts import avro
from tests.serving.conftest import served
from tests.support.waiting import until

AT = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


class Places:
    """A query with two tables, Avro and JSON, and a topic that is none."""

    def __init__(self, broker, declared):
        name = f"places-{uuid.uuid4().hex[:8]}"
        self.name, self.avro, self.json = name, f"{name}.avro", f"{name}.json"
        outputs = [
            {"topic": self.avro, "record": "check_in", "key": "User"},
            {"topic": self.json, "record": "check_in", "encoding": "json", "key": "User"},
            {"topic": f"{name}.all", "record": "check_in", "key": "User", "compacted": False},
        ]
        inputs = {"check_ins": {"topic": "check-ins", "record": "check_in", "encoding": "json"}}
        query = {"name": name, "description": "Places", "inputs": inputs, "sql": "SELECT * FROM check_ins", "outputs": outputs}
        folder = declared.parent / "queries"
        folder.mkdir()
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(query))
        self._admin = AdminClient({"bootstrap.servers": broker.kafka})
        self._producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True})
        registry = SchemaRegistryClient({"url": broker.registry})
        schema = Schema(json.dumps(avro.latest("check_in")), "AVRO")
        self._id = registry.register_schema(avro.subject(self.avro), schema)

    def create(self) -> None:
        config = {"cleanup.policy": "compact"}
        for future in self._admin.create_topics(
            [NewTopic(each, 2, 1, config=config) for each in (self.avro, self.json)]
        ).values():
            future.result(20)

    def delete(self) -> None:
        for future in self._admin.delete_topics([self.avro, self.json]).values():
            future.result(20)

    def recreate(self) -> None:
        """After a deletion, which takes the broker a while."""
        until("the broker has deleted them", self._created)

    def _created(self) -> bool:
        try:
            self.create()
        except KafkaException:
            return False
        return True

    def send(self, topic: str, key: str | bytes, place: str | None) -> None:
        """None: the key is removed."""
        value = None
        if place is not None:
            row = {"User": "u", "Place": place, "At": AT}
            value = json.dumps(row | {"At": AT.isoformat()}).encode() if topic == self.json else self._encoded(row)
        self.send_raw(topic, key, value)

    def send_raw(self, topic: str, key: str | bytes, value: bytes | None) -> None:
        self._producer.produce(topic, value, key, partition=len(key) % 2)
        assert self._producer.flush(20) == 0

    def _encoded(self, row: dict) -> bytes:
        payload = io.BytesIO(avro.HEADER.pack(avro.MAGIC, self._id))
        payload.seek(0, io.SEEK_END)
        fastavro.schemaless_writer(payload, avro.parsed("check_in"), row)
        return payload.getvalue()


@pytest.fixture
def places(broker, declared):
    made = Places(broker, declared)
    made.create()
    yield made
    made.delete()


class Ask:
    """ask(**query): the answer with the Avro table's rows, or those of another topic."""

    def __init__(self, url: str, places: Places):
        self.url, self.path, self._topic = url, f"{url}/api/queries/{places.name}/rows", places.avro

    def __call__(self, accept: str = "*/*", **query) -> httpx.Response:
        """Asks again while the table is being read."""
        while True:
            answer = httpx.get(self.path, params={"topic": self._topic} | query, headers={"Accept": accept}, timeout=30)
            if answer.status_code != 503 or answer.json()["type"] != "sundial:loading":
                return answer


@pytest.fixture
def ask(places, online):
    with served(online) as (url, _):
        yield Ask(url, places)
