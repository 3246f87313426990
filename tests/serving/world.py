"""Builders of the tables that serving reads: baselines, history, gate results, what people said."""

import datetime as dt
import json
import math
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

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
    _overwrite(baseline_path(lake, feed), feed, scales, days, growth, NOTE | more)


def build(lake: Path, feed: Feed, as_of: str = "2026-11-21", scales: dict[str, float] | None = None, **more) -> int:
    """A candidate as of that date, of these services (name to scale) on all day types: its version."""
    path = str(lake / "baseline_candidate" / feed.table)
    note = {"as_of": as_of, "run_id": "night-1", "inputs": {str(day): as_of for day in range(1, 8)}}
    _overwrite(path, feed, scales or {}, range(1, 8), 1.0, note | more)
    return DeltaTable(path).version()


def _overwrite(path: str, feed: Feed, scales: dict[str, float], days: Iterable[int], growth: float, note: dict) -> None:
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
        path,
        pa.Table.from_pylist(rows, schema=BASELINE),
        mode="overwrite",
        partition_by=["DayType"],
        commit_properties=properties(note),
    )


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


def archive(
    lake: Path, feed: Feed, readings: dict[tuple[str, dt.datetime], int], taken: dt.datetime | None = None, **note
) -> None:
    """Rows of history: value by service and time. taken: when the broker took them; as of an older release, it is not known.
    note: of the commit."""
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
    if taken is not None:
        columns.append(("KafkaTimestamp", pa.timestamp("us", "UTC")))
        rows = [row | {"KafkaTimestamp": taken} for row in rows]
    table = pa.Table.from_pylist(rows, schema=pa.schema(columns))
    path = str(lake / "history" / feed.table)
    how = {"mode": "append", "partition_by": ["Date"], "schema_mode": "merge"}
    write_deltalake(path, table, **how, commit_properties=properties(note))


def gate_result(
    lake: Path,
    feed: Feed,
    run_id: str,
    success: bool,
    results: list[dict],
    at: dt.datetime,
    candidate: int = 3,
    compared_with: int | None = None,
) -> None:
    """compared_with: None: as the gate of an earlier release kept it, without this column; -1: no baseline was in force."""
    row = {
        "Feed": feed.name,
        "RunId": run_id,
        "CandidateVersion": candidate,
        "CheckedAt": at,
        "Success": success,
        "Results": json.dumps(results),
        "DocsPath": str(lake / "data_docs" / feed.table / run_id),
    }
    if compared_with is not None:
        row["ComparedWith"] = compared_with
    kinds = {int: pa.int64(), bool: pa.bool_(), str: pa.string(), dt.datetime: pa.timestamp("us", "UTC")}
    schema = pa.schema([(name, kinds[type(value)]) for name, value in row.items()])
    write_deltalake(str(lake / "gate_results"), pa.Table.from_pylist([row], schema), mode="append", schema_mode="merge")


def data_docs(lake: Path, feed: Feed, run_id: str, time: str = "20261120T030000.000000Z", text: str = "report") -> Path:
    """Data Docs of a run as Great Expectations lays them out: index, a report, a stylesheet."""
    folder = lake / "data_docs" / feed.table / run_id
    report = folder / "validations" / "baseline" / "__none__" / time / f"pandas-{feed.name}.html"
    style = folder / "static" / "styles" / "data_docs_default_styles.css"
    for file, content in ((folder / "index.html", ""), (report, text), (style, "body {}")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if file == style else f"<html><head></head><body>{content}</body></html>")
    return folder


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
