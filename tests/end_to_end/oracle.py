"""What must come out of what went in, in plain Python, from Kafka's bytes and the baseline's Parquet.

Shares no code with the jobs: the rule, the calendar and the wire format are written down here a second time. Instants are epoch
milliseconds.
"""

import datetime as dt
import io
import json
import struct
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import deltalake
import fastavro
import holidays

ZONE = ZoneInfo("America/New_York")
HOLIDAYS = holidays.country_holidays("US", years=range(2020, 2036))
INTERVAL, SLOTS, WINDOW = 10, 8640, 90  # seconds; of a day; slots that share a spread
PERCENT, SPREADS, MINIMUM = 5, 6, 20  # as service-use declares
DATES = 4  # of each day type
SCHEMAS = Path(__file__).parents[2] / "schemas" / "avro"
MALFORMED = (ValueError, EOFError, IndexError, struct.error)

# By service and day type: Last4Avg and Samples by slot, Spread by window.
Baseline = dict[tuple[str, int], tuple[list, list, list]]
NONE = ([None] * SLOTS, [None] * SLOTS, [None] * (SLOTS // WINDOW))


@cache
def schema(name: str) -> dict:
    newest = max((SCHEMAS / name).glob("v*.avsc"), key=lambda file: int(file.stem.removeprefix("v")))
    declared = json.loads(newest.read_text())
    for field in declared["fields"]:
        field["type"] = _written(field["type"])
    return fastavro.parse_schema(declared)


def _written(kind):
    """An instant's type as that of the number that it is written as."""
    if isinstance(kind, list):
        return [_written(each) for each in kind]
    return kind["type"] if isinstance(kind, dict) else kind


def record(value: bytes, name: str) -> dict:
    """An Avro value in the Confluent wire format; raises one of MALFORMED where it is none."""
    magic, schema_id = struct.unpack(">bI", value[:5])
    if magic != 0 or not 0 < schema_id < 10_000:
        raise ValueError(f"header {value[:5]!r}")
    rest = io.BytesIO(value[5:])
    decoded = fastavro.schemaless_reader(rest, schema(name))
    if rest.read():
        raise ValueError("bytes after the record")
    return decoded


@cache
def day_type(date: dt.date) -> int:
    return 7 if date in HOLIDAYS else date.isoweekday()


def place(at: int) -> tuple[dt.date, int]:
    """Local date and slot."""
    local = dt.datetime.fromtimestamp(at / 1000, ZONE)
    return local.date(), (local.hour * 3600 + local.minute * 60 + local.second) // INTERVAL


def dates_of(kind: int, as_of: dt.date) -> list[dt.date]:
    """The dates of a day type that a baseline as of that date is made from, newest first."""
    days = (as_of - dt.timedelta(days=back) for back in range(1, 70))
    return [day for day in days if day_type(day) == kind][:DATES]


def scored(service: str, at: int, value: int, baseline: Baseline, version: int) -> dict:
    """The scored row of a reading, every field of it."""
    date, slot = place(at)
    averages, _, spreads = baseline.get((service, day_type(date)), NONE)
    average = averages[slot]
    spread = None if average is None else spreads[slot // WINDOW]
    return {
        "ServiceName": service,
        "Timestamp": at,
        "Value": value,
        "DayType": day_type(date),
        "Slot": slot,
        "Last4Avg": average,
        "Expected": average,  # service-use declares no growth
        "Spread": spread,
        "PredictedDiff": None if average is None else value - average,
        "PredictedPct": 100.0 * value / average if average else None,
        "Anomalous": average is not None and _anomalous(value, average, spread),
        "BaselineVersion": version,
        "Level": None,  # service-use declares a rule by the plain figures
        "Scale": None,
    }


def order(row: dict) -> tuple:
    """Of several rows of one key, the one with the highest counts."""
    return row["KafkaTimestamp"], row["KafkaOffset"], row["BaselineVersion"]


def _anomalous(value: int, average: float, spread: float | None) -> bool:
    beyond = value != 0 if average == 0 else abs(100 * value / average - 100) > PERCENT
    far = spread is not None and abs(value - average) > SPREADS * spread
    return beyond and far and max(value, average) >= MINIMUM


def anomaly(row: dict) -> dict:
    """The anomaly record of a scored row that is anomalous."""
    return {name: value for name, value in row.items() if name not in ("DayType", "Slot", "Anomalous")}


def stored_baseline(path: Path, version: int) -> Baseline:
    """A version of the baseline, as its Parquet has it."""
    rows = deltalake.DeltaTable(str(path), version=version).to_pyarrow_table().to_pylist()
    assert {row["Growth"] for row in rows} == {1.0}, "service-use declares no growth"
    return {(row["ServiceName"], row["DayType"]): (row["Last4Avg"], row["Samples"], row["Spread"]) for row in rows}


def baseline_of(readings: dict[str, dict[int, int]], as_of: dt.date) -> Baseline:
    """The baseline as of that date, from values by service and instant."""
    counted = {day for kind in range(1, 8) for day in dates_of(kind, as_of)}
    values = defaultdict(lambda: defaultdict(list))
    for service, of_service in readings.items():
        for at, value in of_service.items():
            date, slot = place(at)
            if date in counted:
                values[service, day_type(date)][slot].append(value)
    return {key: _packed(slots) for key, slots in values.items()}


def _packed(values: dict[int, list[int]]) -> tuple[list, list, list]:
    averages, samples, residuals = [None] * SLOTS, [None] * SLOTS, defaultdict(list)
    for slot, found in values.items():
        if len(found) > 1:
            averages[slot], samples[slot] = sum(found) / len(found), len(found)
            scale = (len(found) / (len(found) - 1)) ** 0.5
            residuals[slot // WINDOW] += [abs(value - averages[slot]) * scale for value in found]
    spreads = [1.4826022185056018 * median(residuals[each]) if residuals[each] else None for each in range(SLOTS // WINDOW)]
    return averages, samples, spreads
