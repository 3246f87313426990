"""Builders of what serving reads: baseline tables, gate results, streams' run-state, records on the topics."""

import datetime as dt
import io
import json
import math
from pathlib import Path

import fastavro
import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from deltalake import CommitProperties, DeltaTable, write_deltalake

from contracts import avro
from contracts.feeds import Feed

BASELINE = pa.schema(
    [
        ("ServiceName", pa.string()),
        ("DayType", pa.int32()),
        ("Last4Avg", pa.list_(pa.float64())),
        ("Samples", pa.list_(pa.int32())),
        ("Spread", pa.list_(pa.float64())),
        ("Growth", pa.float64()),
        ("Dates", pa.list_(pa.date32())),
    ]
)


NOTE = {
    "candidate_version": 3,
    "run_id": "nightly-1",
    "as_of": "2026-11-20",
    "gate": True,
    "by": "nightly_baseline",
    "reason": "passed the gate",
    "inputs": {"1": "a"},
}


def shape(slot: int, slots: int, scale: float = 100.0) -> float:
    """A day's course: low at night, high in the afternoon."""
    return scale * (1.2 - math.cos(2 * math.pi * (slot / slots - 0.1)))


def promote(lake: Path, feed: Feed, scales: dict[str, float], days=range(1, 8), growth: float = 1.0, **more) -> None:
    """One promotion: a baseline of these services (name to scale) on these day types, replacing the one in force."""
    rows = [
        {
            "ServiceName": service,
            "DayType": day,
            "Last4Avg": [shape(slot, feed.slots, scale) for slot in range(feed.slots)],
            "Samples": [4] * feed.slots,
            "Spread": [scale / 50] * feed.spread_windows,
            "Growth": growth,
            "Dates": [dt.date(2026, 11, day)],
        }
        for service, scale in scales.items()
        for day in days
    ]
    write_deltalake(
        baseline_path(lake, feed),
        pa.Table.from_pylist(rows, schema=BASELINE),
        mode="overwrite",
        partition_by=["DayType"],
        commit_properties=properties(NOTE | more),
    )


def build(lake: Path, feed: Feed, as_of: str, run_id: str = "night-1") -> int:
    """A candidate as of that date: its version."""
    path = str(lake / "baseline_candidate" / feed.table)
    note = {"as_of": as_of, "run_id": run_id}
    write_deltalake(path, pa.table({"DayType": [1]}), mode="append", commit_properties=properties(note))
    return DeltaTable(path).version()


def roll_back(lake: Path, feed: Feed, version: int, **more) -> None:
    """An older version in force again: its own note, with who rolled back, why and in which run."""
    table = DeltaTable(baseline_path(lake, feed))
    then = next(json.loads(commit["userMetadata"]) for commit in table.history() if commit["version"] == version)
    note = then | {"rolled_back_to": version, "run_id": "rollback-1", "by": "mara", "reason": "it was worse"}
    note |= {"at": dt.datetime.now(dt.UTC).isoformat()} | more
    table.restore(version, commit_properties=properties(note))


def keep_up(lake: Path, feed: Feed) -> None:
    """Upkeep of the baseline table: four commits that change no row."""
    table = DeltaTable(baseline_path(lake, feed))
    table.optimize.z_order(["ServiceName"])
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 30 days"})


def baseline_path(lake: Path, feed: Feed) -> str:
    return str(lake / "baseline" / feed.table)


def properties(note: dict) -> CommitProperties:
    return CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})


def expectation(success: bool = True, severity: str = "critical", **overrides) -> dict:
    """One expectation of a gate result."""
    found = {
        "expectation": "expect_column_values_to_be_between(column=Highest, max_value=10.0)",
        "severity": severity,
        "notes": "No average is beyond what is plausible.",
        "success": success,
        "observed": "0 rows at fault" if success else "2 rows at fault",
        "sample": [] if success else [{"Highest": 11.0, "ServiceName": "a", "DayType": 3}],
    }
    return found | overrides


def archive(lake: Path, feed: Feed, readings: dict[tuple[str, dt.datetime], int]) -> None:
    """Rows of history: value by service and time."""
    rows = [
        {"ServiceName": service, "Timestamp": at, "Value": value, "Date": at.astimezone(feed.zone).date()}
        for (service, at), value in readings.items()
    ]
    columns = [
        ("ServiceName", pa.string()),
        ("Timestamp", pa.timestamp("us", "UTC")),
        ("Value", pa.int64()),
        ("Date", pa.date32()),
    ]
    table = pa.Table.from_pylist(rows, schema=pa.schema(columns))
    write_deltalake(str(lake / "history" / feed.table), table, mode="append", partition_by=["Date"])


def gate_result(
    lake: Path, feed: Feed, run_id: str, success: bool, results: list[dict], at: dt.datetime, candidate: int = 3
) -> None:
    row = {
        "Feed": feed.name,
        "RunId": run_id,
        "CandidateVersion": candidate,
        "CheckedAt": at,
        "Success": success,
        "Results": json.dumps(results),
        "DocsPath": str(lake / "data_docs" / feed.table / run_id),
    }
    table = pa.Table.from_pylist([row]).cast(
        pa.schema(
            [
                ("Feed", pa.string()),
                ("RunId", pa.string()),
                ("CandidateVersion", pa.int64()),
                ("CheckedAt", pa.timestamp("us", "UTC")),
                ("Success", pa.bool_()),
                ("Results", pa.string()),
                ("DocsPath", pa.string()),
            ]
        )
    )
    write_deltalake(str(lake / "gate_results"), table, mode="append")


def data_docs(lake: Path, feed: Feed, run_id: str, time: str = "20261120T030000.000000Z", text: str = "report") -> Path:
    """Data Docs of a run as Great Expectations lays them out: index, a report, a stylesheet."""
    folder = lake / "data_docs" / feed.table / run_id
    report = folder / "validations" / "baseline" / "__none__" / time / f"pandas-{feed.name}.html"
    style = folder / "static" / "styles" / "data_docs_default_styles.css"
    for file, content in ((folder / "index.html", ""), (report, text), (style, "body {}")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if file == style else f"<html><head></head><body>{content}</body></html>")
    return folder


def scored(
    service: str, at: dt.datetime, value: int, expected: float | None = 100.0, spread: float | None = 2.0, **overrides
) -> dict:
    """A scored reading of a feed that grows by a quarter."""
    row = {
        "ServiceName": service,
        "Timestamp": at,
        "Value": value,
        "DayType": at.isoweekday(),
        "Slot": 0,
        "Last4Avg": None if expected is None else expected / 1.25,
        "Expected": expected,
        "Spread": spread,
        "PredictedDiff": None if expected is None else value - expected,
        "PredictedPct": 100 * value / expected if expected else None,
        "Anomalous": False,
        "BaselineVersion": 1,
    }
    return row | overrides


def anomaly(row: dict) -> dict:
    """The anomaly of a scored row."""
    return {name: row[name] for name in row if name not in ("DayType", "Slot", "Anomalous")}


def incident(service: str, start: dt.datetime, state: str = "opened", **overrides) -> dict:
    """A surge to the double of what was expected, of one reading."""
    row = {
        "Id": f"{service}@{start:%Y-%m-%dT%H:%M:%SZ}",
        "ServiceName": service,
        "Kind": "deviation",
        "State": state,
        "Start": start,
        "Last": start,
        "At": start,
        "End": start + dt.timedelta(seconds=10) if state == "closed" else None,
        "Score": 3.5,
        "Cause": "9.1 scales above what this time of day leads to expect",
        "LevelShift": False,
        "Readings": 1,
        "Actual": 200.0,
        "Expected": 100.0,
        "Area": 100.0,
        "Direction": "high",
        "PeakAt": start,
        "Peak": 200.0,
        "PeakExpected": 100.0,
        "PeakSize": 9.1,
        "Group": None,
        "Services": None,
        "Members": [],
    }
    return row | overrides


def say(lake: Path, feed: Feed, number: int, kind: str, start: dt.datetime | None = None, **more) -> None:
    """A statement of a person: of readings of two minutes, or about what `more` says."""
    end = None if start is None else start + dt.timedelta(minutes=2)
    row = {"Id": number, "Kind": kind, "ServiceName": None, "Start": start, "End": end, "TakesBack": None, "IncidentId": None}
    row |= {
        "By": "mara",
        "Reason": "a drill",
        "At": dt.datetime(2026, 11, 21, 9, 30, tzinfo=dt.UTC),
        "RunId": f"r{number}",
    } | more
    times, numbers = (
        dict.fromkeys(("Start", "End", "At"), pa.timestamp("us", "UTC")),
        dict.fromkeys(("Id", "TakesBack"), pa.int64()),
    )
    schema = pa.schema({name: (times | numbers).get(name, pa.string()) for name in row})
    write_deltalake(str(lake / "exclusions" / feed.table), pa.Table.from_pylist([row], schema), mode="append")


def group(*members: dict, state: str = "opened", **overrides) -> list[dict]:
    """A group of these incidents, and they as its members."""
    nothing = dict.fromkeys(["Actual", "Expected", "Area", "PeakAt", "Peak", "PeakExpected", "PeakSize"])
    row = incident("*", members[0]["Start"], state, Kind="group", Cause=f"{members[0]['ServiceName']} is the first", **nothing)
    row |= {"Services": len(members), "Members": [each["Id"] for each in members]} | overrides
    return [row, *[each | {"Group": row["Id"]} for each in members]]


class Topics:
    """A feed's derived topics on a real broker, with their schemas in a real registry."""

    def __init__(self, kafka: str, registry: str, feed: Feed):
        self._feed = feed
        self._admin = AdminClient({"bootstrap.servers": kafka})
        self._producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
        client = SchemaRegistryClient({"url": registry})
        self._topics = {"scored": feed.scored_topic, "anomaly": feed.anomalies_topic, "incident": feed.incidents_topic}
        self.ids = {
            record: client.register_schema(avro.subject(topic), Schema(json.dumps(avro.latest(record)), "AVRO"))
            for record, topic in self._topics.items()
        }
        self._schemas = {record: avro.parsed(record) for record in self._topics}

    def create(self) -> None:
        as_said = {"message.timestamp.type": "CreateTime"}  # so that a test can say when a record was written
        topics = [NewTopic(each, 2, 1, config=as_said) for each in self._topics.values()]
        for future in self._admin.create_topics(topics).values():
            future.result(20)

    def created(self) -> bool:
        """Creates the topics; False as long as the broker is still deleting them."""
        try:
            self.create()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
            return False
        return True

    def delete(self) -> None:
        for future in self._admin.delete_topics(list(self._topics.values())).values():
            future.result(20)

    def send(self, record: str, rows: list[dict], written: dt.datetime | None = None) -> None:
        """Writes rows; `written` is the time that the broker notes, by default now."""
        for row in rows:
            value = io.BytesIO(avro.HEADER.pack(avro.MAGIC, self.ids[record]))
            value.seek(0, io.SEEK_END)
            fastavro.schemaless_writer(value, self._schemas[record], row)
            key = row["Id"] if record == "incident" else f"{row['ServiceName']}|{round(row['Timestamp'].timestamp() * 1000)}"
            self.send_raw(record, key, value.getvalue(), written, flush=False)
        self._producer.flush(20)

    def send_raw(
        self, record: str, key: str, value: bytes | None, written: dt.datetime | None = None, flush: bool = True
    ) -> None:
        noted = {} if written is None else {"timestamp": round(written.timestamp() * 1000)}
        self._producer.produce(self._topics[record], key=key, value=value, **noted)
        self._producer.poll(0)
        if flush:
            self._producer.flush(20)
