"""What a sample says: columns, clock, services and interval, from files as people have them."""

import datetime as dt
import gzip
import json
import math
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.time_formats import TimeFormat
from stack.errors import StackError
from stack.sample.files import read_sample
from stack.sample.inference import Found, Given, found_in

START = dt.datetime(2024, 3, 4, tzinfo=dt.UTC)
INTERVALS = [10, 60, 300, 600, 900, 1800, 3600, 7200, 86_400]
ZONES = ["America/Chicago", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]


def unknown(option: str, what: str, choices: list[str]) -> str:
    raise StackError(f"{what}: {choices}", remedy=option)


def found(path: Path, **options) -> Found:
    return found_in(read_sample(path), Given(**options), unknown)


def file(folder: Path, *lines: str, name: str = "calls.csv") -> Path:
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def refusal(path: Path, **options) -> str:
    with pytest.raises(StackError) as refused:
        found(path, **options)
    return str(refused.value)


@given(data=st.data())
def test_the_interval_is_found_in_gaps_repeats_and_any_order_however_times_are_written(data, tmp_path_factory):
    interval, zone = data.draw(st.sampled_from(INTERVALS)), data.draw(st.sampled_from(ZONES))
    written = data.draw(st.sampled_from(["s", "ms", "local", "offset"]))
    gaps = data.draw(st.sets(st.integers(1, 38), max_size=8))
    steps = [step for step in range(40) if step not in gaps]
    at = [START + dt.timedelta(seconds=interval * step) for step in (*steps, *steps[: data.draw(st.integers(0, 5))])]
    texts = {
        "s": lambda time: str(int(time.timestamp())),
        "ms": lambda time: str(int(time.timestamp() * 1000)),
        "local": lambda time: f"{time.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}",
        "offset": lambda time: time.astimezone(ZoneInfo(zone)).isoformat(),
    }
    rows = [f"{texts[written](time)},{int(time.timestamp()) % 997},{name}" for time in at for name in ("a", "b")]
    if written != "local":  # of local times the order tells the two passes of an hour
        rows = data.draw(st.permutations(rows))
    read = found(file(tmp_path_factory.mktemp("sample"), "at,calls,host", *rows), service="host", timezone=zone)
    assert (read.times.column, read.value, read.interval) == ("at", "calls", interval)
    assert read.times.unit == (written if written in ("s", "ms") else None)
    assert (read.first, read.last) == tuple(round(time.timestamp() * 1000) for time in (min(at), max(at)))


@pytest.mark.parametrize(("day", "hours"), [("2024-03-10", 23), ("2024-11-03", 25), ("2024-11-04", 24)])
def test_local_times_through_a_change_of_the_clocks_are_half_an_hour_apart(tmp_path, day, hours):
    zone = ZoneInfo("America/Chicago")
    begin = dt.datetime.fromisoformat(day).replace(tzinfo=zone).astimezone(dt.UTC)
    times = [(begin + dt.timedelta(minutes=30 * row)).astimezone(zone) for row in range(2 * hours)]
    path = file(tmp_path, "at,calls", *(f"{time:%Y-%m-%d %H:%M},{row}" for row, time in enumerate(times)))
    read = found(path, timezone="America/Chicago")
    assert (read.interval, read.why["interval"]) == (1800, "the most frequent step of a service: 100% of all")
    assert read.last - read.first == (2 * hours - 1) * 1_800_000


def test_hourly_local_times_have_the_repeated_hour_twice(tmp_path):
    path = file(tmp_path, "at,calls", *(f"2024-11-03 {hour}:00,{row}" for row, hour in enumerate(["00", "01", "01", "02"])))
    read = found(path, timezone="America/Chicago")
    assert (read.interval, read.service, read.last - read.first) == (3600, None, 3 * 3_600_000)


def test_three_values_in_the_repeated_hour_are_one_too_many(tmp_path):
    hours = ["00", "01", "01", "01", "02"]
    path = file(tmp_path, "at,calls", *(f"2024-11-03 {hour}:00,{row}" for row, hour in enumerate(hours)))
    said = refusal(path, timezone="America/Chicago")
    assert said.startswith(f"{path}:5: column 'calls' has 3 where an earlier row of the same time '2024-11-03 01:00' has 2")
    assert said.endswith("daylight saving repeats this hour: write its times with an offset")


def test_a_local_time_that_never_was_is_named_with_its_line(tmp_path):
    path = file(tmp_path, "at,calls", "2024-03-10 01:00,1", "2024-03-10 02:00,2", "2024-03-10 03:00,3")
    said = refusal(path, timezone="America/Chicago")
    assert said.startswith(f"{path}:3: column 'at': '2024-03-10 02:00' never was: daylight saving skipped it in America/Chicago")
    assert found(path, timezone="UTC").interval == 3600


@pytest.mark.parametrize(
    ("separator", "written"), [("semicolon", ";"), ("tab", "\t"), ("bar", "|"), ("comma", ",")], ids=lambda each: each
)
def test_separators_a_byte_order_mark_quoted_names_and_a_nameless_column(tmp_path, separator, written):
    header = written.join(["", '"the ""time"""', '"calls, all"', "where"])
    rows = (written.join([str(row), f"2024-03-04T00:{row:02}:00Z", str(row * 7), '"north; | ""x"""']) for row in range(20))
    path = tmp_path / "calls.csv.gz"
    path.write_bytes(gzip.compress("\n".join([header, *rows]).encode("utf-8-sig")))
    read = found(path)
    assert (read.times.column, read.value, read.sample.separator) == ('the "time"', "calls, all", separator)
    assert (read.interval, read.timezone, read.service, read.services) == (60, "UTC", None, 1)
    assert read.sample.columns["where"][0].as_py() == 'north; | "x"'


def test_parquet_and_json_lines_say_the_same_as_csv(tmp_path):
    times = [START + dt.timedelta(minutes=10 * row) for row in range(6)]
    rows = [{"at": time.isoformat(), "calls": 4.0, "more": {"a": 1}, "up": True, "note": None} for time in times]
    lines = file(tmp_path, *(json.dumps(row) for row in rows), "", name="calls.jsonl")
    marked = tmp_path / "marked.jsonl.gz"
    marked.write_bytes(gzip.compress(lines.read_text().encode("utf-8-sig")))
    kinds = [pa.timestamp("us", tz="Asia/Kolkata"), pa.timestamp("ns", tz="UTC"), pa.timestamp("ms"), pa.int64()]
    of_parquet = []
    for number, kind in enumerate(kinds):
        cells = [int(time.timestamp()) if kind == pa.int64() else time.replace(tzinfo=None) for time in times]
        at = pa.array(cells, kind) if kind == pa.int64() else pa.array(cells, pa.timestamp(kind.unit)).cast(kind)
        parquet.write_table(pa.table({"at": at, "calls": [4.0] * 6, "more": [[1]] * 6}), tmp_path / f"{number}.parquet")
        of_parquet.append(tmp_path / f"{number}.parquet")
    for path in (lines, marked, *of_parquet):
        read = found(path, timezone="UTC")
        assert (read.times.column, read.value, read.interval, read.sample.whole) == ("at", "calls", 600, True)
        assert (read.first, read.median) == (round(START.timestamp() * 1000), 4.0)
    shown = [found(path, timezone="UTC").times.shown for path in (lines, marked, *of_parquet)]
    assert shown == [*["ISO 8601 with offset"] * 4, "local times", "epoch seconds"]
    assert [found(path, timezone="UTC").times.unit for path in of_parquet] == [None, None, None, "s"]


def test_dates_are_the_times_rather_than_numbers_that_could_be_and_a_name_decides_among_several(tmp_path):
    rows = [f"{1_700_000_000 + row},2024-03-{row + 1:02},2024-03-04T00:00:{row * 10:02}Z,{row}" for row in range(6)]
    read = found(file(tmp_path, "bytes,day,Time_Stamp,id", *rows), value="bytes")
    assert (read.times.column, read.interval, read.median) == ("Time_Stamp", 10, 1_700_000_002.5)
    assert read.why["time"] == "its name, among columns of times: ISO 8601 with offset"
    alone = found(file(tmp_path, "bytes,when", *(f"{1_700_000_000 + row},2024-03-04T00:0{row}:00Z" for row in range(6))))
    assert (alone.times.column, alone.value, alone.interval) == ("when", "bytes", 60)


def test_the_service_is_the_column_that_gives_each_time_one_value(tmp_path):
    rows = [f"2024-03-04 {hour:02}:00,{hour * 3 + at},{at},fine,{name}" for hour in range(9) for at, name in enumerate("xy")]
    read = found(file(tmp_path, "when,calls,rank,weather,shop", *rows), timezone="UTC", value="calls")
    assert (read.service, read.services, read.interval) == ("shop", 2, 3600)
    assert read.why["service"] == "by it, each service and time has one value"


def test_equal_rows_of_one_time_need_no_service(tmp_path):
    rows = [f"2024-03-04 {hour:02}:00,{hour},{sky}" for hour in range(9) for sky in ("clouds", "rain")]
    assert found(file(tmp_path, "when,calls,sky", *rows), timezone="UTC").service is None


def test_rows_without_a_value_are_gaps(tmp_path):
    read = found(file(tmp_path, "at,calls", *(f"{1_700_000_000 + 60 * row},{'' if row % 5 == 2 else row}" for row in range(20))))
    assert (read.interval, read.median, read.why["value"]) == (60, 9.5, "the only column of whole numbers; 4 rows have none")
    assert read.sample.rows == 16


def test_jittered_times_of_several_services_are_told_apart(tmp_path):
    rows = [f"{1_700_000_000 + 60 * row + offset},{row},{name}" for row in range(9) for offset, name in ((0, "a"), (7, "b"))]
    read = found(file(tmp_path, "when,calls,host", *rows))
    assert (read.service, read.interval) == ("host", 60)


def test_mixed_steps_keep_the_more_frequent_one_or_ask_for_it(tmp_path):
    times = [*range(0, 3000, 300), *range(3000, 9000, 600)]
    rows = [f"{1_700_000_000 + time},1" for time in times]
    said = refusal(file(tmp_path, "at,calls", *rows, *(f"{1_700_009_000 + 777 * row},1" for row in range(1, 9))))
    assert "column 'at' does not tell the interval of the readings: its most frequent steps are" in said
    assert "--interval 10m" in said
    assert found(file(tmp_path, "at,calls", *rows)).interval == 300
    assert found(file(tmp_path, "at,calls", *rows[:3], rows[-1]), interval=600).interval == 600


def test_a_step_that_does_not_divide_a_day_is_no_interval(tmp_path):
    said = refusal(file(tmp_path, "at,calls", *(f"{1_700_000_000 + 420 * row},1" for row in range(9))))
    assert "its most frequent steps are 7m (100%)" in said


@pytest.mark.parametrize(
    ("lines", "options", "says"),
    [
        (["2024-03-04 00:00,5", "2024-03-04 01:00,6"], {}, ":1: no header: '2024-03-04 00:00' is a reading"),
        (["at,at", "1700000000,1"], {}, ":1: several columns are called 'at'"),
        (["at;calls", "2024-03-04;3,5", "2024-03-05;4,5"], {}, ":2: column 'calls': '3,5' has a decimal comma (2 such rows)"),
        (["at,calls", "1700000000,1", "1700000060,-2.5"], {}, ":3: column 'calls': '-2.5' is below 0\nwhat to do: readings are"),
        (["at,calls", "1700000000,1", "1700000060,-2"], {"value": "calls"}, ":3: column 'calls': '-2' is below 0"),
        (["at,calls", "1700000000,", "1700000060,NaN"], {"value": "calls"}, ": column 'calls' has no value\nwhat to do: name"),
        (["at,calls", "1700000000,NaN", "1700000000,3", "1700000000,4"], {}, ":4: column 'calls' has 4 where an earlier row of"),
        (["at,calls", "1700000000,1", "1700000060,many"], {"value": "calls"}, ":3: column 'calls': 'many' is no number"),
        (["at,calls", "1700000000,1", "noon,2"], {"timestamp": "at"}, ":3: column 'at': 'noon' is no time"),
        (["at,calls", "31st,1"], {}, ":2: no column has times that can be read; there are at '31st', calls '1'"),
        (
            ["at,calls", "31.12.2024,1", "2024-12-31,1"],
            {"timestamp": "at"},
            ":2: column 'at': '31.12.2024' is no time\nwhat to do: write ISO",
        ),
        (
            ["at,calls", "31.12.2024,1", "2024-12-31,1"],
            {"time_format": TimeFormat.parsed("%d.%m.%Y"), "timestamp": "at"},
            ":3: column 'at': '2024-12-31' is no time of the format %d.%m.%Y",
        ),
        (["at,calls", "1700000000,1", "1700000060000,2"], {}, ":3: column 'at': '1700000060000' counts another unit"),
        (["at,calls", "1700000000,1", "2024-03-04,2"], {"timezone": "UTC"}, ":3: column 'at': '2024-03-04' is written otherwise"),
        (["at,calls", "1700000000,1", "1700000060,2,3"], {}, ":3: 3 fields, the header has 2"),
        (
            ["at,calls", "1700000000,1", "1700000000,2"],
            {},
            ":3: column 'calls' has 2 where an earlier row of the same time '1700000000' has 1",
        ),
        (["at,who,n", "1700000000,a,1", "1700000060, ,2"], {"service": "who"}, ":3: column 'who': ' ' is no service's name"),
        (
            ["at,calls", "1700000000,1"],
            {"value": "count"},
            ": no column 'count' for --value-column\nwhat to do: name one of this file's",
        ),
        (["at,calls", "1700000000,1"], {}, "no service has two times"),
        (["at,calls"], {}, ": no reading in it"),
        (["at,a,b", "1700000000,1,1"], {}, "docs/new-feed.md): ['a', 'b']\nwhat to do: --value"),
        (
            ["begin,end,a", "2024-03-04,2024-03-05,1"],
            {},
            "which column has the times: ['begin', 'end']\nwhat to do: --time",
        ),
        (["at,a", "2024-03-04,1"], {}, "whose clock shows the local times: []\nwhat to do: --timezone"),
    ],
)
def test_what_is_wrong_is_named_with_line_column_and_remedy(tmp_path, lines, options, says):
    said = refusal(file(tmp_path, *lines), **options)
    assert says in said
    assert "what to do: " in said


@pytest.mark.parametrize("name", ["none.csv", "calls.xlsx"])
def test_what_is_no_sample_is_refused(tmp_path, name):
    if name != "none.csv":
        file(tmp_path, "x", name=name)
    assert "name a file that ends in .csv, .csv.gz, .jsonl" in refusal(tmp_path / name)


def test_of_a_long_file_the_first_rows_count(tmp_path, monkeypatch):
    monkeypatch.setattr("stack.sample.files.ROWS", 5)
    path = file(tmp_path, "at,calls", *(f"{1_700_000_000 + 60 * row},{row}" for row in range(6)))
    read = found(path)
    assert (read.sample.rows, read.sample.whole, read.median) == (5, False, 2.0)
    monkeypatch.setattr("stack.sample.files.ROWS", 6)
    assert found(path).sample.whole
    lines = file(tmp_path, *(json.dumps({"at": 1_700_000_000 + 60 * row, "calls": row}) for row in range(7)), name="a.jsonl")
    assert (found(lines).sample.rows, found(lines).sample.whole) == (6, False)


def test_the_median_is_that_of_the_values(tmp_path):
    rows = (f"{1_700_000_000 + 60 * row},{value}" for row, value in enumerate([1, 9, 100]))
    assert math.isclose(found(file(tmp_path, "at,calls", *rows)).median, 9)
