"""Taxi rides of the sample, in Kafka and as the rows that a query sees."""

import csv
import datetime as dt
import io
import json
from collections.abc import Iterable
from functools import cache

import fastavro
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient

from contracts import avro
from contracts.declarations import SCHEMAS
from tests.support.topics import Follower

SAMPLE = SCHEMAS.parent / "samples" / "nyc_taxi_rides_2020-07.csv"
PAYMENTS = SAMPLE.with_name("nyc_taxi_payments.csv")
PYTHON = {"int": int, "long": dt.datetime.fromisoformat, "double": float, "string": str}
NEW_YORK = dt.timedelta(hours=-4)  # in summer


def sample() -> list[dict]:
    """The sample's rides by the time of their pick-up, as records of the contract taxi_ride."""
    types = {field["name"]: _plain(field["type"]) for field in avro.latest("taxi_ride")["fields"]}
    with SAMPLE.open() as file:
        rides = [{name: PYTHON[types[name]](text) for name, text in row.items()} for row in csv.DictReader(file)]
    return sorted(rides, key=lambda ride: ride["tpep_pickup_datetime"])


def utc(wall_clock: dt.datetime) -> dt.datetime:
    """Of a time in New York in summer."""
    return (wall_clock - NEW_YORK).replace(tzinfo=dt.UTC)


def as_row(ride: dict) -> dict:
    """A ride as a query sees it that goes by the pick-up."""
    return ride | {"RideKey": (ride["VendorID"],), "RowTime": utc(ride["tpep_pickup_datetime"])}


def ride_name(ride: dict) -> str:
    """What payments call it."""
    parts = (ride["tpep_pickup_datetime"].isoformat(), ride["PULocationID"], ride["DOLocationID"], ride["total_amount"])
    return "|".join(map(str, (ride["VendorID"], *parts)))


def payments() -> list[dict]:
    """The sample's payments by their time, as rows of a query that goes by it."""
    with PAYMENTS.open() as file:
        rows = [(row, dt.datetime.fromisoformat(row["PaidAt"])) for row in csv.DictReader(file)]
    typed = {"PaymentType": int, "Amount": float}
    return [row | {name: of(row[name]) for name, of in typed.items()} | {"PaidAt": at, "RowTime": at} for row, at in rows]


def _plain(avro_type) -> str:
    avro_type = avro_type[1] if isinstance(avro_type, list) else avro_type
    return avro_type["type"] if isinstance(avro_type, dict) else avro_type


def per_vendor_minute(rides: list[dict]) -> dict[tuple, tuple]:
    """What the query of that name must find, counted by hand: rides and cents by vendor and start of the minute in UTC."""
    found: dict[tuple, tuple] = {}
    for ride in rides:
        minute = (ride["tpep_pickup_datetime"] - NEW_YORK).replace(second=0)
        count, cents = found.get((ride["VendorID"], minute), (0, 0))
        found[ride["VendorID"], minute] = (count + 1, cents + round(100 * ride["total_amount"]))
    return found


def by_minute(rows: Iterable[dict]) -> dict[tuple, tuple]:
    """Records of the contract vendor_window, as `per_vendor_minute` counts them."""
    return {
        (row["VendorID"], row["WindowStart"].replace(tzinfo=None)): (row["Rides"], round(100 * row["TotalAmount"]))
        for row in rows
    }


class _Topic:
    """A topic written with the newest schemas of its subjects."""

    def __init__(self, broker, topic: str):
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True})
        self._url = broker.registry
        self._registry = SchemaRegistryClient({"url": self._url})

    def _wired(self, subject: str, value: dict) -> bytes:
        newest = self._registry.get_latest_version(subject)
        out = io.BytesIO()
        fastavro.schemaless_writer(out, _parsed(newest.schema.schema_str), value)
        return avro.HEADER.pack(avro.MAGIC, newest.schema_id) + out.getvalue()


class RidesTopic(_Topic):
    """A topic of rides."""

    def send(self, *rides: dict | bytes) -> None:
        """Rides in their order, all to one partition; bytes are sent as they are."""
        self._registry = SchemaRegistryClient({"url": self._url})  # a client of its own: it remembers what was newest
        for ride in rides:
            key = None if isinstance(ride, bytes) else self._wired(avro.key_subject(self._topic), ride)
            value = ride if isinstance(ride, bytes) else self._wired(avro.subject(self._topic), ride)
            self._producer.produce(self._topic, value, key, partition=0)
        assert self._producer.flush(30) == 0


class KeyedTopic(_Topic):
    """A topic of other records, whose keys are text."""

    def send(self, *records: tuple[str, dict | bytes | None]) -> None:
        """(key, value) of each; bytes are sent as they are, and None deletes the key."""
        self._registry = SchemaRegistryClient({"url": self._url})
        for key, value in records:
            wired = self._wired(avro.subject(self._topic), value) if isinstance(value, dict) else value
            self._producer.produce(self._topic, wired, key.encode())
        assert self._producer.flush(30) == 0


class Reader(Follower):
    """All that topics hold so far, and what it says by the contracts."""

    def __init__(self, broker, *topics: str):
        super().__init__(broker.kafka, *topics)
        self._read: dict[tuple[int, str], dict] = {}  # values by a message's number and their contract, as far as they were read

    def of(self, topic: str, record: str) -> dict[bytes, dict]:
        """The last value of each key, unless that deletes it."""
        last = dict(self.pairs(topic, record))
        return {key: value for key, value in last.items() if value is not None}

    def all_of(self, topic: str, record: str) -> list[dict]:
        """Its values, in the order of each partition."""
        return [value for _, value in self.pairs(topic, record)]

    def pairs(self, topic: str, record: str) -> list[tuple[bytes, dict | None]]:
        """Key and value of each record, in the order of each partition."""
        found = [(number, message) for number, message in enumerate(self.look()) if message.topic() == topic]
        return [(message.key(), self._value(number, message.value(), record)) for number, message in found]

    def minutes(self, topic: str) -> dict[tuple, tuple]:
        """What the topic says of each vendor and minute, as `per_vendor_minute` counts it."""
        return by_minute(self.of(topic, "vendor_window").values())

    def _value(self, number: int, value: bytes | None, record: str) -> dict | None:
        """Of a message, by its number; read once, as tests look many times at topics of which little is new."""
        if value is not None and (number, record) not in self._read:
            self._read[number, record] = fastavro.schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), _contract(record))
        return self._read.get((number, record))


@cache
def _parsed(schema: str) -> dict:
    return fastavro.parse_schema(json.loads(schema))


@cache
def _contract(record: str) -> dict:
    return avro.parsed(record)
