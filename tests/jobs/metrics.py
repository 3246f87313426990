"""Metric events in Kafka, and their summaries."""

import datetime as dt
import io
import math
from collections.abc import Iterable

import fastavro
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient

from contracts import avro
from contracts.queries import load_queries
from jobs.transforms import sketch

MINUTE = 60_000
LATENESS = load_queries()["metric-summaries"].parameters["lateness_minutes"] * MINUTE


class MetricsTopic:
    def __init__(self, broker, topic: str):
        self._topic = topic
        self._producer = Producer(
            {"bootstrap.servers": broker.kafka, "enable.idempotence": True, "partitioner": "murmur2_random"}
        )
        newest = SchemaRegistryClient({"url": broker.registry}).get_latest_version(avro.subject(topic))
        self._header = avro.HEADER.pack(avro.MAGIC, newest.schema_id)

    def send(self, *events: tuple[str, str | None, int, float]) -> None:
        """(key, Id, epoch ms, value) of each."""
        schema = avro.parsed("metric_event")
        for key, id_, at, value in events:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, schema, {"Id": id_, "Timestamp": at, "Value": value})
            self._producer.produce(self._topic, self._header + out.getvalue(), key.encode())
            self._producer.poll(0)
        assert self._producer.flush(30) == 0


def by_window(rows: Iterable[dict]) -> dict[tuple[str, int], dict]:
    """Records of the contract metric_summary by key and start of the window in epoch ms."""
    return {(row["Key"], round(row["WindowStart"].astimezone(dt.UTC).timestamp() * 1000)): row for row in rows}


def wrong(found: dict, values: dict) -> list[str]:
    """What of the summaries is not as computed in plain Python from the values."""
    differences = []
    for place, row in found.items():
        ranked = sorted(values[place])
        mean = math.fsum(ranked) / len(ranked)
        variance = math.fsum((value - mean) ** 2 for value in ranked) / len(ranked)
        exact = {
            "Average": mean,
            "Min": ranked[0],
            "Max": ranked[-1],
            "Variance": variance,
            "StandardDeviation": math.sqrt(variance),
        }
        differences += [f"{place}: {name}" for name, value in exact.items() if not math.isclose(row[name], value, rel_tol=1e-9)]
        for name, share in {"P50": 0.5, "P90": 0.9, "P99": 0.99}.items():
            if not math.isclose(row[name], ranked[math.floor(share * (len(ranked) - 1))], rel_tol=sketch.ACCURACY * (1 + 1e-9)):
                differences.append(f"{place}: {name}")
    return differences
