"""Records of a feed's derived topics, and the topics themselves on a real broker."""

import datetime as dt
import io
import json

import fastavro
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from contracts import avro
from contracts.feeds import Feed


def scored(
    service: str, at: dt.datetime, value: int, expected: float | None = 100.0, spread: float | None = 2.0, **overrides
) -> dict:
    """A scored reading of a feed that grows by a quarter."""
    row = {
        "ServiceName": service,
        "Timestamp": at,
        "Value": value,
        "DayType": at.isoweekday(),
        "Slot": 0,
        "Last4Avg": None if expected is None else expected / 1.25,
        "Expected": expected,
        "Spread": spread,
        "PredictedDiff": None if expected is None else value - expected,
        "PredictedPct": 100 * value / expected if expected else None,
        "Anomalous": False,
        "BaselineVersion": 1,
        "Level": None,
        "Scale": None,
        "KafkaPartition": None,
        "KafkaOffset": None,
        "KafkaTimestamp": None,
    }
    return row | overrides


def anomaly(row: dict) -> dict:
    """The anomaly of a scored row."""
    return {name: row[name] for name in row if name not in ("DayType", "Slot", "Anomalous")}


def incident(service: str, start: dt.datetime, state: str = "opened", **overrides) -> dict:
    """A surge to the double of what was expected, of one reading."""
    row = {
        "Id": f"{service}@{start:%Y-%m-%dT%H:%M:%SZ}",
        "ServiceName": service,
        "Kind": "deviation",
        "State": state,
        "Start": start,
        "Last": start,
        "At": start,
        "End": start + dt.timedelta(seconds=10) if state == "closed" else None,
        "Score": 3.5,
        "Cause": "9.1 scales above what is usual at this time of day",
        "LevelShift": False,
        "Readings": 1,
        "Actual": 200.0,
        "Expected": 100.0,
        "Area": 100.0,
        "Direction": "high",
        "PeakAt": start,
        "Peak": 200.0,
        "PeakExpected": 100.0,
        "PeakSize": 9.1,
        "Group": None,
        "Services": None,
        "Members": [],
    }
    return row | overrides


def group(*members: dict, state: str = "opened", **overrides) -> list[dict]:
    """A group of these incidents, and they as its members."""
    nothing = dict.fromkeys(["Actual", "Expected", "Area", "PeakAt", "Peak", "PeakExpected", "PeakSize"])
    row = incident("*", members[0]["Start"], state, Kind="group", Cause=f"{members[0]['ServiceName']} is the first", **nothing)
    row |= {"Services": len(members), "Members": [each["Id"] for each in members]} | overrides
    return [row, *[each | {"Group": row["Id"]} for each in members]]


class Topics:
    """A feed's derived topics on a real broker, with their schemas in a real registry."""

    def __init__(self, kafka: str, registry: str, feed: Feed):
        self._feed = feed
        self._admin = AdminClient({"bootstrap.servers": kafka})
        self._producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "enable.idempotence": True})
        client = SchemaRegistryClient({"url": registry})
        self._topics = {"scored": feed.scored_topic, "anomaly": feed.anomalies_topic, "incident": feed.incidents_topic}
        self.ids = {
            record: client.register_schema(avro.subject(topic), Schema(json.dumps(avro.latest(record)), "AVRO"))
            for record, topic in self._topics.items()
        }
        self._schemas = {record: avro.parsed(record) for record in self._topics}
        self._readings = 0

    def create(self) -> None:
        as_said = {"message.timestamp.type": "CreateTime"}  # so that a test can say when a record was written
        topics = [NewTopic(each, 2, 1, config=as_said) for each in self._topics.values()]
        for future in self._admin.create_topics(topics).values():
            future.result(20)

    def created(self) -> bool:
        """Creates the topics; False as long as the broker is still deleting them."""
        try:
            self.create()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
            return False
        return True

    def delete(self) -> None:
        for future in self._admin.delete_topics(list(self._topics.values())).values():
            future.result(20)

    def send(self, record: str, rows: list[dict], written: dt.datetime | None = None) -> None:
        """Writes rows; `written` is the time that the broker notes, by default now. A row that names no reading gets one of its
        own, which the broker has taken at that time."""
        for row in rows if record == "incident" else [self._placed(row, written) for row in rows]:
            value = io.BytesIO(avro.HEADER.pack(avro.MAGIC, self.ids[record]))
            value.seek(0, io.SEEK_END)
            fastavro.schemaless_writer(value, self._schemas[record], row)
            key = row["Id"] if record == "incident" else f"{row['ServiceName']}|{round(row['Timestamp'].timestamp() * 1000)}"
            self.send_raw(record, key, value.getvalue(), written, flush=False)
        self._flush()

    def _placed(self, row: dict, written: dt.datetime | None) -> dict:
        if row["KafkaOffset"] is not None:
            return row
        self._readings += 1
        at = written or dt.datetime.now(dt.UTC)
        return row | {"KafkaPartition": 0, "KafkaOffset": self._readings, "KafkaTimestamp": at}

    def send_raw(
        self, record: str, key: str, value: bytes | None, written: dt.datetime | None = None, flush: bool = True
    ) -> None:
        noted = {} if written is None else {"timestamp": round(written.timestamp() * 1000)}
        self._producer.produce(self._topics[record], key=key, value=value, **noted)
        self._producer.poll(0)
        if flush:
            self._flush()

    def _flush(self) -> None:
        assert self._producer.flush(60) == 0, "the broker has taken all"
