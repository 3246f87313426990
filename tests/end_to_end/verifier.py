"""Holds what came out against what went in: every record of the derived topics, every field of it, and none missing.

Reads on from where it was, so a look costs what is new. A record that is wrong stays wrong; one that is missing may still come.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from confluent_kafka import Message

from tests.end_to_end import oracle
from tests.support import topics

TOPIC = "service-use"


@dataclass(frozen=True)
class Reading:
    service: str
    at: int
    value: int
    partition: int
    offset: int
    taken: int

    @property
    def place(self) -> dict:
        """As its scored row names it."""
        return {"KafkaPartition": self.partition, "KafkaOffset": self.offset, "KafkaTimestamp": self.taken}


def key_of(reading: Reading) -> bytes:
    return f"{reading.service}|{reading.at}".encode()


class Verifier:
    """Of service-use, from `since` (offset by partition) on; what was sent before is known as history only."""

    def __init__(self, kafka: str, lake: Path, since: Mapping[int, int]):
        self.kafka, self.since = kafka, since
        self.table = lake / "baseline" / "service_use"
        self.baseline = cache(self._baseline)
        self.source = topics.Follower(kafka, TOPIC)
        self.judges = {
            f"{TOPIC}.scored": self._scored,
            f"{TOPIC}.anomalies": self._anomaly,
            f"{TOPIC}.dead-letter": self._dead_letter,
        }
        self.derived = topics.Follower(kafka, *self.judges)
        self.history: dict[str, dict[int, int]] = defaultdict(dict)  # every value in the topic, the latest of each instant
        self.sent: dict[tuple[int, int], Reading] = {}  # by partition and offset
        self.readings: dict[bytes, Reading] = {}  # by key, the latest
        self.garbage: dict[bytes, bytes] = {}
        self.scored: dict[bytes, dict] = {}
        self.anomalies: dict[bytes, dict] = {}
        self.dead: dict[bytes, Message] = {}
        self.in_force: list[tuple[dict[int, int], int]] = []
        self.wrong: list[str] = []

    def seen_in_force(self, version: int) -> None:
        """The stream said that it goes by that version: what is sent from now on must be held against it, or a later one."""
        self.in_force.append((topics.ends(self.kafka, TOPIC), version))

    def look(self) -> None:
        """Read what is new. The source comes last: what a derived record was made from is in it then."""
        news = self.derived.news()
        for message in self.source.news():
            self._sent(message)
        for message in news:
            self.judges[message.topic()](message)

    def differences(self) -> list[str]:
        """All that is missing, in words, after a look. Raises AssertionError where something is wrong for good."""
        self.look()
        assert not self.wrong, f"{len(self.wrong)} wrong, e.g. {self.wrong[:5]}"
        found = []
        for key, reading in self.readings.items():
            row = self.scored.get(key)
            if row is None or row["Value"] != reading.value:
                found.append(f"reading {key!r} of {reading.value} was not scored: {row}")
            elif row["Anomalous"] and self.anomalies.get(key) != oracle.anomaly(row):
                found.append(f"anomaly {key!r} must be {oracle.anomaly(row)}, is {self.anomalies.get(key)}")
        found += [f"{key!r} is missing from the dead letters" for key in self.garbage.keys() - self.dead.keys()]
        return found

    def counts(self) -> Counter:
        """What was sent since the beginning."""
        self.look()
        return Counter(readings=len(self.readings), garbage=len(self.garbage))

    def _baseline(self, version: int) -> oracle.Baseline:
        return oracle.stored_baseline(self.table, version) if version >= 0 else {}

    def _sent(self, message: Message) -> None:
        try:
            row = oracle.record(message.value(), "service_use_record")
        except oracle.MALFORMED:
            self.garbage[f"{TOPIC}-{message.partition()}-{message.offset()}".encode()] = message.value()
            return
        service, partition, offset = message.key().decode(), message.partition(), message.offset()
        self.history[service][row["Timestamp"]] = row["Value"]
        if offset >= self.since[partition]:
            reading = Reading(service, row["Timestamp"], row["Value"], partition, offset, message.timestamp()[1])
            self.sent[partition, offset] = reading
            self.readings[key_of(reading)] = reading

    def _scored(self, message: Message) -> None:
        if row := self._judged(message, "scored"):
            self.scored[message.key()] = max(row, self.scored.get(message.key(), row), key=oracle.order)

    def _anomaly(self, message: Message) -> None:
        """What a correction or a later baseline has cleared stays among the anomalies; it was one of its baseline's time."""
        if row := self._judged(message, "anomaly"):
            self.anomalies[message.key()] = max(row, self.anomalies.get(message.key(), row), key=oracle.order)

    def _judged(self, message: Message, name: str) -> dict | None:
        """The record, where it is right in every field; else None, and noted as wrong."""
        row = oracle.record(message.value(), name)
        version, reading = row["BaselineVersion"], self.sent.get((row["KafkaPartition"], row["KafkaOffset"]))
        if reading is None or (key_of(reading), reading.value) != (message.key(), row["Value"]):
            self.wrong.append(f"{name} {message.key()!r} with {row['Value']} is not of {reading}, which it names")
            return None
        if version < self._least(reading):
            self.wrong.append(f"{name} {message.key()!r} by version {version}, when {self._least(reading)} was in force: {row}")
        right = oracle.scored(reading.service, reading.at, reading.value, self.baseline(version), version) | reading.place
        if name == "anomaly" and not right["Anomalous"]:
            self.wrong.append(f"anomaly {message.key()!r} is none: {row}")
        if row != (right if name == "scored" else oracle.anomaly(right)):
            self.wrong.append(f"{name} {message.key()!r} is {row}, must be {right}")
        return row

    def _least(self, reading: Reading) -> int:
        """The version that was in force when the reading was sent; -1 before the first."""
        return max((version for ends, version in self.in_force if reading.offset >= ends[reading.partition]), default=-1)

    def _dead_letter(self, message: Message) -> None:
        key = message.key()
        if message.value() != self.garbage.get(key):
            self.wrong.append(f"dead letter {key!r} was a good record, or has other bytes: {message.value()!r}")
        if not dict(message.headers() or []).get("reason"):
            self.wrong.append(f"dead letter {key!r} has no reason")
        self.dead[key] = message
