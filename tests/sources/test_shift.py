"""Captures moved by whole weeks keep weekday and local time of day, across daylight saving too."""

import datetime as dt
import zoneinfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.feeds import load_feed
from sources.capture import Capture
from sources.readings import batch, milliseconds
from sources.shift import Shift, weeks_to_now
from sources.staging import Staging, Window

PARIS = zoneinfo.ZoneInfo("Europe/Paris")
HOUR, DAY = 3_600_000, 86_400_000
FEED = load_feed("world-cup")  # Europe/Paris, a reading each minute


def ms(text: str, zone=PARIS, fold: int = 0) -> int:
    return round(dt.datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp() * 1000)


def local(instant: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(instant / 1000, PARIS)


@given(st.integers(ms("1998-05-01"), ms("2009-01-01")), st.integers(-300, 1450))
def test_weekday_and_time_of_day_stay(instant, weeks):
    moved, has_place = Shift(weeks, "Europe/Paris").instants(np.array([instant]))
    if has_place[0]:
        assert local(int(moved[0])).replace(tzinfo=None) == local(instant).replace(tzinfo=None) + dt.timedelta(weeks=weeks)


def test_the_curve_does_not_jump_where_the_target_changes_its_clocks():
    noons = np.array([ms("1998-06-01T12:00") + day * DAY for day in range(14)])
    weeks = (ms("2026-10-19T12:00") - ms("1998-06-01T12:00")) // (7 * DAY)  # the clocks change on 25 October 2026
    moved, _ = Shift(weeks, "Europe/Paris").instants(noons)
    assert {local(int(each)).hour for each in moved} == {12}
    assert np.diff(moved).tolist().count(25 * HOUR) == 1


def test_what_falls_into_the_skipped_hour_is_left_out_and_counted():
    times = np.array([ms("2026-03-22T01:30"), ms("2026-03-22T02:30"), ms("2026-03-22T03:30")])
    shift = Shift(1, "Europe/Paris")
    (moved,) = shift.readings([batch(["a"] * 3, times, np.arange(3))])
    assert milliseconds(moved).tolist() == [ms("2026-03-29T01:30"), ms("2026-03-29T03:30")]
    assert moved.column("Value").to_pylist() == [0, 2]
    assert shift.left_out == 1


def test_of_a_repeated_hour_the_first_pass_has_a_place():
    times = np.array([ms("2026-10-25T02:30"), ms("2026-10-25T02:30", fold=1)])
    moved, has_place = Shift(1, "Europe/Paris").instants(times)
    assert (moved[0], has_place.tolist()) == (ms("2026-11-01T02:30"), [True, False])
    moved, has_place = Shift(0, "Europe/Paris").instants(times)
    assert (moved.tolist(), has_place.tolist()) == (times.tolist(), [True, True])


@given(st.integers(0, 2_000_000_000_000), st.integers(0, 2_000_000_000_000))
def test_to_now_leaves_one_to_eight_days_to_play(last, now):
    moved = last + weeks_to_now(last, now, "UTC") * 7 * DAY
    assert DAY <= moved - now < 8 * DAY


def test_history_and_live_meet_without_gap_or_overlap(tmp_path):
    first = ms("1998-06-01T00:00")
    rows = [f"{(first + minute * 60_000) // 1000},{minute}" for minute in range(3 * 1440)]
    (tmp_path / "capture.csv").write_text("Timestamp,Value\n" + "\n".join(rows) + "\n")
    capture, now = Capture(tmp_path / "capture.csv", FEED, service="www"), ms("2026-11-17T13:45:30")
    history, live = (Staging.to_now(capture, now, live) for live in (False, True))
    before, after = (np.concatenate([milliseconds(each) for each in staging.readings()]) for staging in (history, live))
    assert before[-1] == ms("2026-11-17T13:44")
    assert after[0] == ms("2026-11-17T13:45")
    assert np.concatenate([before, after]).tolist() == list(range(before[0], before[0] + 3 * DAY, 60_000))
    assert (history.total(), live.total()) == (len(before), len(after))


@pytest.mark.parametrize(
    ("start", "end", "values"), [(None, None, [0, 1, 2, 3]), (60_000, None, [1, 2, 3]), (60_000, 180_000, [1, 2])]
)
def test_a_window_includes_its_start_and_not_its_end(tmp_path, start, end, values):
    (tmp_path / "capture.csv").write_text("Timestamp,Value\n" + "".join(f"{1_800_000_000 + 60 * n},{n}\n" for n in range(4)))
    capture = Capture(tmp_path / "capture.csv", FEED, service="www")
    sides = [None if side is None else 1_800_000_000_000 + side for side in (start, end)]
    staging = Staging(capture, capture.survey(), window=Window(*sides))
    assert [value for each in staging.readings() for value in each.column("Value").to_pylist()] == values
    staging.limit = 1
    assert (sum(each.num_rows for each in staging.readings()), staging.total()) == (1, 1)
