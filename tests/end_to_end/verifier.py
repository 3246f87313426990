"""What must have come out of what went in, computed in plain Python from Kafka's bytes and the baseline's Parquet.

Shares no code with the jobs: the rule, the calendar and the wire format are written down here a second time.
"""

import datetime as dt
import io
import json
import struct
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import deltalake
import fastavro
from confluent_kafka import Consumer, TopicPartition

ZONE = ZoneInfo("America/New_York")
INTERVAL = 10
PERCENT, SPREADS, MINIMUM = 5, 6, 20  # as service-use declares
SCHEMAS = Path(__file__).parents[2] / "schemas" / "avro"


@dataclass(frozen=True)
class Judged:
    """What is known of one reading, or of its outputs taken together."""

    value: int
    average: float | None
    difference: float | None
    anomalous: bool


def consume(kafka: str, topic: str) -> list:
    """Every record of the topic, to its end as it is now."""
    reader = Consumer(
        {"bootstrap.servers": kafka, "group.id": "verifier", "enable.auto.commit": False, "fetch.queue.backoff.ms": 5}
    )
    marks = {
        p: reader.get_watermark_offsets(TopicPartition(topic, p), timeout=10)
        for p in reader.list_topics(topic).topics[topic].partitions
    }
    reader.assign([TopicPartition(topic, partition, low) for partition, (low, _) in marks.items()])
    found, waiting = [], {partition for partition, (low, high) in marks.items() if high > low}
    while waiting:
        for message in reader.consume(1000, timeout=10):
            found.append(message)
            if message.offset() >= marks[message.partition()][1] - 1:
                waiting.discard(message.partition())
    reader.close()
    return found


def record(value: bytes, name: str) -> dict:
    """An Avro value in the Confluent wire format; raises where it is not one."""
    magic, schema_id = struct.unpack(">bI", value[:5])
    if magic != 0 or not 0 < schema_id < 10_000:
        raise ValueError(f"header {value[:5]!r}")
    rest = io.BytesIO(value[5:])
    decoded = fastavro.schemaless_reader(rest, json.loads((SCHEMAS / name / "v1.avsc").read_text()))
    if rest.read():
        raise ValueError("bytes after the record")
    return decoded


def baseline(path: Path, version: int) -> dict[tuple[str, int], tuple[list, list]]:
    rows = deltalake.DeltaTable(str(path), version=version).to_pyarrow_table().to_pylist()
    assert {row["Growth"] for row in rows} == {1.0}, "service-use declares no growth"
    return {(row["ServiceName"], row["DayType"]): (row["Last4Avg"], row["Spread"]) for row in rows}


def baseline_of_topic(kafka: str, as_of: dt.date, holidays: set[dt.date]) -> dict[tuple[str, int], tuple[list, list, list]]:
    """What the baseline as of that date must be, from the topic's bytes: (Last4Avg, Samples, Spread) by service and day type."""

    def day_type(date: dt.date) -> int:
        return 7 if date in holidays else date.isoweekday()

    days = [as_of - dt.timedelta(days=back) for back in range(1, 70)]
    counted = {day for number in range(1, 8) for day in [each for each in days if day_type(each) == number][:4]}
    latest = {}
    for message in consume(kafka, "service-use"):
        try:
            row = record(message.value(), "service_use_record")
        except (ValueError, EOFError, IndexError, struct.error):
            continue
        latest[message.key(), row["Timestamp"]] = row["Value"]  # a later offset corrects the earlier
    values = defaultdict(lambda: defaultdict(list))
    for (service, at), value in latest.items():
        local = at.astimezone(ZONE)
        if local.date() in counted:
            slot = (local.hour * 3600 + local.minute * 60 + local.second) // INTERVAL
            values[service.decode(), day_type(local.date())][slot].append(value)
    return {key: _packed(slots) for key, slots in values.items()}


def _packed(values: dict[int, list[int]]) -> tuple[list, list, list]:
    averages, samples, residuals = [None] * 8640, [None] * 8640, defaultdict(list)
    for slot, found in values.items():
        if len(found) > 1:
            averages[slot], samples[slot] = sum(found) / len(found), len(found)
            scale = (len(found) / (len(found) - 1)) ** 0.5
            residuals[slot // 90] += [abs(value - averages[slot]) * scale for value in found]
    return (
        averages,
        samples,
        [1.4826022185056018 * median(residuals[window]) if residuals[window] else None for window in range(96)],
    )


def judge(service: str, at: dt.datetime, value: int, expected: dict, holidays: set[dt.date]) -> Judged:
    local = at.astimezone(ZONE)
    day_type = 7 if local.date() in holidays else local.isoweekday()
    slot = (local.hour * 3600 + local.minute * 60 + local.second) // INTERVAL
    averages, spreads = expected.get((service, day_type), ([None] * 8640, [None] * 96))
    average, spread = averages[slot], spreads[slot // 90]
    if average is None:
        return Judged(value, None, None, False)
    beyond = value != 0 if average == 0 else abs(100 * value / average - 100) > PERCENT
    far = spread is not None and abs(value - average) > SPREADS * spread
    return Judged(value, average, value - average, beyond and far and max(value, average) >= MINIMUM)


def key_of(service: str, at: dt.datetime) -> bytes:
    return f"{service}|{int(at.timestamp() * 1000)}".encode()


class Verifier:
    """Holds the derived topics against the source topic from `since` (offset by partition) on."""

    def __init__(self, kafka: str, lake: Path, since: dict[int, int], holidays: set[dt.date]):
        self.kafka, self.lake, self.since, self.holidays = kafka, lake, since, holidays

    def differences(self) -> list[str]:
        """All that is missing, wrong or too much, in words; empty when every reading was judged rightly."""
        readings, sent, garbage = self._source()
        scored = {m.key(): record(m.value(), "scored") for m in consume(self.kafka, "service-use.scored")}
        anomalies = {m.key(): record(m.value(), "anomaly") for m in consume(self.kafka, "service-use.anomalies")}
        dead = {m.key(): m for m in consume(self.kafka, "service-use.dead-letter")}
        versions = {row["BaselineVersion"] for row in [*scored.values(), *anomalies.values()]} - {-1}
        known = {version: baseline(self.lake / "baseline" / "service_use", version) for version in versions} | {-1: {}}
        found = [f"reading {key!r} was not scored" for key in readings.keys() - scored.keys()]
        found += [f"scored {key!r} was never read" for key in scored.keys() - readings.keys()]
        expected_anomalies = set()
        for key in readings.keys() & scored.keys():
            service, at, value = readings[key]
            row = scored[key]
            right = judge(service, at, value, known[row["BaselineVersion"]], self.holidays)
            if Judged(row["Value"], row["Last4Avg"], row["PredictedDiff"], row["Anomalous"]) != right:
                found.append(f"{key!r} is {row}, must be {right}")
            if right.anomalous:
                expected_anomalies.add(key)
        found += [f"anomaly {key!r} is missing" for key in expected_anomalies - anomalies.keys()]
        for key, row in anomalies.items():
            judged = scored.get(key) if key in expected_anomalies else None
            if judged and (row["Value"], row["BaselineVersion"]) != (judged["Value"], judged["BaselineVersion"]):
                found.append(f"anomaly {key!r} is {row}, was last judged as {judged}")
            # What a correction or a later baseline has cleared stays among the anomalies; it was one of its baseline's time.
            right = judge(row["ServiceName"], row["Timestamp"], row["Value"], known[row["BaselineVersion"]], self.holidays)
            if not right.anomalous or row["Value"] not in sent[key]:
                found.append(f"anomaly {key!r} is none: {row}")
        found += [f"{key!r} is missing from the dead letters" for key in garbage.keys() - dead.keys()]
        found += [f"dead letter {key!r} was a good record" for key in dead.keys() - garbage.keys()]
        found += [
            f"dead letter {key!r} has other bytes" for key in dead.keys() & garbage.keys() if dead[key].value() != garbage[key]
        ]
        found += [f"dead letter {key!r} has no reason" for key in dead if not dict(dead[key].headers() or []).get("reason")]
        return found

    def counts(self) -> Counter:
        readings, _, garbage = self._source()
        return Counter(readings=len(readings), garbage=len(garbage))

    def _source(self) -> tuple[dict, dict, dict]:
        """The latest reading of each key, all values that were sent for it, and what is no record, by where it stands."""
        readings, sent, garbage = {}, defaultdict(set), {}
        for message in consume(self.kafka, "service-use"):
            if message.offset() < self.since[message.partition()]:
                continue
            try:
                row = record(message.value(), "service_use_record")
                service = message.key().decode()
                key = key_of(service, row["Timestamp"])
                readings[key] = (service, row["Timestamp"], row["Value"])
                sent[key].add(row["Value"])
            except (ValueError, EOFError, IndexError, struct.error):
                garbage[f"service-use-{message.partition()}-{message.offset()}".encode()] = message.value()
        return readings, sent, garbage
