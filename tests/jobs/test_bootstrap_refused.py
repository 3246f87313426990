"""Captures with mistakes: each is named, all of them at once, and nothing of the capture is loaded."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from contracts.feeds import load_feed
from jobs import bootstrap
from jobs.backends import tables
from jobs.errors import JobError
from tests.jobs.captures import arrow, instants, table

ROADS = load_feed("road-traffic")


@pytest.fixture
def load(run_job, lake_platform):
    """load(path, *options): the job."""

    def run(path, *options: str) -> None:
        run_job(bootstrap, lake_platform, "--run-id", "load-1", "--feed", ROADS.name, "--from", str(path), *options)

    return run


@pytest.fixture
def refused(load, lake_platform):
    """refused(path, *options): why the job loads nothing, line by line; the table must be as it was."""

    def run(path, *options: str) -> list[str]:
        before = tables.history(lake_platform, ROADS).version()
        with pytest.raises(JobError) as error:
            load(path, *options)
        assert tables.history(lake_platform, ROADS).version() == before
        said, *mistakes = str(error.value).split("\n- ")
        assert said == f"{path}: nothing was loaded into history/{ROADS.table}, as"
        return mistakes

    return run


@pytest.mark.full
def test_every_mistake_is_listed_at_once_and_nothing_is_loaded(refused, tmp_path):
    good = [f"I-94,2024-05-01 {hour:02}:00:00,{hour}" for hour in range(24)]
    path = table(
        tmp_path / "bad",
        *good,
        ",2024-05-01 00:00:00,1",
        "I-94,yesterday,1",
        "I-94,2024-02-30 00:00:00,1",
        "I-94,,1",
        "I-94,25:00,1",
        "I-94,1714539600000,1",
        "I-94,1970-01-01T00:00:00Z,1",
        "I-94,2024-03-10 02:30:00,1",
        "I-94,2024-05-02 00:00:00,-1",
        "I-94,2024-05-02 00:00:00,1.5",
        "I-94,2024-05-02 00:00:00,",
        "I-94,2024-05-02 00:00:00",
        "I-94,2024-05-02 00:00:00,1,2",
        "I-94,2024-05-01 07:00:00,8",
    )
    assert refused(path) == [
        "2 of 38 rows have more or fewer fields than the header, or no JSON object, e.g. 'I-94,2024-05-02 00:00:00', "
        "'I-94,2024-05-02 00:00:00,1,2' (bad/cars.csv); correct or delete those lines",
        "column 'ServiceName': 1 of 38 rows have no service name, e.g. null (bad/cars.csv); "
        "give each one, or all the same with --service",
        "column 'Timestamp': 4 of 38 rows have no time that can be read as ISO 8601 (2018-11-04 01:30:00, with or without "
        "offset), e.g. 'yesterday', '2024-02-30 00:00:00', null (bad/cars.csv); correct or delete them, "
        "or say with --time-format how they are written: %d.%m.%Y %H:%M",
        "column 'Timestamp': 1 of 38 rows have a number for a time, e.g. '1714539600000' (bad/cars.csv); "
        "say what it counts with --time-unit s, ms, us or ns; --time-unit ms fits 1 of them",
        "column 'Timestamp': 1 of 38 rows have a time outside of the years 1990 to 2100, e.g. '1970-01-01T00:00:00Z' "
        "(bad/cars.csv); correct or delete them",
        "column 'Timestamp': 1 of 38 rows have a time that never was, as daylight saving skipped it in America/Chicago, "
        "e.g. '2024-03-10 02:30:00' (bad/cars.csv); delete them, or say with --timezone whose wall clock the times are of",
        "column 'Value': 2 of 38 rows have a value that is no whole number of 0 or more, e.g. '-1', '1.5' (bad/cars.csv); "
        "correct or delete them, or multiply those with decimals and round them: --value-scale 1000",
        "1 readings have several values, e.g. I-94 at 2024-05-01T12:00:00Z: 7 and 8; leave one row for each",
    ]


@pytest.mark.full
def test_wrong_columns_and_options_are_listed_together(refused, tmp_path):
    path = table(tmp_path, "1,2,3", header="road,when,cars")
    assert refused(
        path, "--timezone", "Mars", "--service", " ", "--service-column", "road", "--value-column", "a`.b", "--value-scale", "0"
    ) == [
        "--service and --service-column exclude each other: one name for all rows, or a column of names",
        "--service is empty; give a name",
        "--value-scale 0: a whole number from 1 to 1,000,000,000",
        "--timezone Mars: not in the IANA database of time zones; e.g. America/Chicago or UTC",
        "column 'Timestamp' is missing; map another with --time-column; columns found: road, when, cars",
        "column 'a`.b' is missing; map another with --value-column; columns found: road, when, cars",
    ]


@pytest.mark.full
def test_a_wrong_format_of_times_and_times_of_another_format_are_named(refused, tmp_path):
    path = table(tmp_path / "bad", "I-94,31.12.2024 10:00,1", "I-94,2024-12-31 10:00,1")
    read = "column 'Timestamp': 1 of 2 rows have no time that can be read as "
    assert refused(path, "--time-format", "%d.%m.%Y %H:%M") == [
        f"{read}%d.%m.%Y %H:%M (--time-format), e.g. '2024-12-31 10:00' (bad/cars.csv); correct or delete them"
    ]
    assert refused(path, "--time-format", "%d.%m %H:%M", "--time-unit", "s")[:2] == [
        "--time-format %d.%m %H:%M: %Y or %y is missing: a time has a year, a month and a day; e.g. %d.%m.%Y %H:%M",
        "column 'Timestamp': 2 of 2 rows have no time that can be read as a number, e.g. '31.12.2024 10:00', "
        "'2024-12-31 10:00' (bad/cars.csv); correct or delete them",
    ]
    both = refused(path, "--time-format", "%d.%m.%Y %H:%M", "--time-unit", "s")
    assert both[0] == "--time-format and --time-unit exclude each other: times are text of that format, or numbers"


@pytest.mark.full
def test_types_that_hold_no_readings_are_named_with_their_columns(refused, tmp_path):
    rows = pa.table({"ServiceName": [1.5], "when": [True], "Value": [[1]], "at": instants("2024-05-01")})
    parquet.write_table(rows, tmp_path / "x.parquet")
    assert refused(tmp_path / "x.parquet", "--time-column", "at", "--timezone", "UTC", "--time-unit", "s") == [
        "column 'ServiceName' holds double, no names; map another with --service-column or --service",
        "column 'Value' holds array<bigint>, no numbers; map another with --value-column",
        "--timezone: the times in column 'at' are the same in every zone; leave it out",
        "--time-unit: column 'at' holds timestamp, no numbers; leave it out",
    ]


@pytest.mark.full
def test_a_unit_that_makes_no_sense_is_named_with_the_one_that_does(refused, tmp_path):
    path = table(tmp_path, "I-94,1714539600000,0", "I-94,1714541400000,1", "I-94,never,1", name="cars.csv.gz")
    assert refused(path, "--time-unit", "s") == [
        f"column 'Timestamp': 1 of 3 rows have no time that can be read as a number, e.g. 'never' ({tmp_path.name}/cars.csv.gz); "
        "correct or delete them",
        f"column 'Timestamp': 2 of 3 rows have a time outside of the years 1990 to 2100, e.g. '1714539600000', '1714541400000' "
        f"({tmp_path.name}/cars.csv.gz); correct or delete them; --time-unit ms fits 2 of them",
    ]


@pytest.mark.full
def test_a_later_capture_may_not_contradict_an_earlier_one(spark, load, refused, lake_platform, tmp_path):
    load(table(tmp_path / "1", "I-94,2024-05-01 00:00,5", "I-94,2024-05-01 01:00,6"))
    (mistake,) = refused(table(tmp_path / "2", "I-94,2024-05-01 00:00,5", "I-94,2024-05-01 01:00,7", "I-94,2024-05-01 02:00,8"))
    assert mistake == (
        "1 readings had another value in an earlier capture, e.g. I-94 at 2024-05-01T06:00:00Z: 7 and 6; "
        "correct them by the topic (sundial replay): what comes by it wins"
    )


@pytest.mark.full
def test_folders_by_date_must_hold_their_own_dates(refused, tmp_path):
    arrow(tmp_path / "c/Date=2024-05-01/x.parquet", ["I-94"] * 2, instants("2024-05-01T04:59:59", "2024-05-01T05:00"), [6, 7])
    arrow(tmp_path / "c/Date=2024-5-2/x.parquet", ["I-94"], instants("2024-05-02T05:00"), [8])
    assert refused(tmp_path / "c") == [
        "1 folder(s) named for no date: Date=2024-5-2; name them Date=YYYY-MM-DD",
        "column 'Timestamp': 1 of 3 rows have another local date in America/Chicago than that of their folder Date=..., "
        "e.g. '2024-05-01 04:59:59' (Date=2024-05-01/x.parquet); "
        "cut the folders by the dates of that zone, or name them otherwise: then the times alone count",
    ]


@pytest.mark.full
def test_three_values_in_the_repeated_hour_need_offsets(refused, tmp_path):
    path = table(tmp_path, *(f"I-94,2024-11-03 01:00,{value}" for value in (4, 5, 6)))
    (mistake,) = refused(path)
    assert mistake.startswith("1 readings have several values, e.g. I-94 at 2024-11-03T07:00:00Z: 5 and 6; ")
    assert mistake.endswith("where the clocks were put back, an offset in the times tells the two hours apart")


def _mixed(folder: Path) -> None:
    table(folder)
    arrow(folder / "x.parquet", ["I-94"], instants("2024-05-01"), [1])


def _types(folder: Path) -> None:
    arrow(folder / "x.parquet", ["I-94"], instants("2024-05-01"), [1])
    arrow(folder / "y.parquet", ["I-94"], instants("2024-05-01"), ["1"])


def _headers(folder: Path) -> None:
    table(folder, "I-94,2024-05-01,1")
    table(folder, "2024-05-02,I-94,1", header="Timestamp,ServiceName,Value", name="d.csv")


def _delta(folder: Path) -> None:
    arrow(folder / "x.parquet", ["I-94"], instants("2024-05-01"), [1])
    table(folder / "_delta_log", name="0.json")


def _garbage(folder: Path) -> None:
    (folder / "x.parquet").write_text("no Parquet")


UNREADABLE = {
    "nothing": (lambda folder: folder.rmdir(), "no such file or folder"),
    "empty": (lambda folder: None, r"no file \*.parquet, \*.csv, \*.csv.gz, \*.jsonl or \*.jsonl.gz in it: it is empty"),
    "others": (lambda folder: table(folder, name="a b.txt"), r"no file .* in it: there are others/a b\.txt"),
    "mixed": (_mixed, r"both Parquet and CSV in it, e.g. mixed/(cars\.csv|x\.parquet) and mixed/.*; load one after the other"),
    "delta": (_delta, "a Delta table, of which some files may be outdated; export it to Parquet first"),
    "garbage": (_garbage, r"can't be read: .*garbage/x\.parquet.*is not a Parquet file"),
    "types": (_types, "can't be read: .*BIGINT.*STRING"),
    "headers": (_headers, r"can't be read: .*CSV header does not conform.*CSV file: .*headers/(cars|d)\.csv"),
    "headless": (lambda folder: (folder / "x.csv").touch(), "column 'Timestamp' is missing; .*; columns found: none"),
    "rowless": (lambda folder: table(folder), "there is no row in it"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_path_without_a_readable_capture_is_told_as_such(refused, tmp_path, case):
    make, reason = UNREADABLE[case]
    (tmp_path / case).mkdir()
    make(tmp_path / case)
    mistakes = refused(tmp_path / case)
    assert any(re.match(reason, mistake) for mistake in mistakes), mistakes


@pytest.mark.full
def test_lines_that_are_no_json_objects_are_named(refused, tmp_path):
    lines = tmp_path / "json" / "cars.jsonl"
    lines.parent.mkdir()
    lines.write_text('{"ServiceName": "I-94", "Timestamp": "2024-05-01 00:00:00", "Value": 5}\nI-94,5\n')
    assert refused(lines) == [
        "1 of 2 rows have more or fewer fields than the header, or no JSON object, e.g. 'I-94,5' (json/cars.jsonl); "
        "correct or delete those lines"
    ]
