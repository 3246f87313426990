"""The hour that daylight saving skips or repeats, in both directions."""

import datetime as dt
import zoneinfo

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sources.wall_clock import WallClock, to_wall

CHICAGO = "America/Chicago"


def wall(text: str) -> int:
    """What a clock shows, counted as if it were UTC."""
    return round(dt.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


def instants(clock: WallClock, *rows: tuple[str, str], values: list[int] | None = None) -> list[str]:
    """UTC hours and minutes of (wall-clock time of 4 November 2018, service), read in this order."""
    times = np.array([wall(f"2018-11-04 {time}") for time, _ in rows])
    found, skipped = clock.instants(times, pa.array([service for _, service in rows]), np.array(values or range(len(rows))))
    assert not skipped.any()
    return [dt.datetime.fromtimestamp(ms / 1000, dt.UTC).strftime("%H:%M") for ms in found.tolist()]


def test_the_repeated_hour_is_its_first_pass_until_the_times_step_back():
    rows = [("00:30", "a"), ("01:00", "a"), ("01:30", "a"), ("01:00", "a"), ("01:30", "a"), ("02:00", "a")]
    assert instants(WallClock(CHICAGO), *rows) == ["05:30", "06:00", "06:30", "07:00", "07:30", "08:00"]


def test_a_repeated_time_is_a_correction_not_a_second_pass():
    rows = [("01:00", "a"), ("01:00", "a"), ("02:00", "a")]
    assert instants(WallClock(CHICAGO), *rows) == ["06:00", "06:00", "08:00"]
    assert instants(WallClock(CHICAGO, 1800), *rows) == ["06:00", "06:00", "08:00"]


def test_of_hourly_readings_equal_times_with_different_values_are_the_two_passes():
    rows = [("00:00", "a"), ("01:00", "a"), ("01:00", "b"), ("01:00", "a"), ("01:00", "b"), ("02:00", "a")]
    apart = ["05:00", "06:00", "06:00", "07:00", "07:00", "08:00"]
    assert instants(WallClock(CHICAGO, 3600), *rows) == apart
    written_twice = ["05:00", "06:00", "06:00", "06:00", "07:00", "08:00"]
    assert instants(WallClock(CHICAGO, 3600), *rows, values=[1, 5, 6, 5, 7, 8]) == written_twice


def test_the_repeated_half_hour_of_lord_howe_island():
    clock = WallClock("Australia/Lord_Howe", 1800)
    times = np.array([wall(f"2019-04-07 {time}") for time in ("01:00", "01:30", "01:30", "02:00")])
    found, _ = clock.instants(times, pa.array(["a"] * 4), np.arange(4))
    assert np.diff(found).tolist() == [1_800_000] * 3


def test_each_service_has_its_own_pass():
    rows = [("01:30", "a"), ("01:00", "b"), ("01:00", "a"), ("01:30", "b")]
    assert instants(WallClock(CHICAGO), *rows) == ["06:30", "06:00", "07:00", "06:30"]


def test_the_pass_is_remembered_from_batch_to_batch_but_not_from_year_to_year():
    clock = WallClock(CHICAGO)
    assert instants(clock, ("01:30", "a"), ("01:00", "a")) == ["06:30", "07:00"]
    assert instants(clock, ("01:30", "a")) == ["07:30"]
    found, _ = clock.instants(np.array([wall("2019-11-03 01:00")]), pa.array(["a"]), np.array([1]))
    assert found[0] == wall("2019-11-03 06:00")


def test_a_skipped_time_is_marked_and_its_neighbours_are_not():
    times = [wall(f"2018-03-11 {text}") for text in ("01:59:59.999", "02:00", "02:59:59.999", "03:00")]
    found, skipped = WallClock(CHICAGO).instants(np.array(times), pa.array(["a"] * 4), np.arange(4))
    assert skipped.tolist() == [False, True, True, False]
    assert found[[0, 3]].tolist() == [wall("2018-03-11 07:59:59.999"), wall("2018-03-11 08:00")]


@given(
    st.sampled_from([CHICAGO, "Europe/Paris", "Asia/Kolkata", "America/Sao_Paulo", "UTC"]),
    st.lists(st.integers(0, 2_000_000_000), min_size=1, max_size=20),
)
def test_wall_clock_is_what_zoneinfo_shows(zone, seconds):
    shown = [dt.datetime.fromtimestamp(each, zoneinfo.ZoneInfo(zone)).replace(tzinfo=dt.UTC).timestamp() for each in seconds]
    assert (to_wall(np.array(seconds) * 1000, zone) // 1000).tolist() == shown
