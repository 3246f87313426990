"""JSON events: those of the samples, and what the declared queries must make of events, counted by hand."""

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from confluent_kafka import Message, Producer

from contracts.declarations import SCHEMAS

MINUTE = 60_000
KEYS = {"product_views": "User", "product_changes": "Product", "check_ins": "User", "sensor_readings": "Sensor"}


def sample(name: str) -> list[tuple[str, dict]]:
    """Key and value of the sample's records, as `sundial send` makes them of its rows."""
    rows = [json.loads(line) for line in (SCHEMAS.parent / "samples" / f"{name}.jsonl").read_text().splitlines()]
    keyed = [(row[KEYS[name]], row) for row in rows]
    return [(key, {n: v for n, v in row.items() if (name, n) != ("product_changes", "Product")}) for key, row in keyed]


def ms(at: str | int | dt.datetime) -> int:
    """Of a time as events have it, or as a record of Avro has it."""
    at = dt.datetime.fromisoformat(at) if isinstance(at, str) else at
    return at if isinstance(at, int) else round(at.timestamp() * 1000)


def trending(views: Iterable[dict], window: int = 60 * MINUTE, hop: int = 10 * MINUTE, top: int = 3) -> dict[int, list[tuple]]:
    """By start of the window, the first products with their users and views."""
    users: dict[tuple, list] = defaultdict(list)
    for view in views:
        last = ms(view["At"]) // hop * hop
        for start in range(last, last - window, -hop):
            users[start, view["Product"]].append(view["User"])
    found = defaultdict(list)
    for (start, product), of in users.items():
        found[start].append((product, len(set(of)), len(of)))
    return {start: sorted(rows, key=lambda row: (-row[1], -row[2], row[0]))[:top] for start, rows in found.items()}


def as_trending(rows: Iterable[dict]) -> dict[int, list[tuple]]:
    """Records of the contract trending_products, as `trending` counts them."""
    return {ms(row["WindowStart"]): [tuple(each.values()) for each in row["Top"]] for row in rows}


def products(changes: Iterable[tuple[str, dict]]) -> dict[str, dict]:
    """The table that the changes leave."""
    table: dict[str, dict] = {}
    for product, change in changes:
        if change["op"] == "DELETE":
            table.pop(product, None)
        elif allowed(change):
            table[product] = {"Product": product, "Name": change["name"], "Price": change["price"]}
    return table


def allowed(change: dict) -> bool:
    whole = change.get("name") is not None and change.get("price") is not None and change["price"] >= 0
    return change["op"] == "DELETE" or (change["op"] == "PUT" and whole)


def last_check_ins(check_ins: Iterable[dict]) -> dict[str, tuple]:
    newest: dict[str, tuple] = {}
    for each in check_ins:
        newest[each["User"]] = max(newest.get(each["User"], (0, "")), (ms(each["At"]), each["Place"]))
    return newest


def as_check_ins(rows: Iterable[dict]) -> dict[str, tuple]:
    """Rows of the table, as `last_check_ins` has them."""
    return {row["User"]: (ms(row["At"]), row["Place"]) for row in rows}


def minutes(readings: Iterable[dict], watermark: int) -> dict[tuple[str, int], tuple]:
    """Readings, average, least and greatest by sensor and start, of the minutes that are over."""
    values = defaultdict(list)
    for each in readings:
        start = ms(each["At"]) // MINUTE * MINUTE
        if each["Celsius"] >= -273.15 and start + MINUTE <= watermark:
            values[each["Sensor"], start].append(Decimal(str(each["Celsius"])))
    return {place: (len(v), mean(v), float(min(v)), float(max(v))) for place, v in values.items()}


def mean(values: list[Decimal]) -> float:
    """To seven decimals, as Spark's average of numbers with three."""
    return float((sum(values) / len(values)).quantize(Decimal("1e-7"), ROUND_HALF_UP))


def as_minutes(rows: Iterable[dict]) -> dict[tuple[str, int], tuple]:
    """Records of the contract sensor_minute, as `minutes` counts them."""
    return {(row["Sensor"], ms(row["WindowStart"])): (row["Readings"], row["Average"], row["Min"], row["Max"]) for row in rows}


class Events:
    """Writes keyed JSON to topics, in the order of each call."""

    def __init__(self, broker):
        self._producer = Producer(
            {"bootstrap.servers": broker.kafka, "enable.idempotence": True, "partitioner": "murmur2_random"}
        )

    def send(self, topic: str, *records: tuple[str, dict], **where) -> None:
        """where: the partition, if not the key's."""
        for key, value in records:
            self._producer.produce(topic, json.dumps(value).encode(), key.encode(), **where)
        assert self._producer.flush(30) == 0


def table(messages: Iterable[Message], topic: str) -> dict[str, dict]:
    """What a reader that upserts has of a topic in JSON."""
    kept = {each.key().decode(): each.value() for each in messages if each.topic() == topic}
    return {key: json.loads(value) for key, value in kept.items() if value is not None}
