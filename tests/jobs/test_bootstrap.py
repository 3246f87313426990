"""Captures become history exactly, or not at all: real files, real tables, every row of what is kept."""

import csv
import datetime as dt
import gzip
import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import types as T

from contracts.feeds import Feed, load_feed
from jobs import bootstrap, history, lake
from jobs.settings import JobError
from jobs.transforms import capture as cells
from jobs.transforms.history import placed
from sources.capture import BadRows, Capture

SAMPLES = Path(__file__).parent.parent.parent / "samples"
ROADS = Feed(name="roads", description="cars", record="service_use_record", timezone="America/Chicago")
DAY = dt.date(2024, 5, 1)


@pytest.fixture(autouse=True)
def roads(monkeypatch):
    monkeypatch.setattr("jobs.settings.load_feed", lambda name: ROADS if name == "roads" else load_feed(name))


@pytest.fixture
def load(run_job, lake_platform):
    """load(path, *options): the job, for the feed roads unless told otherwise."""

    def run(path, *options: str, feed: str = "roads") -> None:
        run_job(bootstrap, lake_platform, "--feed", feed, "--from", str(path), *options)

    return run


@pytest.fixture
def refused(load, lake_platform):
    """refused(path, *options): why the job loads nothing, line by line; the table must be as it was."""

    def run(path, *options: str) -> list[str]:
        before = lake.history(lake_platform, ROADS).version()
        with pytest.raises(JobError) as error:
            load(path, *options)
        assert lake.history(lake_platform, ROADS).version() == before
        said, *mistakes = str(error.value).split("\n- ")
        assert said == f"{path}: nothing was loaded into history/roads, as"
        return mistakes

    return run


def table(folder: Path, *rows: str, name: str = "cars.csv", header: str = "ServiceName,Timestamp,Value") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([header, *rows, ""]).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder / name


def arrow(file: Path, services: list, times: pa.Array, values: list) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table({"ServiceName": services, "Timestamp": times, "Value": values}), file)
    return file


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def instants(*texts: str) -> pa.Array:
    return pa.array([utc(text) for text in texts], pa.timestamp("us", tz="UTC"))


def kept(spark, platform, feed: Feed = ROADS) -> list[tuple]:
    """Rows of history as (service, UTC time, value, offset, date)."""
    rows = lake.history(platform, feed).read(spark).orderBy("ServiceName", "Timestamp").collect()
    assert {row.KafkaPartition for row in rows if row.KafkaOffset < 0} <= {-1}
    return [(row.ServiceName, str(row.Timestamp), row.Value, row.KafkaOffset, str(row.Date)) for row in rows]


def test_times_names_and_values_as_people_write_them(spark, load, lake_platform, tmp_path, capsys):
    path = table(
        tmp_path / "a[1] {b}",
        "I-94,2024-05-01 00:00:00,5",
        "I-94,2024-05-01T06:30Z,6",
        " I-94 ,2024-05-01 02:00:00.5009+01:30,7.0",
        "I-94,2024-05-01T02:00-0500,+8",
        "I-94,2024-05-01 22:00,9",
        '"I ""35"", W","2024-05-02",0',
        "I-94,2024-05-01 00:00:00,5",
    )
    load(path)
    assert kept(spark, lake_platform) == [
        ('I "35", W', "2024-05-02 05:00:00", 0, -1, "2024-05-02"),
        ("I-94", "2024-05-01 00:30:00.500000", 7, -1, "2024-04-30"),
        ("I-94", "2024-05-01 05:00:00", 5, -1, "2024-05-01"),
        ("I-94", "2024-05-01 06:30:00", 6, -1, "2024-05-01"),
        ("I-94", "2024-05-01 07:00:00", 8, -1, "2024-05-01"),
        ("I-94", "2024-05-02 03:00:00", 9, -1, "2024-05-01"),
    ]
    assert capsys.readouterr().out.splitlines() == [
        f"reading {path}: 1 file(s), CSV",
        "7 rows, 1 of them repeats, of 2 services, dates 2024-04-30 to 2024-05-02",
        "history/roads: version 0",
    ]
    (commit,) = lake.history(lake_platform, ROADS).commits()
    assert commit.note["bootstrap"] == str(path)


def test_a_folder_by_date_again_and_beside_what_came_by_the_topic(spark, load, lake_platform, tmp_path):
    topic = [("I-94", utc("2024-05-01T06:00"), 60, 0, 7), ("I-94", utc("2024-05-01T08:00"), 80, 0, 8)]
    live = spark.createDataFrame(
        topic, "ServiceName string, Timestamp timestamp, Value long, KafkaPartition int, KafkaOffset long"
    )
    history.merge(spark, lake.history(lake_platform, ROADS), placed(live, ROADS.timezone, 10), {"offsets": {"0": 9}})
    arrow(tmp_path / "c/Date=2024-05-01/x.parquet", ["I-94", "I-94"], instants("2024-05-01T06:00", "2024-05-02T04:30"), [6, 7])
    arrow(tmp_path / "c/Date=2024-05-02/x.parquet", ["I-94", "I-35"], instants("2024-05-02T05:00", "2024-05-02T05:00"), [8, 9])
    (tmp_path / "c/labels.json").write_text("{}")
    expected = [
        ("I-35", "2024-05-02 05:00:00", 9, -1, "2024-05-02"),
        ("I-94", "2024-05-01 06:00:00", 60, 7, "2024-05-01"),
        ("I-94", "2024-05-01 08:00:00", 80, 8, "2024-05-01"),
        ("I-94", "2024-05-02 04:30:00", 7, -1, "2024-05-01"),
        ("I-94", "2024-05-02 05:00:00", 8, -1, "2024-05-02"),
    ]
    load(tmp_path / "c")
    assert kept(spark, lake_platform) == expected
    load(tmp_path / "c")
    assert kept(spark, lake_platform) == expected
    assert lake.history(lake_platform, ROADS).newest("offsets").note["offsets"] == {"0": 9}


def test_a_later_capture_may_not_contradict_an_earlier_one(spark, load, refused, lake_platform, tmp_path):
    load(table(tmp_path / "1", "I-94,2024-05-01 00:00,5", "I-94,2024-05-01 01:00,6"))
    (mistake,) = refused(table(tmp_path / "2", "I-94,2024-05-01 00:00,5", "I-94,2024-05-01 01:00,7", "I-94,2024-05-01 02:00,8"))
    assert mistake == (
        "1 readings had another value in an earlier capture, e.g. I-94 at 2024-05-01T06:00:00Z: 7 and 6; "
        "correct them by the topic (sundial replay): what comes by it wins"
    )


def test_the_repeated_hour_is_read_as_a_replay_reads_it(spark, load, lake_platform, tmp_path):
    """3 November 2024 in Chicago: the clocks go back from 02:00 to 01:00."""
    clock = ["00:30", "01:00", "01:30", "01:00", "01:30", "02:00"]
    rows = [f"I-94,2024-11-03 {time},{value}" for value, time in enumerate(clock)]
    once = ["I-35,2024-11-03 01:00,7", "I-35,2024-11-03 01:00,7", "I-35,2024-11-03 02:00,8"]
    table(tmp_path / "c", *rows[:3], *once, name="1.csv")
    table(tmp_path / "c", *rows[3:], "I-94,2024-11-03T01:15-06:00,9", name="2.csv.gz")
    load(tmp_path / "c")
    found = [(service, time, value) for service, time, value, *_ in kept(spark, lake_platform)]
    assert found == [
        ("I-35", "2024-11-03 06:00:00", 7),
        ("I-35", "2024-11-03 08:00:00", 8),
        ("I-94", "2024-11-03 05:30:00", 0),
        ("I-94", "2024-11-03 06:00:00", 1),
        ("I-94", "2024-11-03 06:30:00", 2),
        ("I-94", "2024-11-03 07:00:00", 3),
        ("I-94", "2024-11-03 07:15:00", 9),
        ("I-94", "2024-11-03 07:30:00", 4),
        ("I-94", "2024-11-03 08:00:00", 5),
    ]
    whole = table(tmp_path / "whole", *rows, *once, "I-94,2024-11-03T01:15-06:00,9")
    replayed = pa.Table.from_batches(Capture(whole, ROADS).readings(BadRows())).to_pylist()
    assert {tuple(row.values()) for row in replayed} == {(service, utc(time), value) for service, time, value in found}


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
        "2 of 38 rows have more or fewer fields than the header, e.g. 'I-94,2024-05-02 00:00:00', 'I-94,2024-05-02 00:00:00,1,2' "
        "(bad/cars.csv); mend or delete those lines",
        "column 'ServiceName': 1 of 38 rows have no service name, e.g. null (bad/cars.csv); "
        "give each one, or all the same with --service",
        "column 'Timestamp': 4 of 38 rows have no time that can be read as ISO 8601 (2018-11-04 01:30:00, with or without "
        "offset), e.g. 'yesterday', '2024-02-30 00:00:00', null (bad/cars.csv); mend or delete them",
        "column 'Timestamp': 1 of 38 rows have a number for a time, e.g. '1714539600000' (bad/cars.csv); "
        "say what it counts with --time-unit s, ms, us or ns; --time-unit ms fits 1 of them",
        "column 'Timestamp': 1 of 38 rows have a time outside of the years 1990 to 2100, e.g. '1970-01-01T00:00:00Z' "
        "(bad/cars.csv); mend or delete them",
        "column 'Timestamp': 1 of 38 rows have a time that never was, as daylight saving skipped it in America/Chicago, "
        "e.g. '2024-03-10 02:30:00' (bad/cars.csv); delete them, or say with --timezone whose wall clock the times are of",
        "column 'Value': 3 of 38 rows have a value that is no whole number of 0 or more, e.g. '-1', '1.5', null (bad/cars.csv); "
        "mend or delete them",
        "1 readings have several values, e.g. I-94 at 2024-05-01T12:00:00Z: 7 and 8; leave one row for each",
    ]


def test_wrong_columns_and_options_are_listed_together(refused, tmp_path):
    path = table(tmp_path, "1,2,3", header="road,when,cars")
    assert refused(path, "--timezone", "Mars", "--service", " ", "--service-column", "road", "--value-column", "a`.b") == [
        "--service and --service-column exclude each other: one name for all rows, or a column of names",
        "--service is empty; give a name",
        "--timezone Mars: not in the IANA database of time zones; e.g. America/Chicago or UTC",
        "column 'Timestamp' is missing; map another with --time-column; columns found: road, when, cars",
        "column 'a`.b' is missing; map another with --value-column; columns found: road, when, cars",
    ]


def test_types_that_hold_no_readings_are_named_with_their_columns(refused, tmp_path):
    rows = pa.table({"ServiceName": [1.5], "when": [True], "Value": [[1]], "at": instants("2024-05-01")})
    parquet.write_table(rows, tmp_path / "x.parquet")
    assert refused(tmp_path / "x.parquet", "--time-column", "at", "--timezone", "UTC", "--time-unit", "s") == [
        "column 'ServiceName' holds double, no names; map another with --service-column or --service",
        "column 'Value' holds array<bigint>, no numbers; map another with --value-column",
        "--timezone: the times in column 'at' are the same in every zone; leave it out",
        "--time-unit: column 'at' holds timestamp, no numbers; leave it out",
    ]


def test_numbers_need_the_unit_that_makes_sense_of_them(spark, load, refused, lake_platform, tmp_path):
    stamps = [1714539600000, 1714541400000]
    path = table(tmp_path, *(f"I-94,{stamp},{row}" for row, stamp in enumerate(stamps)), name="cars.csv.gz")
    assert refused(path, "--time-unit", "s") == [
        f"column 'Timestamp': 2 of 2 rows have a time outside of the years 1990 to 2100, e.g. '1714539600000', '1714541400000' "
        f"({tmp_path.name}/cars.csv.gz); mend or delete them; --time-unit ms fits 2 of them"
    ]
    load(path, "--time-unit", "ms")
    assert kept(spark, lake_platform) == [
        ("I-94", "2024-05-01 05:00:00", 0, -1, "2024-05-01"),
        ("I-94", "2024-05-01 05:30:00", 1, -1, "2024-05-01"),
    ]


HALF_PAST = dt.datetime(2024, 5, 1, 5, 30, 0, 250_000)


@pytest.mark.parametrize(
    ("kind", "unit", "time"),
    [
        (T.LongType(), "s", 1714541400),
        (T.DoubleType(), "s", 1714541400.2501),
        (T.StringType(), "s", " 1714541400.25 "),
        (T.IntegerType(), "s", 1714541400),
        (T.LongType(), "ms", 1714541400250),
        (T.DecimalType(20, 0), "us", Decimal(1714541400250999)),
        (T.LongType(), "ns", 1714541400250999999),
        (T.TimestampType(), None, HALF_PAST),
        (T.TimestampNTZType(), None, HALF_PAST - dt.timedelta(hours=5)),
    ],
)
def test_a_time_is_one_instant_in_every_type_and_unit(spark, kind, unit, time):
    schema = T.StructType([T.StructField("TimeCell", kind)])
    rows = spark.createDataFrame([(time,), (None,)], schema).selectExpr(
        "TimeCell",
        "'a' ServiceCell",
        "'1' ValueCell",
        "'' File",
        "0L Block",
        "0L Line",
        "CAST(NULL AS string) Broken",
        "CAST(NULL AS date) Folder",
    )
    good, null = cells.readings(rows, "America/Chicago", unit, "UTC").collect()
    fraction = time not in (1714541400,)
    assert (good.Timestamp, good.Good) == (HALF_PAST if fraction else HALF_PAST.replace(microsecond=0), True)
    assert (null.Timestamp, null.NoTime, null.Good) == (None, True, False)


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (T.LongType(), 2**62, 2**62),
        (T.ShortType(), -1, None),
        (T.DoubleType(), 12.0, 12),
        (T.DoubleType(), 12.5, None),
        (T.DoubleType(), float("nan"), None),
        (T.DoubleType(), 1e300, None),
        (T.DecimalType(20, 0), 2**64 - 1, None),
        (T.DecimalType(10, 2), "12.00", 12),
        (T.DecimalType(10, 2), "12.01", None),
        (T.StringType(), " +12.00 ", 12),
        (T.StringType(), "1e3", None),
        (T.StringType(), "9" * 19, None),
        (T.StringType(), "", None),
    ],
)
def test_a_value_is_a_whole_number_of_0_or_more(spark, kind, value, read):
    cell = f"CAST('{value}' AS {kind.simpleString()}) ValueCell"
    rows = spark.range(1).selectExpr(
        cell,
        "'2024-05-01' TimeCell",
        "'a' ServiceCell",
        "'' File",
        "0L Block",
        "0L Line",
        "CAST(NULL AS string) Broken",
        "CAST(NULL AS date) Folder",
    )
    (row,) = cells.readings(rows, "UTC", None, "UTC").collect()
    assert (row.Value, row.NoValue) == (read, read is None)


def test_parquet_times_without_a_zone_are_the_wall_clocks_and_columns_have_any_name(spark, load, lake_platform, tmp_path):
    wall = pa.array([dt.datetime(2024, 5, 1, 22), dt.datetime(2024, 11, 3, 1)], pa.timestamp("us"))
    rows = pa.table({"the `road`": [94, 35], "x.time": wall, "x": [{"time": 1}, None], "`": pa.array([1.0, 2.0])})
    (tmp_path / "deep/er").mkdir(parents=True)
    parquet.write_table(rows, tmp_path / "deep/er/x.parquet")
    options = (
        "--service-column",
        "the `road`",
        "--time-column",
        "x.time",
        "--value-column",
        "`",
        "--timezone",
        "America/New_York",
    )
    load(f"file://{tmp_path}/deep", *options)
    assert kept(spark, lake_platform) == [
        ("35", "2024-11-03 05:00:00", 2, -1, "2024-11-03"),
        ("94", "2024-05-02 02:00:00", 1, -1, "2024-05-01"),
    ]


def test_folders_by_date_must_hold_their_own_dates(refused, tmp_path):
    arrow(tmp_path / "c/Date=2024-05-01/x.parquet", ["I-94"] * 2, instants("2024-05-01T04:59:59", "2024-05-01T05:00"), [6, 7])
    arrow(tmp_path / "c/Date=2024-5-2/x.parquet", ["I-94"], instants("2024-05-02T05:00"), [8])
    assert refused(tmp_path / "c") == [
        "1 folder(s) named for no date: Date=2024-5-2; name them Date=YYYY-MM-DD",
        "column 'Timestamp': 1 of 3 rows have another local date in America/Chicago than that of their folder Date=..., "
        "e.g. '2024-05-01 04:59:59' (Date=2024-05-01/x.parquet); "
        "cut the folders by the dates of that zone, or name them otherwise: then the times alone count",
    ]


def test_two_values_in_the_repeated_hour_need_offsets(refused, tmp_path):
    path = table(tmp_path, "I-94,2024-11-03 01:00,5", "I-94,2024-11-03 01:00,6")
    (mistake,) = refused(path)
    assert mistake.startswith("1 readings have several values, e.g. I-94 at 2024-11-03T06:00:00Z: 5 and 6; ")
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
    "empty": (lambda folder: None, r"no file \*.parquet, \*.csv or \*.csv.gz in it: it is empty"),
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


def by_python(file: str, zone: dt.tzinfo, time: str, value: str) -> dict[dt.datetime, int]:
    with gzip.open(SAMPLES / file, "rt") as lines:
        return {
            dt.datetime.fromisoformat(row[time]).replace(tzinfo=zone).astimezone(dt.UTC): int(row[value])
            for row in csv.DictReader(lines)
        }


@pytest.mark.parametrize(
    ("feed", "file", "zone", "time", "value", "rows"),
    [
        ("road-traffic", "metro_interstate_traffic_volume.csv.gz", "America/Chicago", "date_time", "traffic_volume", 40_575),
        ("world-cup", "worldcup98_requests_per_minute.csv.gz", "UTC", "period", "count", 125_300),
    ],
)
def test_the_samples_become_history(spark, load, lake_platform, feed, file, zone, time, value, rows):
    import zoneinfo

    load(SAMPLES / file, "--service", "I-94", "--time-column", time, "--value-column", value, "--timezone", zone, feed=feed)
    found = lake.history(lake_platform, load_feed(feed)).read(spark).toPandas()
    expected = by_python(file, zoneinfo.ZoneInfo(zone), time, value)
    local = load_feed(feed).zone
    assert len(found) == len(expected) == rows
    assert dict(zip(found.Timestamp.dt.tz_localize("UTC"), found.Value, strict=True)) == expected
    assert set(zip(found.Timestamp, found.Date, strict=True)) == {
        (at.replace(tzinfo=None), at.astimezone(local).date()) for at in expected
    }
