"""Captures become history exactly, or not at all: real files, real tables, every row of what is kept."""

import csv
import datetime as dt
import gzip
import zoneinfo
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from contracts.feeds import Feed, load_feed
from jobs import bootstrap
from jobs.backends import history_table, tables
from sources.capture import BadRows, Capture
from stack.backtest.rows import read_rows
from stack.sample.files import read_sample
from stack.sample.inference import Given, found_in
from tests.jobs.captures import arrow, instants, table, utc
from tests.jobs.readings import arrived

SAMPLES = Path(__file__).parent.parent.parent / "samples"
ROADS = load_feed("road-traffic")


@pytest.fixture
def load(run_job, lake_platform):
    """load(path, *options): the job, for the feed road-traffic unless told otherwise."""

    def run(path, *options: str, feed: str = ROADS.name) -> None:
        run_job(bootstrap, lake_platform, "--run-id", "load-1", "--feed", feed, "--from", str(path), *options)

    return run


def kept(spark, platform, feed: Feed = ROADS) -> list[tuple]:
    """Rows of history as (service, UTC time, value, offset, date)."""
    rows = tables.history(platform, feed).read(spark).orderBy("ServiceName", "Timestamp").collect()
    assert {row.KafkaPartition for row in rows if row.KafkaOffset < 0} <= {-1}
    return [(row.ServiceName, str(row.Timestamp), row.Value, row.KafkaOffset, str(row.Date)) for row in rows]


@pytest.mark.full
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
        "history/road_traffic: version 0",
    ]
    (commit,) = tables.history(lake_platform, ROADS).commits()
    assert (commit.note["bootstrap"], commit.note["run_id"]) == (str(path), "load-1")


@pytest.mark.full
def test_other_separators_and_json_lines_say_the_same(spark, load, lake_platform, tmp_path):
    header = "\ufeffServiceName;Timestamp;Value"
    cells = table(tmp_path / "cells", "I-94;1714539600;5", '"I-35; W";1714543200;6', header=header)
    load(cells, "--separator", "semicolon", "--time-unit", "s")
    expected = [("I-35; W", "2024-05-01 06:00:00", 6, -1, "2024-05-01"), ("I-94", "2024-05-01 05:00:00", 5, -1, "2024-05-01")]
    assert kept(spark, lake_platform) == expected
    lines = tmp_path / "cars.jsonl.gz"
    objects = ['{"ServiceName": "I-94", "Timestamp": 1714539600, "Value": 5.0, "more": {"a": [1]}}']
    objects += ["", '{"Value": 7, "Timestamp": "1714546800", "ServiceName": "I-94"}']
    lines.write_bytes(gzip.compress("\n".join(objects).encode("utf-8-sig")))
    load(lines, "--time-unit", "s")
    assert kept(spark, lake_platform) == [*expected, ("I-94", "2024-05-01 07:00:00", 7, -1, "2024-05-01")]


@pytest.mark.full
def test_a_folder_by_date_again_and_beside_what_came_by_the_topic(spark, load, lake_platform, tmp_path):
    topic = [("I-94", utc("2024-05-01T06:00"), 60, 0, 7), ("I-94", utc("2024-05-01T08:00"), 80, 0, 8)]
    history_table.merge(spark, tables.history(lake_platform, ROADS), arrived(spark, ROADS, topic), {"offsets": {"0": 9}})
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
    assert tables.history(lake_platform, ROADS).newest_commit_with("offsets").note["offsets"] == {"0": 9}


@pytest.mark.full
def test_a_row_without_a_value_at_a_time_that_never_was_is_a_gap_to_all_that_read_the_file(
    spark, load, lake_platform, tmp_path, capsys
):
    """10 March 2024 in Chicago: the clocks go on from 02:00 to 03:00."""
    clock = ["00:00,4", "01:00,5", "02:00,", "03:00,6", "04:00,7"]
    path = table(tmp_path, *(f"I-94,2024-03-10 {row}" for row in clock))
    load(path)
    assert [value for _, _, value, *_ in kept(spark, lake_platform)] == [4, 5, 6, 7]
    assert "5 rows, 1 of them without a value, of 1 services" in capsys.readouterr().out
    found = found_in(read_sample(path), Given(timezone=ROADS.timezone), pytest.fail)
    assert (found.sample.rows, found.interval) == (4, 3600)
    bad = BadRows()
    assert [batch.num_rows for batch in Capture(path, ROADS).readings(bad)] == [4]
    assert (bad.gaps, bad.count) == (1, 0)
    values = read_rows(path, "Timestamp", "Value", "ServiceName", ROADS.timezone).values
    assert np.array_equal(values, [4, 5, np.nan, 6, 7], equal_nan=True)


@pytest.mark.full
def test_the_repeated_hour_is_read_as_a_replay_reads_it(spark, load, lake_platform, tmp_path):
    """3 November 2024 in Chicago: the clocks go back from 02:00 to 01:00."""
    clock = ["00:30", "01:00", "01:30", "01:00", "01:30", "02:00"]
    rows = [f"I-94,2024-11-03 {time},{value}" for value, time in enumerate(clock)]
    once = ["I-35,2024-11-03 01:00,7", "I-35,2024-11-03 01:00,7", "I-35,2024-11-03 02:00,8"]
    hourly = [f"I-90,2024-11-03 {time},{value}" for value, time in enumerate(["00:00", "01:00", "01:00", "02:00"])]
    table(tmp_path / "c", *rows[:3], *once, *hourly[:2], name="1.csv")
    table(tmp_path / "c", *rows[3:], *hourly[2:], "I-94,2024-11-03T01:15-06:00,9", name="2.csv.gz")
    load(tmp_path / "c")
    found = [(service, time, value) for service, time, value, *_ in kept(spark, lake_platform)]
    assert found == [
        ("I-35", "2024-11-03 06:00:00", 7),
        ("I-35", "2024-11-03 08:00:00", 8),
        ("I-90", "2024-11-03 05:00:00", 0),
        ("I-90", "2024-11-03 06:00:00", 1),
        ("I-90", "2024-11-03 07:00:00", 2),
        ("I-90", "2024-11-03 08:00:00", 3),
        ("I-94", "2024-11-03 05:30:00", 0),
        ("I-94", "2024-11-03 06:00:00", 1),
        ("I-94", "2024-11-03 06:30:00", 2),
        ("I-94", "2024-11-03 07:00:00", 3),
        ("I-94", "2024-11-03 07:15:00", 9),
        ("I-94", "2024-11-03 07:30:00", 4),
        ("I-94", "2024-11-03 08:00:00", 5),
    ]
    whole = table(tmp_path / "whole", *rows, *once, *hourly, "I-94,2024-11-03T01:15-06:00,9")
    replayed = pa.Table.from_batches(Capture(whole, ROADS).readings(BadRows())).to_pylist()
    assert {tuple(row.values()) for row in replayed} == {(service, utc(time), value) for service, time, value in found}


@pytest.mark.full
def test_numbers_are_times_of_the_unit_that_is_given(spark, load, lake_platform, tmp_path):
    path = table(tmp_path, "I-94,1714539600000,0", "I-94,1714541400000,1", name="cars.csv.gz")
    load(path, "--time-unit", "ms")
    assert kept(spark, lake_platform) == [
        ("I-94", "2024-05-01 05:00:00", 0, -1, "2024-05-01"),
        ("I-94", "2024-05-01 05:30:00", 1, -1, "2024-05-01"),
    ]


def test_times_of_another_format_are_of_the_feeds_clock_and_values_are_multiplied(spark, load, lake_platform, tmp_path):
    path = table(tmp_path, "I-94,05/01/2024 12:00:00 AM,0", "I-94,11/03/2024 01:30:00 pm,1.25", "I-94,11/03/2024 02:30:00 pm,")
    load(path, "--time-format", "%m/%d/%Y %I:%M:%S %p", "--value-scale", "100")
    assert kept(spark, lake_platform) == [
        ("I-94", "2024-05-01 05:00:00", 0, -1, "2024-05-01"),
        ("I-94", "2024-11-03 19:30:00", 125, -1, "2024-11-03"),
    ]


@pytest.mark.full
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


def by_python(file: str, zone: dt.tzinfo, time: str, value: str) -> dict[dt.datetime, int]:
    with gzip.open(SAMPLES / file, "rt") as lines:
        return {
            dt.datetime.fromisoformat(row[time]).replace(tzinfo=zone).astimezone(dt.UTC): int(row[value])
            for row in csv.DictReader(lines)
        }


@pytest.mark.full
@pytest.mark.parametrize(
    ("feed", "file", "zone", "time", "value", "rows"),
    [
        ("road-traffic", "metro_interstate_traffic_volume.csv.gz", "America/Chicago", "date_time", "traffic_volume", 40_575),
        ("world-cup", "worldcup98_requests_per_minute.csv.gz", "UTC", "period", "count", 125_300),
    ],
)
def test_the_samples_become_history(spark, load, lake_platform, feed, file, zone, time, value, rows):
    load(SAMPLES / file, "--service", "I-94", "--time-column", time, "--value-column", value, "--timezone", zone, feed=feed)
    found: pd.DataFrame = tables.history(lake_platform, load_feed(feed)).read(spark).toPandas()
    expected = by_python(file, zoneinfo.ZoneInfo(zone), time, value)
    local = load_feed(feed).zone
    assert len(found) == len(expected) == rows
    assert set(found.ServiceName) == {"I-94"}
    assert dict(zip(found.Timestamp.dt.tz_localize("UTC"), found.Value, strict=True)) == expected
    assert set(zip(found.Timestamp, found.Date, strict=True)) == {
        (at.replace(tzinfo=None), at.astimezone(local).date()) for at in expected
    }
