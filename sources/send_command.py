"""`sundial send`: a file's rows into any declared topic."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

from contracts import avro
from contracts.declarations import LINES, Topic
from contracts.declared_topics import declared_topics
from sources.capture import BadRows, CaptureError
from sources.console import bar, errors_reported, print_bad_rows, stopped_by_signal
from sources.lines import LineFile
from sources.options import Kafka, Registry
from sources.producer import PlatformError, address, producer
from sources.records import Record, RecordFile

NAP = 0.05


def send(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV with a header, JSON lines (.csv, .jsonl), or lines of text; also .gz.")
    ],
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A declared topic: see `sundial topics`.")],
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of a key that is text. An Avro key is made of the row.")
    ] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with the lines that are added to the file.")] = False,
    rate: Annotated[float, typer.Option(min=0, metavar="N", help="Records a second; 0: as fast as Kafka takes them.")] = 0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="List bad rows, but don't let them make the exit code 1.")] = False,
    kafka: Kafka = None,
    registry: Registry = None,
):
    """Send a file's rows to a declared topic, as records of its contract; to a topic of text or of an access log, its lines.

    Columns are found by the names of the contract's fields. Times are ISO 8601 (UTC where they name no offset) or epoch
    milliseconds. Rows that are no record are listed with their lines; the others are sent.

    Exit code: 0 all sent · 1 bad rows or failed deliveries · 2 nothing could be sent · 130 stopped by Ctrl-C.

    [bold]Example[/bold]: [cyan]sundial send samples/nyc_taxi_rides_2020-07.csv rides[/cyan]
    """
    bad, began = BadRows(), time.monotonic()
    with errors_reported(), stopped_by_signal() as stop:
        declared = _topic(topic)
        records = _records(path, declared, key, follow, bad, stop)
        sender = _Sender(
            declared, address(kafka, "SUNDIAL_KAFKA", "--kafka"), address(registry, "SUNDIAL_REGISTRY", "--registry")
        )
        with bar(f"{path.name} → {topic}", None) as progress:
            for record in records:
                while rate and sender.sent > (time.monotonic() - began) * rate and not stop.wait(NAP):
                    sender.poll()
                if stop.is_set():
                    break
                sender.send(record)
                progress.advance(1)
        sender.flush()
    if bad.count:
        print_bad_rows(bad)
    typer.echo(
        f"{sender.sent - sender.failed:,} records to {topic} in {time.monotonic() - began:.1f} s, "
        f"{sender.failed:,} failed deliveries"
    )
    if sender.first_error:
        typer.echo(f"error: first failed delivery: {sender.first_error}", err=True)
    if stop.is_set():
        raise typer.Exit(130)
    if sender.failed or (bad.count and not skip_bad):
        raise typer.Exit(1)


def _topic(name: str) -> Topic:
    known = {each.name: each for each in declared_topics()}
    if name not in known:
        raise CaptureError(
            f"no declaration knows topic {name!r}: one of "
            f"{', '.join(n for n, each in known.items() if each.record or each.encoding in LINES)}"
        )
    return known[name]


def _records(path: Path, topic: Topic, key: str | None, follow: bool, bad: BadRows, stop: threading.Event) -> Iterator[Record]:
    if topic.encoding not in LINES:
        if follow:
            raise CaptureError(f"--follow: {topic.name} is not of lines of text, which can be sent one by one as they are added")
        return RecordFile(path, topic, key).records(bad)
    if key:
        raise CaptureError(f"--key {key}: lines of text have no columns; the key of {topic.name}'s records is the file's name")
    return LineFile(path, follow).records(stop)


def _json(value: dict, _: SerializationContext) -> bytes:
    """As queries write it: nulls are left out."""
    return orjson.dumps({name: each for name, each in value.items() if each is not None}, option=orjson.OPT_UTC_Z)


class _Sender:
    """Writes records in JSON, or with the newest schemas of the topic's subjects."""

    def __init__(self, topic: Topic, kafka: str, registry: str):
        self.sent, self.failed = 0, 0
        self.first_error: str | None = None
        self._topic, self._registry = topic, registry
        self._producer: Producer = producer(topic.name, kafka, 50, self._delivered)
        client = SchemaRegistryClient({"url": registry})
        newest = {"auto.register.schemas": False, "use.latest.version": True}
        in_avro = avro.subjects(topic)
        self._encode = {
            field: AvroSerializer(client, conf=newest) if subject in in_avro else _json
            for field, subject, record in (
                (MessageField.VALUE, avro.subject(topic.name), topic.record),
                (MessageField.KEY, avro.key_subject(topic.name), topic.key_record),
            )
            if record
        }

    def send(self, record: Record) -> None:
        key = self._wired(record.key, MessageField.KEY)
        value = self._wired(record.value, MessageField.VALUE)
        while True:
            try:
                self._producer.produce(self._topic.name, value, key, headers=list(record.headers))
                break
            except BufferError:
                self._producer.poll(NAP)
        self.sent += 1
        self._producer.poll(0)

    def poll(self) -> None:
        self._producer.poll(0)

    def flush(self) -> None:
        left = self._producer.flush(60)  # its callback counts further failures
        self.failed += left

    def _wired(self, what: Any, field: MessageField) -> bytes | None:
        if field not in self._encode:
            return what.encode() if isinstance(what, str) else what
        try:
            return self._encode[field](what, SerializationContext(self._topic.name, field))
        except (SchemaRegistryError, SerializationError, httpx2.HTTPError) as error:
            subject = avro.subject(self._topic.name) if field == MessageField.VALUE else avro.key_subject(self._topic.name)
            raise PlatformError(f"registry {self._registry}, subject {subject}: {error}; `sundial up` registers it") from error

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed += 1
            self.first_error = self.first_error or error.str()
