"""A CSV file's rows: times in three forms, values with gaps, and errors that say where."""

import gzip

import numpy as np
import pytest

from contracts.time_formats import TimeFormat
from stack.backtest.rows import read_rows, read_times
from stack.errors import StackError
from tests.stack.backtest.captures import csv_file


def test_each_row_is_there_in_its_order_whatever_form_its_time_has(tmp_path):
    file = csv_file(
        tmp_path / "calls.csv",
        "name,at,n,more",
        "b,2014-07-01 00:30:00,1.5,x",
        "a,1404172800,-2e3,y",
        "",
        "a,2014-07-01T00:30:00Z,,z",
        '"a",1404172800.5,NaN,"1,2"',
    )
    rows = read_rows(file, "at", "n", "name", "America/New_York")
    assert [rows.names[each] for each in rows.services] == ["b", "a", "a", "a"]
    assert rows.timestamps.to_pylist() == ["2014-07-01 00:30:00", "1404172800", "2014-07-01T00:30:00Z", "1404172800.5"]
    assert (rows.instants // 1000).tolist() == [1404189000, 1404172800, 1404174600, 1404172800]
    assert (rows.wall // 1000 % 86_400).tolist() == [1800, 20 * 3600, 20 * 3600 + 1800, 20 * 3600]
    assert np.array_equal(rows.values, [1.5, -2000, np.nan, np.nan], equal_nan=True)


def test_a_gz_file_is_read_and_without_a_service_column_all_rows_are_of_one(tmp_path):
    with gzip.open(tmp_path / "taxi.csv.gz", "wt") as file:
        file.write("t,v\n2014-07-01 00:00:00,10844\n2014-07-01 00:30:00,8127\n")
    rows = read_rows(tmp_path / "taxi.csv.gz", "t", "v", None, "UTC")
    assert (rows.names, rows.services.tolist(), rows.values.tolist()) == (["taxi"], [0, 0], [10844, 8127])


def test_hours_that_daylight_saving_skips_and_repeats_keep_their_clock(tmp_path):
    times = ["2014-11-02 01:00:00", "2014-11-02 01:30:00", "2014-11-02 01:00:00", "2014-11-02 01:30:00"]
    lines = ["t,v", "2014-03-09 02:30:00,", *(f"{each},1" for each in times)]
    rows = read_rows(csv_file(tmp_path / "x.csv", *lines), "t", "v", None, "America/New_York")
    assert (rows.wall // 60_000 % 1440).tolist() == [150, 60, 90, 60, 90]
    assert np.diff(rows.instants[1:]).tolist() == [1_800_000] * 3


def test_a_value_in_an_hour_that_daylight_saving_skips_is_refused(tmp_path):
    file = csv_file(tmp_path / "x.csv", "t,v", "2014-03-09 02:00,", "2014-03-09 02:30,1")
    never = r"x.csv:3: column 't': '2014-03-09 02:30' never was: daylight saving skipped it in America/New_York"
    with pytest.raises(StackError, match=never):
        read_rows(file, "t", "v", None, "America/New_York")


def test_times_of_another_format(tmp_path):
    form = TimeFormat.parsed("%d.%m.%Y %H:%M")
    rows = read_rows(csv_file(tmp_path / "x.csv", "t,v", "1.7.2014 00:30,5"), "t", "v", None, "America/New_York", form)
    assert (rows.timestamps.to_pylist(), rows.instants.tolist()) == (["1.7.2014 00:30"], [1_404_189_000_000])
    file = csv_file(tmp_path / "y.csv", "t,v", "1.7.2014 00:30,5", "2014-07-01 01:00,6")
    with pytest.raises(StackError, match=r"y.csv:3: column 't': '2014-07-01 01:00' is not a time of the format %d.%m.%Y %H:%M"):
        read_rows(file, "t", "v", None, "America/New_York", form)


def test_a_common_format_need_not_be_named_unless_day_and_month_could_change_places(tmp_path):
    file = csv_file(tmp_path / "x.csv", "t,v", "08/01/2022 12:30:00 AM,5", "08/31/2022 01:00:00 PM,6")
    rows = read_rows(file, "t", "v", None, "UTC")
    assert (rows.instants // 1000).tolist() == [1_659_313_800, 1_661_950_800]
    file = csv_file(tmp_path / "y.csv", "t,v", "08/01/2022 00:30,5")
    with pytest.raises(StackError, match=r"y.csv: column t: not clear whether the day or the month comes first") as refused:
        read_rows(file, "t", "v", None, "UTC")
    assert refused.value.remedy == "--time-format '%d/%m/%Y %H:%M', or '%m/%d/%Y %H:%M'"


@pytest.mark.parametrize(
    ("lines", "options", "message", "remedy"),
    [
        (["t,v", "2014-07-01 00:00:00,1", "", "soon,2"], {}, "x.csv:4: column 't': 'soon' is not a time", "epoch seconds"),
        (["t,v", "2014-02-30 00:00:00,1"], {}, "x.csv:2: column 't': '2014-02-30 00:00:00' is not a time", "ISO 8601"),
        (
            ["t,v", "1404172800,1", "1404172801,many", "1404172802,few"],
            {},
            "x.csv:3: column 'v': 'many' is not a number (2",
            "leave it",
        ),
        (["t,v,s", "1404172800,1, "], {"service": "s"}, "x.csv:2: column 's': '' is no service's name", "name a service"),
        (["t,v", "1404172800,1", "1404172801"], {}, "x.csv:3: 1 fields, the header has 2", "as many fields"),
        (["t,v", "1404172800,1"], {"value": "count"}, "x.csv:1: no column 'count'", "it has t, v"),
        (["t,v"], {}, "x.csv: no row below the header", "give a file with readings"),
        ([], {}, "x.csv:1: no column 't', 'v'", "it has none"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place_and_a_remedy(tmp_path, lines, options, message, remedy):
    file = csv_file(tmp_path / "x.csv", *lines)
    with pytest.raises(StackError) as refused:
        read_rows(file, "t", options.get("value", "v"), options.get("service"), "UTC")
    assert message in refused.value.what
    assert remedy in refused.value.remedy


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    (tmp_path / "binary.csv").write_bytes(b"t,v\n\xff\xfe\x00,1\n")
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip")
    for name in ("nowhere.csv", "binary.csv", "broken.csv.gz"):
        with pytest.raises(StackError, match=name):
            read_rows(tmp_path / name, "t", "v", None, "UTC")


def test_times_of_labels_are_read_as_those_of_rows(tmp_path):
    file = csv_file(tmp_path / "labels.csv", "service,start,end", "www,2014-07-01 00:00:00,1404172800")
    services, (start, end) = read_times(file, "service", ("start", "end"), "America/New_York")
    assert (services, start.tolist(), end.tolist()) == (["www"], [1404187200000], [1404172800000])
