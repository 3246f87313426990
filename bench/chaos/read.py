"""Topics and tables of a run as batches of arrays, so that no more than one batch is in memory."""

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import deltalake
import fastavro
import numpy as np
import pyarrow.compute as pc
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from bench.chaos.verify import NULLABLE, ORDER, Baseline

BATCH = 50_000
SILENT = 60.0  # seconds after which a topic that should have more is said to end
INTEGERS = ("Timestamp", "Value", "DayType", "Slot", "KafkaPartition", *ORDER)
HEADER = 5  # bytes before an Avro value


def messages(kafka: str, topic: str) -> Iterator[list[Message]]:
    """All committed records that the topic has now, each partition in order."""
    options = {"bootstrap.servers": kafka, "group.id": "chaos", "enable.auto.commit": False, "enable.partition.eof": True}
    reader = Consumer(options | {"isolation.level": "read_committed", "fetch.queue.backoff.ms": 5, "log_level": 0})
    try:
        reading = set(reader.list_topics(topic, timeout=SILENT).topics[topic].partitions)
        reader.assign([TopicPartition(topic, number, 0) for number in reading])
        while reading:
            if (first := reader.poll(SILENT)) is None:
                raise TimeoutError(f"{topic}: nothing came of partitions {sorted(reading)} for {SILENT:.0f} s")
            found = []
            for message in [first, *reader.consume(BATCH, timeout=0)]:
                if not message.error():
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    reading.discard(message.partition())
                else:
                    raise KafkaException(message.error())
            yield found
    finally:
        reader.close()


def rows(kafka: str, topic: str, schema: dict, services: Mapping[str, int]) -> Iterator[dict[str, np.ndarray]]:
    """Records of a scored topic or one of anomalies: each field of the schema, service, at, written. See verify.Scored.judge."""
    plain = fastavro.parse_schema(_plain(schema))
    names = [field["name"] for field in schema["fields"] if field["name"] != "ServiceName"]
    for batch in messages(kafka, topic):
        if batch:
            decoded = [cast(dict, fastavro.schemaless_reader(io.BytesIO(each.value()[HEADER:]), plain)) for each in batch]
            keys = [
                f"{row['ServiceName']}|{row['Timestamp']}".encode() == each.key()
                for row, each in zip(decoded, batch, strict=True)
            ]
            found = {name: _column(name, [row[name] for row in decoded]) for name in names}
            # A row under another reading's key replaces that: it is of nothing that was sent.
            of = [services.get(row["ServiceName"], -1) if right else -1 for row, right in zip(decoded, keys, strict=True)]
            found |= {"service": np.array(of, np.int64), "at": found["Timestamp"]}
            yield found | {"written": np.array([each.timestamp()[1] for each in batch], np.int64)}


def _column(name: str, cells: list) -> np.ndarray:
    if name in NULLABLE:
        return np.array([np.nan if cell is None else cell for cell in cells], np.float64)
    return np.array(cells, np.int64 if name in INTEGERS else bool)


def _plain(schema: dict) -> dict:
    """With numbers where the schema has times."""
    return json.loads(json.dumps(schema).replace('"logicalType"', '"unit"'))


def history(table: Path, services: Mapping[str, int]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Service number (-1: unknown), epoch ms and value of the rows of a history table, file by file."""
    dataset = deltalake.DeltaTable(str(table)).to_pyarrow_dataset()
    for batch in dataset.to_batches(columns=["ServiceName", "Timestamp", "Value"], batch_size=BATCH * 10):
        encoded = pc.dictionary_encode(batch.column("ServiceName"))
        number = np.array([services.get(name, -1) for name in encoded.dictionary.to_pylist()] or [-1], np.int64)
        at = pc.cast(pc.cast(batch.column("Timestamp"), "timestamp[ms]", safe=False), "int64").to_numpy()
        yield number[encoded.indices.to_numpy()], at, batch.column("Value").to_numpy()


def baseline(table: Path, version: int, services: Mapping[str, int], slots: int, windows: int) -> Baseline:
    """A stored version of a baseline, of the services that are asked for."""
    found = deltalake.DeltaTable(str(table), version=version).to_pyarrow_table(
        columns=["ServiceName", "DayType", "Last4Avg", "Spread"]
    )
    averages, spreads = (np.full((len(services), 7, length), np.nan) for length in (slots, windows))
    columns = [found.column(name) for name in ("ServiceName", "DayType", "Last4Avg", "Spread")]
    for name, day_type, average, spread in zip(*columns, strict=True):
        if (number := services.get(name.as_py())) is not None:
            averages[number, day_type.as_py() - 1] = pc.fill_null(pc.cast(average.values, "float64"), np.nan).to_numpy()
            spreads[number, day_type.as_py() - 1] = pc.fill_null(pc.cast(spread.values, "float64"), np.nan).to_numpy()
    return Baseline(averages, spreads)


def promotions(table: Path) -> list[tuple[int, int, dict]]:
    """Version, epoch ms and note of each commit that put a version in force, oldest first: those that name a candidate."""
    if not deltalake.DeltaTable.is_deltatable(str(table)):
        return []
    commits = deltalake.DeltaTable(str(table)).history()
    noted = [(each["version"], each["timestamp"], json.loads(each.get("userMetadata") or "{}")) for each in commits]
    return sorted((version, at, note) for version, at, note in noted if "candidate_version" in note)
