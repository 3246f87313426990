"""What queries make of rides, metrics and meters, computed a second time in plain Python from the records of the topics."""

import datetime as dt
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from zoneinfo import ZoneInfo

import fastavro
import numpy as np
from confluent_kafka import Message

from bench.chaos.verify import Findings
from contracts import avro

HEADER = 5  # bytes before an Avro value
NEW_YORK, EPOCH = ZoneInfo("America/New_York"), dt.datetime(1970, 1, 1)
WINDOW = 600_000  # milliseconds of a metric's summary
LARGEST_INT = 2**31 - 1
Read = Callable[[str], Iterable[Message]]  # all records of a topic


def rows(record: str, messages: Iterable[Message], version: int | None = None) -> list[dict]:
    """The values, with times as numbers. No record without a value."""
    plain = fastavro.parse_schema(_plain(avro.schema(record, version)))
    return [fastavro.schemaless_reader(io.BytesIO(each.value()[HEADER:]), plain) for each in messages]  # type: ignore[misc]


def _plain(schema):
    """With numbers where the schema has times."""
    if isinstance(schema, dict):
        return {name: _plain(each) for name, each in schema.items() if name not in ("logicalType", "aliases")}
    return [_plain(each) for each in schema] if isinstance(schema, list) else schema


def branches(good: Iterable[Message], read: Read, findings: Findings) -> int:
    """How many rides there are. Each must be in the topic of its amount, by its name."""
    wanted: dict[str, dict[bytes, dict]] = {"rides.low-amount": {}, "rides.high-amount": {}}
    for row in rows("taxi_ride", good):
        wanted["rides.low-amount" if row["total_amount"] < 40 else "rides.high-amount"][_name(row)] = row
    for topic, right in wanted.items():
        messages = list(read(topic))
        found = {each.key(): row for each, row in zip(messages, rows("taxi_ride", messages), strict=True)}
        _differences(topic, right, found, findings)
    return sum(map(len, wanted.values()))


def _name(row: dict) -> bytes:
    picked_up = (EPOCH + dt.timedelta(milliseconds=row["tpep_pickup_datetime"])).isoformat(timespec="seconds")
    cells = (row["VendorID"], picked_up, row["PULocationID"], row["DOLocationID"], row["total_amount"])
    return "|".join(map(str, cells)).encode()


def fares(good: Iterable[Message], read: Read, findings: Findings) -> int:
    """How many bookings there are. Each ride must be booked exactly once."""
    right = Counter(
        (row["VendorID"], _instant(row["tpep_dropoff_datetime"]), row["total_amount"]) for row in rows("taxi_ride", good)
    )
    found = Counter((row["VendorID"], row["At"], row["Amount"]) for row in rows("fare", read("rides.fares")))
    _differences("rides.fares", right, found, findings)
    return found.total()


def _instant(wall: int) -> int:
    """Of a wall clock in New York, both in epoch milliseconds."""
    local = (EPOCH + dt.timedelta(milliseconds=wall)).replace(tzinfo=NEW_YORK)
    return round(local.timestamp() * 1000)


def summaries(good: Iterable[Message], read: Read, findings: Findings) -> int:
    """How many summaries there are. Each measurement must be in its summary or, once or more often, in the topic of late ones."""
    right: dict[tuple[str, int], list[float]] = defaultdict(list)
    messages = list(good)
    for each, row in zip(messages, rows("metric_event", messages), strict=True):
        right[each.key().decode(), row["Timestamp"] // WINDOW * WINDOW].append(row["Value"])
    last: dict[tuple[str, int], dict] = {}
    for row in rows("metric_summary", read("metrics.summaries")):
        place = row["Key"], row["WindowStart"]
        if place not in last or row["Revision"] >= last[place]["Revision"]:
            last[place] = row
    late: dict[tuple[str, int], set[float]] = defaultdict(set)
    for row in rows("late_metric_event", read("metrics.late")):
        late[row["Key"], row["Timestamp"] // WINDOW * WINDOW].add(row["Value"])
    for place in sorted(right.keys() | last.keys()):
        values = [value for value in right.get(place, []) if value not in late[place]]
        found = last.get(place)
        has = (found["Count"], found["Min"], found["Max"], round(found["Average"] * found["Count"])) if found else (0,) * 4
        must = (len(values), min(values), max(values), round(sum(values))) if values else (0,) * 4
        if not np.allclose(has, must, rtol=1e-9):
            findings.add("summary_wrong", f"{place[0]} at {place[1]} has count, least, greatest, sum {has}, must have {must}")
    return len(last)


def converted(good: Iterable[Message], read: Read, findings: Findings) -> int:
    """How many converted readings there are. Each reading must be there as version 1, unless its count is too large for that."""
    right = {
        (row["Meter"], row["At"], row["Zone"], row["WattHours"])
        for row in rows("meter_reading", good)
        if row["WattHours"] <= LARGEST_INT
    }
    read_ = rows("meter_reading", read("meter-readings.v1"), 1)
    found = {(row["Meter"], row["At"], row["District"], row["WattHours"]) for row in read_}
    _differences("meter-readings.v1", dict.fromkeys(right, 1), dict.fromkeys(found, 1), findings)
    return len(found)


# By application and the topic that it reads: the name of the figure, and what judges the results.
JUDGES: dict[str, tuple[str, str, Callable[[Iterable[Message], Read, Findings], int]]] = {
    "rides": ("rides", "branched", branches),
    "fares": ("rides", "booked", fares),
    "metrics": ("metrics", "summaries", summaries),
    "migrations": ("meter-readings", "converted", converted),
}


def _differences(topic: str, right, found, findings: Findings) -> None:
    for place in right.keys() | found.keys():
        if right.get(place) != found.get(place):
            findings.add("result_wrong", f"{topic} has {found.get(place)} of {place!r}, must have {right.get(place)}")
