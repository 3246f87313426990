"""Captures in every format: what is read, and what is said about what can't be."""

import datetime as dt
import gzip

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from contracts.feeds import load_feed
from contracts.time_formats import TimeFormat
from sources import capture as module
from sources.capture import BadRows, Capture, CaptureError
from sources.readings import READINGS

FEED = load_feed("service-use")  # America/New_York
HEADER = "ServiceName,Timestamp,Value\n"


def capture(path, **mapped) -> Capture:
    return Capture(path, FEED, **mapped)


def read(made: Capture) -> tuple[list[tuple], list[str]]:
    """(service, ISO time, value) of every reading, and every bad row as it is told."""
    bad, rows = BadRows(), []
    for batch in made.readings(bad):
        assert batch.schema == READINGS
        rows += [(row["ServiceName"], row["Timestamp"].isoformat(), row["Value"]) for row in batch.to_pylist()]
    return rows, [str(row) for row in sorted(bad.listed, key=lambda row: row.line)]


def written(path, text: str):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["capture.csv", "capture.csv.gz"])
def test_csv_by_the_feeds_own_names(tmp_path, name):
    path = written(tmp_path / name, "Extra," + HEADER + "é,a,2026-07-01T12:00:00Z,5\n,b,2026-07-01 08:00:10,6\n")
    assert read(capture(path)) == ([("a", "2026-07-01T12:00:00+00:00", 5), ("b", "2026-07-01T12:00:10+00:00", 6)], [])


def test_csv_by_mapped_columns_a_constant_service_and_a_zone(tmp_path):
    path = written(tmp_path / "capture.csv", "period,count\n1998-06-10 17:30:00,5\n")
    made = capture(path, service="www", time_column="period", value_column="count", timezone="Europe/Paris")
    assert read(made) == ([("www", "1998-06-10T15:30:00+00:00", 5)], [])


def test_times_of_another_format(tmp_path):
    path = written(tmp_path / "capture.csv", HEADER + "a,01.07.2026 8:00,5\nb,2026-07-01 08:00:10,6\n")
    readings, bad = read(capture(path, time_format=TimeFormat.parsed("%d.%m.%Y %H:%M")))
    assert readings == [("a", "2026-07-01T12:00:00+00:00", 5)]
    assert bad == ["capture.csv:3: time '2026-07-01 08:00:10' is not of the format %d.%m.%Y %H:%M"]


@pytest.mark.parametrize(("separator", "between"), [("semicolon", ";"), ("tab", "\t"), ("bar", "|")])
def test_csv_with_other_separators(tmp_path, separator, between):
    rows = [HEADER.strip().replace(",", between), f'"a, {between}b"{between}1790000000{between}5', f"b{between}1790000010"]
    path = written(tmp_path / "capture.csv", "\n".join(rows) + "\n")
    readings, bad = read(capture(path, separator=separator))
    assert readings == [(f"a, {between}b", "2026-09-21T14:13:20+00:00", 5)]
    assert bad == ["capture.csv:3: 2 fields, the header has 3"]
    with pytest.raises(CaptureError, match="--separator ;: one of comma, semicolon, tab, bar"):
        capture(path, separator=";")


def test_rows_without_a_value_are_gaps_and_not_bad(tmp_path):
    rows = ["a,1790000000,", "a,1790000010,NaN", "a,1790000020,5", "a,soon,", "a,2026-03-08 02:30,"]
    path = written(tmp_path / "capture.csv", HEADER + "\n".join(rows) + "\n")
    bad = BadRows()
    rows = [row for batch in capture(path).readings(bad) for row in batch.to_pylist()]
    assert [row["Value"] for row in rows] == [5]
    assert (bad.gaps, bad.count, bad.listed[0].line) == (3, 1, 5)


def test_bad_rows_are_named_by_line_and_the_others_are_read(tmp_path):
    rows = [
        "a,2026-07-01T12:00:00Z,1",
        "a,noon,2",
        "a,2026-07-01T12:00:20Z",
        "",
        "a,2026-07-01T12:00:30Z,-4",
        ",2026-07-01T12:00:40Z,5",
    ]
    rows += ["a,2026-03-08 02:30:00,6", "a,2026-07-01T12:00:50Z,7,8", "a,2026-07-01T12:01:00Z,9"]
    path = written(tmp_path / "capture.csv", HEADER + "\n".join(rows) + "\n")
    readings, bad = read(capture(path))
    assert readings == [("a", "2026-07-01T12:00:00+00:00", 1), ("a", "2026-07-01T12:01:00+00:00", 9)]
    assert bad == [
        "capture.csv:3: time 'noon' is not ISO 8601 (1998-06-10 17:30:00, with or without offset) or an epoch number",
        "capture.csv:4: 2 fields, the header has 3",
        "capture.csv:5: no service name",
        "capture.csv:6: value '-4' is not a whole number of 0 or more",
        "capture.csv:7: no service name",
        "capture.csv:8: time '2026-03-08 02:30:00' never was: daylight saving skipped it in America/New_York",
        "capture.csv:9: 4 fields, the header has 3",
    ]


def test_lines_are_right_beyond_the_first_block(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 4096)
    lines = [f"a,{1_790_000_000 + 10 * number},{number}" for number in range(2000)]
    bad = {7: "a,1790000000", 300: "a,x,1", 301: "a,1790000000,1,2", 1500: "a,1790000000,-1", 1999: "b"}
    for number, text in bad.items():
        lines[number] = text
    readings, mistakes = read(capture(written(tmp_path / "capture.csv", HEADER + "\n".join(lines))))
    assert [int(row.split(":")[1]) - 2 for row in mistakes] == list(bad)
    assert [value for _, _, value in readings] == [number for number in range(2000) if number not in bad]


def test_only_the_first_bad_rows_are_listed_and_all_are_counted(tmp_path):
    path = written(tmp_path / "capture.csv", HEADER + "a,x,1\n" * 50 + "a,2026-07-01T12:00:00Z,1\n")
    survey = capture(path).survey()
    assert (survey.rows, survey.bad.count, [row.line for row in survey.bad.listed]) == (1, 50, list(range(2, 22)))


def test_a_survey_spans_the_capture(tmp_path):
    path = written(tmp_path / "capture.csv", HEADER + "a,1790000020,1\na,1790000000,2\na,1790000010,2\n")
    survey = capture(path).survey()
    assert (survey.rows, survey.first, survey.last) == (3, 1790000000_000, 1790000020_000)


def test_a_folder_of_parquet_files_in_order_of_their_paths(tmp_path):
    for day, value in (("2026-07-02", 2), ("2026-07-01", 1)):
        (tmp_path / f"Date={day}").mkdir()
        time = dt.datetime.fromisoformat(day + "T12:00:00")
        table = pa.table(
            {"Value": [value, -1], "Timestamp": pa.array([time, time], pa.timestamp("us")), "ServiceName": ["a", "a"]}
        )
        parquet.write_table(table, tmp_path / f"Date={day}" / "part.parquet")
    readings, bad = read(capture(tmp_path))
    assert readings == [("a", "2026-07-01T16:00:00+00:00", 1), ("a", "2026-07-02T16:00:00+00:00", 2)]
    assert bad == ["part.parquet:2: value -1 is not a whole number of 0 or more"] * 2


@pytest.mark.parametrize(
    ("header", "mapped", "message"),
    [
        ("when,Value", {"service": "a"}, "no column 'Timestamp' (map another with --time-column); columns found: when, Value"),
        ("Timestamp,n", {"service": "a", "value_column": "m"}, "no column 'm' (map another with --value-column)"),
        ("Timestamp,Value", {}, "no column 'ServiceName' (map another with --service-column or --service)"),
    ],
)
def test_a_missing_column_names_those_found_and_the_option(tmp_path, header, mapped, message):
    path = written(tmp_path / "capture.csv", header + "\n1,2\n")
    with pytest.raises(CaptureError) as error:
        capture(path, **mapped).survey()
    assert message in str(error.value)


def test_a_column_of_the_wrong_type_is_named(tmp_path):
    parquet.write_table(pa.table({"Timestamp": [1.5], "Value": [True]}), tmp_path / "capture.parquet")
    with pytest.raises(CaptureError, match=r"column 'Value' holds bool, not numbers; map another with --value-column"):
        capture(tmp_path / "capture.parquet", service="a").survey()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("capture.csv", b"", "Empty CSV"),
        ("capture.csv", HEADER.encode(), "no readable reading among 0 rows"),
        ("capture.csv", HEADER.encode() + b"a,x,1\n", "no readable reading among 1 rows; its first row: capture.csv:2: time 'x'"),
        ("capture.csv", HEADER.encode() + b"a,x,1\n", "say how it is written with --time-format"),
        ("capture.csv", HEADER.encode() + b"\xe9,1790000000,1\n", "invalid UTF8"),
        ("capture.csv.gz", gzip.compress(HEADER.encode() * 2000)[:-20], "capture.csv.gz"),
        ("capture.parquet", b"PAR1 not at all", "capture.parquet"),
        ("capture.txt", b"x", "not a capture: .csv"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CaptureError) as error:
        capture(tmp_path / name).survey()
    assert message in str(error.value)


def test_folders_that_are_no_capture_are_refused(tmp_path):
    with pytest.raises(CaptureError, match=r"no \*\.parquet file"):
        capture(tmp_path).survey()
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(CaptureError, match="Delta table"):
        capture(tmp_path).survey()
    with pytest.raises(CaptureError, match="no such file"):
        capture(tmp_path / "gone.csv").survey()


def test_options_that_contradict_or_are_unknown(tmp_path):
    with pytest.raises(CaptureError, match="exclude each other"):
        capture(tmp_path, service="a", service_column="b")
    with pytest.raises(CaptureError, match="Mars/Olympus: no such time zone"):
        capture(tmp_path, timezone="Mars/Olympus")
