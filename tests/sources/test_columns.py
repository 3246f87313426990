"""Cells to times, values and names, row by row against Python's own datetime."""

import datetime as dt
import zoneinfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources import columns
from sources.wall_clock import WallClock

SERVICES = pa.array(["www"])
NO_GAP, GAP = np.array([False]), np.array([True])
CHICAGO = zoneinfo.ZoneInfo("America/Chicago")


def epoch_ms(moment: dt.datetime) -> int:
    return round(moment.timestamp() * 1000)


def read_time(text: str, zone: str = "UTC", gap: np.ndarray = NO_GAP) -> int | str:
    """The time of one cell, or the reason why it has none."""
    times, mistakes = columns.times(pa.array([text]), WallClock(zone), SERVICES, np.zeros(1), gap)
    return mistakes[0] if mistakes else int(times[0])


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))


@given(
    st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.sampled_from([None, dt.UTC]) | OFFSETS),
    st.sampled_from(["T", " "]),
    st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]),
)
def test_iso_times_are_read_as_datetime_reads_them(moment, separator, precision):
    text = moment.isoformat(separator, precision)
    expected = dt.datetime.fromisoformat(text)
    expected = expected if expected.tzinfo else expected.replace(tzinfo=dt.UTC)
    milliseconds = (expected - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
    assert read_time(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1998-06-10", dt.datetime(1998, 6, 10, tzinfo=dt.UTC)),
        ("1998-06-10 17:30:00Z", dt.datetime(1998, 6, 10, 17, 30, tzinfo=dt.UTC)),
        ("1998-06-10 17:30:00 +0530", dt.datetime(1998, 6, 10, 12, tzinfo=dt.UTC)),
        ("897499800", dt.datetime(1998, 6, 10, 17, 30, tzinfo=dt.UTC)),
        ("897499800000", dt.datetime(1998, 6, 10, 17, 30, tzinfo=dt.UTC)),
    ],
)
def test_other_ways_to_write_a_time(text, expected):
    assert read_time(text) == epoch_ms(expected)


@pytest.mark.parametrize("text", ["", "soon", "1998-02-30 10:00:00", "1998-13-01", "1998-06-10 24:00:00", "10/06/1998", "-5"])
def test_what_is_no_time_is_quoted(text):
    assert f"time {text!r} is not ISO 8601" in read_time(text)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([897499800], pa.int64()),
        pa.array([897499800_000], pa.int64()),
        pa.array([dt.datetime(1998, 6, 10, 12, 30)], pa.timestamp("us")),
        pa.array([dt.datetime(1998, 6, 10, 17, 30, tzinfo=dt.UTC)], pa.timestamp("ns", tz="Europe/Paris")),
        pa.array(["1998-06-10 12:30"], pa.large_string()),
    ],
)
def test_typed_columns_hold_the_same_time(column):
    times, mistakes = columns.times(column, WallClock("America/Chicago"), SERVICES, np.zeros(1), NO_GAP)
    assert (times.tolist(), mistakes) == ([897499800_000], {})


def test_null_times_are_mistakes_whatever_their_type():
    for kind in (pa.timestamp("ms"), pa.timestamp("ms", tz="UTC"), pa.int64(), pa.string()):
        _, mistakes = columns.times(pa.array([None], kind), WallClock("UTC"), SERVICES, np.zeros(1), NO_GAP)
        assert list(mistakes) == [0], kind


def test_a_wall_clock_time_that_was_skipped_is_a_mistake():
    assert read_time("2018-03-11 02:30:00", "America/Chicago") == (
        "time '2018-03-11 02:30:00' never was: daylight saving skipped it in America/Chicago"
    )
    assert isinstance(read_time("2018-03-11 02:30:00", "America/Chicago", GAP), int)
    assert read_time("2018-03-11 02:30:00-06:00", "America/Chicago") == epoch_ms(dt.datetime(2018, 3, 11, 3, 30, tzinfo=CHICAGO))


@pytest.mark.parametrize(
    ("column", "expected", "bad"),
    [
        (pa.array(["7", " 8 ", "+9", "12.0", "12."]), [7, 8, 9, 12, 12], []),
        (pa.array(["", "-1", "1.5", "x", "1e3", None, "99999999999999999999"]), [0] * 7, [0, 1, 2, 3, 4, 5, 6]),
        (pa.array([3, -1, None], pa.int32()), [3, 0, 0], [1, 2]),
        (pa.array([3.0, 2.5, float("nan"), float("inf"), None, -1.0]), [3, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5]),
        (pa.array([2**63], pa.uint64()), [0], [0]),
    ],
)
def test_values(column, expected, bad):
    numbers, mistakes = columns.values(column)
    assert (numbers.dtype, numbers.tolist(), sorted(mistakes)) == (np.int64, expected, bad)


@pytest.mark.parametrize(
    ("column", "expected", "bad"),
    [
        (pa.array(["2.5", " +.125 ", "7.", "1e-3", "0.0005", "0.0015"]), [2500, 125, 7000, 1, 0, 2], []),
        (pa.array(["", "-1", "x", "1,5", None, "1e13"]), [0] * 6, [0, 1, 2, 3, 4, 5]),
        (pa.array([3, -1, None], pa.int32()), [3000, 0, 0], [1, 2]),
        (pa.array([1.005, float("nan"), float("inf"), None, -0.1]), [1005, 0, 0, 0, 0], [1, 2, 3, 4]),
    ],
)
def test_values_are_multiplied_and_rounded(column, expected, bad):
    numbers, mistakes = columns.values(column, 1000)
    assert (numbers.dtype, numbers.tolist(), sorted(mistakes)) == (np.int64, expected, bad)
    assert all(why.endswith("is not a number of 0 or more") for why in mistakes.values())


def test_a_bad_value_is_quoted():
    assert columns.values(pa.array(["-3"]))[1] == {0: "value '-3' is not a whole number of 0 or more"}


def test_names_lose_blanks_and_must_not_be_empty():
    names, mistakes = columns.names(pa.array(["a ", None, " ", "ü"]).dictionary_encode())
    assert names.to_pylist() == ["a", "", "", "ü"]
    assert mistakes == {1: "no service name", 2: "no service name"}
