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


DAY = 86_400_000


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
