"""Records of Avro contracts for the topics of declared queries: rides, metrics, meters. As `records` has them."""

import io
import random
import struct
import time
from collections.abc import Callable, Iterator, Sequence

import fastavro

from bench.chaos.records import NOT_AVRO, UNKNOWN_IDS, Draft
from contracts import avro

# By class: how often, and the reason of its letter.
CLASSES: dict[str, tuple[float, str | None]] = {
    "row": (300.0, None),
    "row_junk": (8.0, "^first byte is not the Confluent magic byte 0$"),
    "row_short": (6.0, "^value too short for the Confluent wire format$"),
    "row_truncated": (8.0, f"^value (is )?({NOT_AVRO})$"),
    "row_mutated": (8.0, f"^value (is )?({NOT_AVRO})$"),
    "row_trailing": (8.0, "^value has more bytes behind the record$"),
    "row_unknown_schema": (1.0, "^unknown schema id "),
    "row_no_value": (4.0, r"^no value \(tombstone\) where a record belongs$"),
    "row_no_key": (4.0, "^no key$"),
    "row_key_not_utf8": (4.0, "^key is not UTF-8 text$"),
    "row_key_no_avro": (4.0, "^first byte is not the Confluent magic byte 0$"),
    "row_key_trailing": (4.0, "^key has more bytes behind the record$"),
    "row_invalid": (8.0, "^not valid: MetricKey RLIKE "),
}
REASONS: dict[str, str | None] = {name: reason for name, (_, reason) in CLASSES.items()}
ANY_KEY = ("row_no_key",)
TEXT_KEY, AVRO_KEY = (*ANY_KEY, "row_key_not_utf8"), (*ANY_KEY, "row_key_no_avro", "row_key_trailing")
Id = Callable[[str], int]  # of the newest schema of a subject
Row = tuple[bytes, dict]  # key and fields
YEAR_2099 = 4_070_908_800_000


def encoded(record: str, schema_id: int, fields: dict) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, avro.parsed(record), fields)
    return struct.pack(">bI", 0, schema_id) + out.getvalue()


class Rows:
    """Draws drafts for one topic. make: a good row, from a source of chance and the row's number. more: classes of this topic
    alone, by how a good row becomes one."""

    def __init__(
        self,
        seed: int,
        topic: str,
        record: str,
        id_of: Id,
        make: Callable[[random.Random, int], Row],
        keys: Sequence[str] = TEXT_KEY,
        more: dict[str, Callable[[random.Random, Row], Row]] | None = None,
    ):
        self._chance, self._kind = random.Random(f"{seed} {topic}"), random.Random(f"{seed} kinds of {topic}")
        self._record, self._id, self._make, self._more = record, id_of(avro.subject(topic)), make, more or {}
        of_some = {*TEXT_KEY, *AVRO_KEY, "row_invalid"} - {*keys, *self._more}
        self._kinds = [name for name in CLASSES if name not in of_some]
        self._count = 0

    def drafts(self, count: int) -> list[Draft]:
        weights = [CLASSES[name][0] for name in self._kinds]
        return [self._draft(kind) for kind in self._kind.choices(self._kinds, weights, k=count)]

    def _draft(self, kind: str) -> Draft:
        self._count += 1
        row = self._make(self._chance, self._count)
        key, fields = self._more[kind](self._chance, row) if kind in self._more else row
        value = encoded(self._record, self._id, fields)
        return Draft(self._key(kind, key), self._value(kind, value), kind)

    def _key(self, kind: str, key: bytes) -> bytes | None:
        return {
            "row_no_key": None,
            "row_key_not_utf8": b"\xff" + key,
            "row_key_no_avro": b"\7" + key,
            "row_key_trailing": key + b"\1",
        }.get(kind, key)

    def _value(self, kind: str, value: bytes) -> bytes | None:
        chance = self._chance
        changed: dict[str, Callable[[], bytes | None]] = {
            "row_junk": lambda: bytes([chance.randrange(1, 256)]) + chance.randbytes(chance.randrange(5, 300)),
            "row_short": lambda: value[: chance.randrange(1, 6)],
            "row_truncated": lambda: value[: chance.randrange(6, len(value))],
            "row_mutated": lambda: value[:5] + bytes(byte | 128 for byte in value[5:]),
            "row_trailing": lambda: value + chance.randbytes(chance.randrange(1, 40)),
            "row_unknown_schema": lambda: struct.pack(">bI", 0, chance.choice(UNKNOWN_IDS)) + value[5:],
            "row_no_value": lambda: None,
        }
        return changed.get(kind, lambda: value)()


def _now(chance: random.Random) -> int:
    """An instant of the last minute, epoch milliseconds."""
    return int(time.time() * 1000) - chance.randrange(60_000)


def rides(seed: int, id_of: Id) -> Rows:
    """Rides in the wall clock of New York, which lies behind UTC; their key is Avro, too."""
    key_id = id_of(avro.key_subject("rides"))

    def make(chance: random.Random, number: int) -> Row:
        vendor, picked_up = chance.randrange(1, 9), _now(chance) // 1000 * 1000 - 6 * 3_600_000
        total = chance.randrange(8_000) / 100
        fields = {
            "VendorID": vendor,
            "tpep_pickup_datetime": picked_up,
            "tpep_dropoff_datetime": picked_up + chance.randrange(60, 3_000) * 1000,
            "trip_distance": chance.randrange(2_000) / 100,
            "PULocationID": chance.randrange(1, 266),
            "DOLocationID": chance.randrange(1, 266),
            "payment_type": chance.choice([None, 1, 2]),
            **dict.fromkeys(("extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge"), 0.5),
            **{"fare_amount": total, "total_amount": total},
        }
        return encoded("taxi_ride_key", key_id, {"VendorID": vendor}), fields

    return Rows(seed, "rides", "taxi_ride", id_of, make, AVRO_KEY)


def metrics(seed: int, id_of: Id) -> Rows:
    """Measurements, each with a value of its own."""

    def make(chance: random.Random, number: int) -> Row:
        key = f"environment=e{chance.randrange(3)}:metric=m{chance.randrange(10)}"
        return key.encode(), {"Id": None, "Timestamp": _now(chance), "Value": float(number)}

    def invalid(chance: random.Random, row: Row) -> Row:
        key, fields = row
        wrong: list[dict] = [
            {"Value": float("nan")},
            {"Value": float("-inf")},
            {"Timestamp": YEAR_2099},
            {"Timestamp": -YEAR_2099},
        ]
        if chance.random() < 0.2:
            return b"no metric", fields
        return key, fields | chance.choice(wrong)

    return Rows(seed, "metrics", "metric_event", id_of, make, more={"row_invalid": invalid})


def meters(seed: int, id_of: Id) -> Rows:
    """Readings of meters by the newest contract; some counts are too large for its first version."""

    def make(chance: random.Random, number: int) -> Row:
        meter = f"meter-{chance.randrange(500)}"
        count = number if chance.random() < 0.98 else 2**31 + number
        zone = chance.choice(["north", "søndre", "東"])
        return meter.encode(), {"Meter": meter, "At": _now(chance), "Zone": zone, "WattHours": count, "Source": "remote"}

    return Rows(seed, "meter-readings", "meter_reading", id_of, make)


# By application: the topic that it reads, and what draws records for it.
TOPICS = {
    "rides": ("rides", rides),
    "fares": ("rides", rides),
    "metrics": ("metrics", metrics),
    "migrations": ("meter-readings", meters),
}


def topics(seed: int, application: str, id_of: Id) -> Iterator[tuple[str, Callable[[int], Sequence[Draft]]]]:
    """As in `others`."""
    name, made = TOPICS[application]
    yield name, made(seed, id_of).drafts
