"""The verifier itself, without a stack: it is content with what is right, and notices each thing that may be wrong."""

import io
from dataclasses import dataclass, field
from pathlib import Path

import fastavro
import pytest

from tests.end_to_end import oracle
from tests.end_to_end.verifier import TOPIC, Verifier
from tests.support import topics

AT = 1_795_404_930_000  # Sunday, 2026-11-22 22:35:30 in New York
SLOT = 8133


@dataclass
class Message:
    """As confluent-kafka has it."""

    of: str
    at: tuple[int, int]
    name: bytes
    bytes_: bytes
    said: dict = field(default_factory=dict)

    def timestamp(self) -> tuple[int, int]:
        return 2, AT + self.at[1]

    def topic(self) -> str:
        return self.of

    def partition(self) -> int:
        return self.at[0]

    def offset(self) -> int:
        return self.at[1]

    def key(self) -> bytes:
        return self.name

    def value(self) -> bytes:
        return self.bytes_

    def headers(self) -> list:
        return list(self.said.items())


class Broker:
    """Topics of one partition in memory."""

    def __init__(self):
        self.topics: dict[str, list[Message]] = {}

    def write(self, topic: str, key: bytes, value: bytes, **headers: bytes) -> None:
        found = self.topics.setdefault(topic, [])
        found.append(Message(topic, (0, len(found)), key, value, headers))

    def follower(self, _, *names: str) -> "Follower":
        return Follower(self, names)

    def ends(self, _, topic: str) -> dict[int, int]:
        return {0: len(self.topics.get(topic, []))}


class Follower:
    """As support.topics has it."""

    def __init__(self, broker: Broker, names: tuple[str, ...]):
        self._broker, self._seen = broker, dict.fromkeys(names, 0)

    def news(self) -> list[Message]:
        found = [message for name, seen in self._seen.items() for message in self._broker.topics.get(name, [])[seen:]]
        self._seen = {name: len(self._broker.topics.get(name, [])) for name in self._seen}
        return found


def encoded(name: str, row: dict) -> bytes:
    value = io.BytesIO()
    fastavro.schemaless_writer(value, oracle.schema(name), row)
    return b"\0\0\0\0\1" + value.getvalue()


def baseline(average: float) -> oracle.Baseline:
    return {("search", 7): ([average] * oracle.SLOTS, [4] * oracle.SLOTS, [2.0] * 96)}


@pytest.fixture
def broker(monkeypatch) -> Broker:
    made = Broker()
    monkeypatch.setattr(topics, "Follower", made.follower)
    monkeypatch.setattr(topics, "ends", made.ends)
    return made


class Stream:
    """Readings and the records made from them: correct, unless a test changes one."""

    def __init__(self, broker: Broker):
        self.broker, self.versions = broker, {-1: {}, 0: baseline(100.0), 1: baseline(200.0)}
        self.verifier = Verifier("", Path("lake"), {0: 0})
        self.verifier.baseline = self.versions.__getitem__

    def send(self, value: int, at: int = AT) -> None:
        self.broker.write(TOPIC, b"search", encoded("service_use_record", {"Timestamp": at, "Value": value}))

    def score(self, value: int, version: int, at: int = AT, anomaly: bool = True, **other) -> None:
        """The newest record of the topic, or the one that `other` names."""
        newest = len(self.broker.topics[TOPIC]) - 1
        place = {"KafkaPartition": 0, "KafkaOffset": newest, "KafkaTimestamp": AT + newest}
        row = oracle.scored("search", at, value, self.versions[version], version) | place | other
        key = f"search|{at}".encode()
        self.broker.write(f"{TOPIC}.scored", key, encoded("scored", row))
        if row["Anomalous"] and anomaly:
            self.broker.write(f"{TOPIC}.anomalies", key, encoded("anomaly", oracle.anomaly(row)))


@pytest.fixture
def stream(broker) -> Stream:
    return Stream(broker)


def test_what_is_right_leaves_no_difference_and_is_looked_at_once(stream):
    stream.send(100)
    assert len(stream.verifier.differences()) == 1
    stream.score(100, -1)
    assert stream.verifier.differences() == []
    stream.verifier.seen_in_force(0)
    stream.send(150, AT + 10_000)
    stream.score(150, 0, AT + 10_000)
    stream.score(150, 0, AT + 10_000)  # after a crash
    stream.broker.write(TOPIC, b"search", b"garbage")
    stream.broker.write(f"{TOPIC}.dead-letter", b"service-use-0-2", b"garbage", reason=b"no Avro")
    assert stream.verifier.differences() == []
    assert stream.verifier.scored[b"search|%d" % (AT + 10_000)]["Anomalous"]
    assert stream.verifier.counts() == {"readings": 2, "garbage": 1}


@pytest.mark.parametrize(
    "other",
    [
        {"Last4Avg": 200.0},
        {"Expected": 200.0},
        {"Spread": None},
        {"PredictedDiff": 0.0},
        {"PredictedPct": 100.0},
        {"DayType": 1},
        {"Slot": SLOT + 1},
        {"Anomalous": False},
        {"ServiceName": "checkout"},
        {"Timestamp": AT + 1000},
        {"KafkaTimestamp": AT + 1},
    ],
    ids=str,
)
def test_each_field_of_a_scored_row_is_recomputed(stream, other):
    stream.send(150)
    stream.score(150, 0, **other)
    with pytest.raises(AssertionError, match="must be"):
        stream.verifier.differences()


@pytest.mark.parametrize("version", [-1, 0])
def test_a_version_that_is_no_longer_in_force_is_wrong_however_right_its_numbers(stream, version):
    stream.verifier.seen_in_force(1)
    stream.send(150)
    stream.score(150, version)
    with pytest.raises(AssertionError, match=f"by version {version}, when 1 was in force"):
        stream.verifier.differences()


def test_the_content_of_an_older_version_under_the_new_one_s_number_is_wrong(stream):
    stream.send(150)
    stream.score(150, 0, BaselineVersion=1)
    with pytest.raises(AssertionError, match="must be"):
        stream.verifier.differences()


def test_a_row_of_a_value_that_was_never_sent_is_wrong(stream):
    stream.send(150)
    stream.score(151, 0)
    with pytest.raises(AssertionError, match="is not of Reading"):
        stream.verifier.differences()


def test_a_row_that_names_no_reading_is_wrong(stream):
    stream.send(150)
    stream.score(150, 0, KafkaPartition=1)
    with pytest.raises(AssertionError, match="is not of None"):
        stream.verifier.differences()


def test_what_a_correction_corrects_may_be_scored_after_it(stream):
    stream.send(150)
    stream.send(151)
    stream.score(151, 0)
    stream.score(150, 0, KafkaOffset=0, KafkaTimestamp=AT)
    assert stream.verifier.differences() == []


def test_a_correction_that_was_not_scored_an_anomaly_or_a_dead_letter_that_is_missing_is_waited_for(stream):
    stream.send(150)
    stream.score(150, 0, anomaly=False)
    stream.broker.write(TOPIC, b"search", b"garbage")
    assert [each.split()[0] for each in stream.verifier.differences()] == ["anomaly", "b'service-use-0-1'"]
    stream.send(151)
    assert "reading b'search|" in stream.verifier.differences()[0]


def test_a_good_record_among_the_dead_letters_is_wrong_and_so_is_one_without_a_reason(stream):
    stream.send(150)
    stream.broker.write(f"{TOPIC}.dead-letter", b"service-use-0-0", b"x")
    with pytest.raises(AssertionError, match=r"was a good record.*has no reason"):
        stream.verifier.differences()
