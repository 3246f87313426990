"""What is played of a capture: its history, what is live from now on, or a window."""

import datetime as dt
import zoneinfo

import numpy as np
import pytest

from contracts.feeds import load_feed
from sources.capture import Capture
from sources.readings import milliseconds
from sources.replay_plan import ReplayPlan, Window

PARIS = zoneinfo.ZoneInfo("Europe/Paris")


DAY, HOUR = 86_400_000, 3_600_000


FEED = load_feed("world-cup")  # Europe/Paris, a reading each minute


def ms(text: str, zone=PARIS, fold: int = 0) -> int:
    return round(dt.datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp() * 1000)


def test_history_and_live_meet_without_gap_or_overlap(tmp_path):
    first = ms("1998-06-01T00:00")
    rows = [f"{(first + minute * 60_000) // 1000},{minute}" for minute in range(3 * 1440)]
    (tmp_path / "capture.csv").write_text("Timestamp,Value\n" + "\n".join(rows) + "\n")
    capture, now = Capture(tmp_path / "capture.csv", FEED, service="www"), ms("2026-11-17T13:45:30")
    history, live = (ReplayPlan.to_now(capture, now, live) for live in (False, True))
    before, after = (np.concatenate([milliseconds(each) for each in plan.readings()]) for plan in (history, live))
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
    plan = ReplayPlan(capture, capture.survey(), window=Window(*sides))
    assert [value for each in plan.readings() for value in each.column("Value").to_pylist()] == values
    plan.limit = 1
    assert (sum(each.num_rows for each in plan.readings()), plan.total()) == (1, 1)


def repeated(tmp_path, start: int, end: int | None, limit: int | None = None) -> ReplayPlan:
    """A capture of 1 to 18 June 1998, its values counting the hours, moved by a week; of it a window of hours after its begin."""
    first = ms("1998-06-01T00:00")
    rows = [f"{(first + hour * HOUR) // 1000},{hour}" for hour in range(17 * 24)]
    (tmp_path / "capture.csv").write_text("Timestamp,Value\n" + "\n".join(rows) + "\n")
    capture = Capture(tmp_path / "capture.csv", FEED, service="www")
    begin = first + 7 * DAY
    window = Window(begin + start * HOUR, None if end is None else begin + end * HOUR)
    return ReplayPlan(capture, capture.survey(), weeks=1, window=window, limit=limit, repeat=True)


def values(plan: ReplayPlan) -> list[tuple[int, int]]:
    """(hours after the begin, value) of each reading."""
    begin = ms("1998-06-08T00:00")
    return [
        ((time - begin) // HOUR, value)
        for each in plan.readings()
        for time, value in zip(milliseconds(each).tolist(), each.column("Value").to_pylist(), strict=True)
    ]


def test_a_capture_that_is_repeated_goes_on_without_a_gap_at_the_same_time_of_the_week(tmp_path):
    played = values(repeated(tmp_path, 0, 60 * 24))
    assert [hour for hour, _ in played] == list(range(60 * 24)), "each hour once"
    assert [value for _, value in played[: 17 * 24]] == list(range(17 * 24)), "all of it first"
    assert {(hour - value) % (7 * 24) for hour, value in played} == {0}
    assert played[17 * 24] == (17 * 24, 3 * 24), "two weeks on: what the first time has had already is left out"


def test_whenever_it_begins_a_time_has_the_same_reading(tmp_path):
    always = dict(values(repeated(tmp_path, 0, 60 * 24)))
    for start in (10, 17 * 24 - 1, 17 * 24, 31 * 24, 50 * 24 + 7):
        assert values(repeated(tmp_path, start, None, limit=40)) == [(hour, always[hour]) for hour in range(start, start + 40)]
    endless = repeated(tmp_path, 0, None)
    assert endless.total() is None


def test_a_shorter_capture_than_a_week_is_repeated_each_week(tmp_path):
    (tmp_path / "capture.csv").write_text("Timestamp,Value\n1800000000,1\n1800000060,2\n")
    capture = Capture(tmp_path / "capture.csv", FEED, service="www")
    plan = ReplayPlan(capture, capture.survey(), limit=4, repeat=True)
    times = np.concatenate([milliseconds(each) for each in plan.readings()]) - 1_800_000_000_000
    assert times.tolist() == [0, 60_000, 7 * DAY, 7 * DAY + 60_000]


def test_a_number_of_weeks_that_was_chosen_once_stays(tmp_path):
    (tmp_path / "capture.csv").write_text("Timestamp,Value\n897000000,1\n")
    capture = Capture(tmp_path / "capture.csv", FEED, service="www")
    assert ReplayPlan.to_now(capture, ms("2026-11-17T13:45:30"), live=True, weeks=1400).weeks == 1400
