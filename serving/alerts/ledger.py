"""What the process of alerts knows, as rows of the topic `sundial.alerts`: read whole at the start, and changed by transactions.

| key | value |
|---|---|
| `incident/<feed>/<Id>` | what is known of an incident, and who was notified of it |
| `message/<id>` | a message that waits |
| `silence/<id>` | a silence of all routes that a person asked for |
| `offset/<topic>/<partition>` | how far an incidents' topic is read |

One process at a time writes: a second one fences the first.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from contracts.alerts import ALERTS, ASKED, DEAD, SILENCE, TRANSACTION, SaidSilence
from serving.alerts.decisions import Known
from serving.alerts.outbox import Waiting
from serving.partitions import Place

PATIENCE = 60.0  # seconds for Kafka
GROUP = "sundial-serving"  # librdkafka wants a name; nothing is ever committed under it


class LedgerError(RuntimeError):
    """Kafka does not keep what is known; the message says why. The process ends, and the next one reads what was kept."""


@dataclass(frozen=True)
class Position:
    """How far a partition is read. topic_id: a topic that was deleted and created again has another. caught_up: whether its end
    was reached since the process began; before that, what is known may be over already."""

    topic_id: str
    offset: int
    caught_up: bool


@dataclass
class Rows:
    """All rows, by what they are of."""

    incidents: dict[tuple[str, str], Known] = field(default_factory=dict)  # by feed and Id
    messages: dict[str, Waiting] = field(default_factory=dict)  # by id
    positions: dict[Place, Position] = field(default_factory=dict)
    silences: dict[str, SaidSilence] = field(default_factory=dict)  # by id

    def take(self, key: str, value: bytes | None) -> None:
        """A row as the topic has it."""
        kind, _, rest = key.partition("/")
        row = None if value is None else json.loads(value)
        if kind == "incident":
            feed, _, id_ = rest.partition("/")
            _set(self.incidents, (feed, id_), row and Known.from_json(row))
        elif kind == "message":
            _set(self.messages, rest, row and Waiting.from_json(row))
        elif kind == "silence":
            _set(self.silences, rest, row and SaidSilence.model_validate(row))
        else:
            topic, _, partition = rest.rpartition("/")
            _set(self.positions, (topic, int(partition)), row and Position(**row))


def _set(rows: dict[Any, Any], name: Any, row: Any) -> None:
    if row is None:
        rows.pop(name, None)
    else:
        rows[name] = row


def incident_row(feed: str, id_: str) -> str:
    return f"incident/{feed}/{id_}"


def message_row(id_: str) -> str:
    return f"message/{id_}"


def silence_row(id_: str) -> str:
    return f"{SILENCE}{id_}"


def position_row(place: Place) -> str:
    return f"offset/{place[0]}/{place[1]}"


class Ledger:
    """Making one ends what an earlier process has begun, on any machine."""

    def __init__(self, client: Mapping[str, Any]):
        """`client`: options by which a client finds Kafka. Raises LedgerError if Kafka does not answer."""
        self._producer = Producer({**client, **producer_options(TRANSACTION)})
        try:
            self._producer.init_transactions(PATIENCE)
        except KafkaException as error:
            raise LedgerError(f"no transaction with Kafka: {error.args[0].str()}") from error

    def commit(self, rows: Mapping[str, Any], dead: Iterable[tuple[str, Any, str]] = ()) -> None:
        """These rows (None deletes one) and dead letters (id, message, reason): all of them or none. Raises LedgerError."""
        try:
            self._producer.begin_transaction()
            for key, value in rows.items():
                self._producer.produce(ALERTS.name, _json(value), key.encode())
            for id_, message, reason in dead:
                self._producer.produce(DEAD.name, _json(message), id_.encode(), headers=[("reason", reason.encode())])
            self._producer.commit_transaction(PATIENCE)
        except (KafkaException, BufferError) as error:
            cause = error.args[0]
            what = cause.str() if isinstance(cause, KafkaError) else str(error)
            if isinstance(cause, KafkaError) and cause.code() in FENCED:
                what = "another process of alerts has taken over"
            raise LedgerError(f"what was decided is not kept: {what}") from error


FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


def producer_options(transaction: str) -> dict[str, Any]:
    return {"transactional.id": transaction, "transaction.timeout.ms": 60_000, "log_level": 0}


def reader_options() -> dict[str, Any]:
    """Of a consumer that reads for itself what is committed."""
    options = {"group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest", "log_level": 0}
    return options | {"isolation.level": "read_committed", "enable.partition.eof": True, "fetch.queue.backoff.ms": 5}


def read_whole(consumer: Consumer, topic: str, take: Callable[[Message], None]) -> int:
    """Give each committed record of a topic of one partition to `take`; the offset where it ends. Raises LedgerError if that
    takes too long."""
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    quiet = 0.0
    while quiet < PATIENCE:
        message = consumer.poll(0.5)
        if message is None:
            quiet += 0.5
            continue
        quiet = 0.0
        if message.error() is None:
            take(message)
        elif message.error().code() == KafkaError._PARTITION_EOF:
            return message.offset()
        elif message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise LedgerError(f"no topic {topic}; `sundial topics --deploy` creates the topics of every declaration")
    raise LedgerError(f"topic {topic} could not be read to its end within {PATIENCE:.0f} s")


def asked(message: Message) -> bool:
    """Whether a person wrote the row."""
    headers: Any = message.headers()  # pairs; its types allow more
    return any(name == ASKED for name, _ in headers or ())


def _json(value: Any) -> bytes | None:
    return None if value is None else json.dumps(value, separators=(",", ":")).encode()
