"""Captures moved by whole weeks keep weekday and local time of day, across daylight saving too."""

import calendar
import datetime as dt
import zoneinfo

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sources.readings import batch, milliseconds
from sources.shift import Shift, weeks_to_now

PARIS = zoneinfo.ZoneInfo("Europe/Paris")
HOUR, DAY = 3_600_000, 86_400_000


def ms(text: str, zone=PARIS, fold: int = 0) -> int:
    return round(dt.datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp() * 1000)


def local(instant: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(instant / 1000, PARIS)


def moved_by_hand(instant: int, weeks: int) -> int | None:
    """The same time of day so many weeks on, in the same pass of an hour that comes twice; None where there is no such time."""
    was = local(instant)
    first, second = ((was + dt.timedelta(weeks=weeks)).replace(fold=fold) for fold in (0, 1))  # on the wall
    skipped = first.astimezone(dt.UTC).astimezone(PARIS).replace(tzinfo=None) != first.replace(tzinfo=None)
    twice = first.utcoffset() != second.utcoffset() and not skipped
    if skipped or (was.fold and not twice):
        return None
    return round((second if was.fold else first).timestamp() * 1000)


CHANGES = st.builds(  # of the clocks: one o'clock UTC on the last Sundays of March and October
    lambda year, month: ms(f"{year}-{month:02}-{max(week[6] for week in calendar.monthcalendar(year, month)):02}T01:00", dt.UTC),
    st.integers(1998, 2026),
    st.sampled_from([3, 10]),
)
NEAR = st.builds(int.__add__, CHANGES, st.integers(-2 * HOUR, 2 * HOUR))
WEEKS = st.integers(-300, 1450) | st.sampled_from([0, 52, 53, 104, 365, 1461])
LAST_CHANGE_THAT_ARROW_KNOWS = ms("2037-10-25T04:00")
INSTANTS = st.integers(ms("1998-05-01"), ms("2009-01-01")) | NEAR


@given(INSTANTS | st.builds(lambda instant, weeks: instant - weeks * 7 * DAY, NEAR, WEEKS), WEEKS)
@example(ms("2026-03-22T02:30"), 1)  # skipped there
@example(ms("2026-10-25T02:30", fold=1), 1)  # the second pass, and there is but one
@example(ms("2026-10-25T02:30", fold=1), 0)
def test_weekday_and_time_of_day_stay_where_the_target_has_that_time(instant, weeks):
    assume(instant + weeks * 7 * DAY < LAST_CHANGE_THAT_ARROW_KNOWS)
    moved, has_place = Shift(weeks, "Europe/Paris").instants(np.array([instant]))
    assert (int(moved[0]) if has_place[0] else None) == moved_by_hand(instant, weeks)


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
