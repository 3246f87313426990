"""`sundial read`: what a topic holds, in plain text."""

import json
import signal
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

from contracts.declarations import Topic
from contracts.declared_topics import declared_topics
from contracts.kafka_credentials import KafkaCredentials
from stack.commands.console import failures_reported, kafka_of, registry_of
from stack.errors import StackError

PATIENCE = 10.0  # seconds for the broker to answer


class Reader:
    """Records of a topic with their keys and values decoded, those in Avro by the contracts that they were written with."""

    def __init__(self, topic: Topic, kafka: str, credentials: KafkaCredentials, registry: str):
        self._topic = topic
        options = {"group.id": "sundial-read", "enable.auto.commit": False, "isolation.level": "read_committed"}
        options |= {"enable.partition.eof": True, "fetch.queue.backoff.ms": 5}
        self._consumer = Consumer(credentials.client_options(kafka) | options)
        decode = AvroDeserializer(SchemaRegistryClient({"url": registry}))
        self._decode = {
            MessageField.VALUE: (_json if topic.encoding == "json" else decode) if topic.record else None,
            MessageField.KEY: decode if topic.key_record else None,
        }

    def has_topic(self) -> bool:
        """Whether the topic is in Kafka."""
        return self._topic.name in self._consumer.list_topics(timeout=PATIENCE).topics

    def records(self, follow: bool, only_new: bool) -> Iterator[dict[str, Any]]:
        """Partition by partition in their order, up to the ends as they are now; with `follow`, on and on."""
        name = self._topic.name
        known = self._consumer.list_topics(timeout=PATIENCE).topics
        if name not in known:
            raise StackError(f"no topic {name} in Kafka", remedy="`sundial up` creates the topics of every declaration")
        partitions = [TopicPartition(name, number) for number in known[name].partitions]
        marks = {each.partition: self._consumer.get_watermark_offsets(each, timeout=PATIENCE) for each in partitions}
        begin = OFFSET_END if only_new else OFFSET_BEGINNING
        self._consumer.assign([TopicPartition(name, each.partition, begin) for each in partitions])
        waiting = set() if only_new else {number for number, (low, high) in marks.items() if high > low}
        while waiting or follow:
            message = self._consumer.poll(0.5)
            if message is None:
                continue
            if message.error():
                if message.error().code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(message.error())
                waiting.discard(message.partition())  # what is left up to its mark is no record: a transaction's end, or aborted
                continue
            if follow or message.offset() < marks[message.partition()][1]:
                yield self._record(message)
            if message.offset() >= marks[message.partition()][1] - 1:
                waiting.discard(message.partition())

    def close(self) -> None:
        self._consumer.close()

    def _record(self, message: Message) -> dict[str, Any]:
        found: dict[str, Any] = {"partition": message.partition(), "offset": message.offset(), "at": message.timestamp()[1]}
        for field, written in ((MessageField.KEY, message.key()), (MessageField.VALUE, message.value())):
            found[str(field)] = self._read(written, field)
        headers: Any = message.headers()  # pairs; its types allow more
        if headers:
            found["headers"] = {name: (value or b"").decode(errors="backslashreplace") for name, value in headers}
        return found

    def _read(self, written: bytes | None, field: MessageField) -> Any:
        decode = self._decode[field]
        if written is None or decode is None:
            return None if written is None else written.decode(errors="backslashreplace")
        try:
            return decode(written, SerializationContext(self._topic.name, field))
        except SerializationError as error:
            return {"not readable": str(error), "bytes": written.hex()}


def _json(written: bytes, _: SerializationContext) -> Any:
    try:
        return json.loads(written)
    except ValueError as error:
        raise SerializationError(f"not JSON: {error}") from error


def shown(record: dict[str, Any]) -> str:
    """One line of JSON; times in ISO 8601."""
    return json.dumps(
        record, default=lambda each: each.isoformat() if hasattr(each, "isoformat") else str(each), ensure_ascii=False
    )


def latest(records: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last record of each key, as a reader that upserts has it; a key whose last value is null is deleted."""
    kept: dict[str, dict[str, Any]] = {}
    for each in records:
        key = json.dumps(each["key"], default=str)
        kept.pop(key, None)
        if each["value"] is not None:
            kept[key] = each
    return list(kept.values())


def read(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A declared topic: see `sundial topics`.")],
    count: Annotated[int | None, typer.Option("-n", "--count", min=1, help="Stop after so many.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Only what comes from now on.")] = False,
    upserted: Annotated[bool, typer.Option("--latest", help="The last of each key, as a reader that upserts has it.")] = False,
) -> None:
    """What a topic holds, a line of JSON each: partition, offset, at (Kafka's time, epoch ms), key, value, headers."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with failures_reported():
        known = {each.name: each for each in declared_topics()}
        if topic not in known:
            raise StackError(f"no declaration knows topic {topic!r}", remedy="`sundial topics` lists them")
        if upserted and (follow or new):
            raise StackError("--latest reads to the end: it goes neither with --follow nor with --new", remedy="leave one out")
        reader = Reader(known[topic], *kafka_of(context.obj), registry_of(context.obj))
        try:
            found = reader.records(follow or new, new)
            for record in islice(latest(found) if upserted else found, count):
                typer.echo(shown(record))
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        finally:
            reader.close()
