"""Rows of a file become records of a topic's contract, or are refused with line and field."""

import json
from pathlib import Path

import pytest

from contracts.declared_topics import declared_topics
from sources.capture import BadRows, CaptureError
from sources.records import RecordFile

TOPICS = {topic.name: topic for topic in declared_topics()}


RIDES = Path(__file__).resolve().parents[2] / "samples" / "nyc_taxi_rides_2020-07.csv"


EVENT = {"MetricKey": "environment=a:metric=b", "Id": "1", "Timestamp": "2026-11-22T01:00:00Z", "Value": 2.5}


def lines(path: Path, *rows: dict | str) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def read(file: RecordFile) -> tuple[list, list[str]]:
    bad = BadRows()
    return list(file.records(bad)), [str(each) for each in bad.listed]


def test_rows_of_csv_take_the_types_of_the_contract():
    records, bad = read(RecordFile(RIDES, TOPICS["rides"]))
    assert (len(records), bad) == (266, [])
    first = records[0]
    assert (first.line, first.key) == (2, {"VendorID": 1})
    assert (first.value["trip_distance"], first.value["store_and_fwd_flag"]) == (1.5, "N")
    assert first.value["tpep_pickup_datetime"].isoformat() == "2020-07-01T00:25:32"


def test_every_bad_row_is_named_with_its_line_and_field(tmp_path):
    rows = [
        EVENT,
        "{",
        "[1]",
        EVENT | {"Value": "much"},
        EVENT | {"Timestamp": "noon"},
        EVENT | {"Volume": 1},
        EVENT | {"MetricKey": ""},
    ]
    records, bad = read(RecordFile(lines(tmp_path / "events.jsonl", *rows), TOPICS["metrics"], "MetricKey"))
    assert [record.line for record in records] == [1]
    named = {
        2: "not JSON",
        3: "not a JSON object",
        4: "Value: ",
        5: "Timestamp: ",
        6: "Volume: not in the contract metric_event",
        7: "MetricKey: no text",
    }
    assert len(bad) == len(named)
    for line, (number, reason) in zip(bad, named.items(), strict=True):
        assert line.startswith(f"events.jsonl:{number}: {reason}")


def test_cells_that_are_missing_in_csv_are_named(tmp_path):
    file = tmp_path / "events.csv"
    file.write_text("MetricKey,Id,Timestamp,Value\nk,,2026-11-22T01:00:00Z,1\nk,2,2026-11-22T01:00:00Z\n")
    [record], bad = read(RecordFile(file, TOPICS["metrics"], "MetricKey"))
    assert (record.key, record.value["Id"], record.value["Value"]) == ("k", None, 1.0)
    assert bad == ["events.csv:3: not 4 cells, as the header has"]


@pytest.mark.parametrize(
    ("name", "topic", "key", "what"),
    [
        ("none.csv", "rides", None, "no such file"),
        ("file.parquet", "rides", None, "ends in .csv"),
        ("file.csv", "rides.dead-letter", None, "no contract"),
        ("file.csv", "rides", "VendorID", "--key VendorID: the key of rides is a taxi_ride_key"),
        ("file.csv", "taxi-zones", None, "taxi-zones is compacted, .* with --key, one of LocationID, Borough, "),
    ],
)
def test_what_can_not_be_sent_at_all_is_said(tmp_path, name, topic, key, what):
    for existing in ("file.csv", "file.parquet"):
        (tmp_path / existing).touch()
    with pytest.raises(CaptureError, match=what):
        RecordFile(tmp_path / name, TOPICS[topic], key)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("events.csv", "MetricKey,Timestamp,Value\nk,2026-11-22T01:00:00Z,1\n"),
        ("events.jsonl", '{"MetricKey": "k", "Timestamp": "2026-11-22T01:00:00Z", "Value": 1}\n'),
    ],
)
def test_a_file_may_begin_with_a_byte_order_mark(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    [record], bad = read(RecordFile(tmp_path / name, TOPICS["metrics"], "MetricKey"))
    assert (record.key, record.value["Value"], bad) == ("k", 1.0, [])
