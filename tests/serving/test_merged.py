"""The merged view equals a plain recomputation of all readings, wherever the seam between history and stream lies."""

import datetime as dt
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.feeds import Feed, Rule
from serving.archived import Archived
from serving.buckets import grid
from serving.merged import merged
from serving.scored import NOTHING, Reading, Series
from serving.series import Window, series
from serving.tables import Arrays

START = dt.datetime(2026, 10, 31, 20, tzinfo=dt.UTC)  # the clocks of New York are set back in the night
INTERVAL = 900
RULE = Rule(percent=10, spread=3, minimum=20)
FEED = Feed(
    name="f",
    description="d",
    record="service_use_record",
    interval_seconds=INTERVAL,
    spread_window_seconds=3600,
    timezone="America/New_York",
    rule=RULE,
)
LENGTH = 60  # intervals


def ms(number: int) -> int:
    return round((START.timestamp() + number * INTERVAL) * 1000)


def baseline(day_type: int) -> Arrays:
    averages = np.array([10.0 * day_type + slot % 7 for slot in range(FEED.slots)])
    averages[40] = np.nan
    return Arrays(averages, np.array([1.0 + window % 3 for window in range(FEED.spread_windows)]), 1.25)


def archived_of(rows: list[tuple[int, int, int]]) -> Archived:
    columns = zip(*sorted(rows), strict=True) if rows else ((), (), ())
    return Archived(*(np.array(column, np.int64) for column in columns))


def live_of(readings: list[Reading]) -> Series:
    held = Series(10_000)
    for each in readings:
        held.put(each)
    return held


def plainly(number: int) -> tuple[float, float] | None:
    """What the baseline in force expects of an interval, and its spread."""
    local = dt.datetime.fromtimestamp(ms(number) / 1000, FEED.zone)
    slot = (local.hour * 3600 + local.minute * 60) // INTERVAL
    arrays = baseline(local.isoweekday())
    expected = float(arrays.normal[slot]) * arrays.growth
    return None if math.isnan(expected) else (expected, float(arrays.spread[local.hour]))


def flagged(value: int, beside: tuple[float, float] | None) -> bool:
    """The rule as declared, condition by condition."""
    if beside is None:
        return False
    expected, spread = beside
    return abs(100 * value / expected - 100) > 10 and abs(value - expected) > 3 * spread and max(value, expected) >= 20


# A reading and its corrections: when the broker took each, and its value.
TAKEN = st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 200)), min_size=1, max_size=3, unique_by=lambda each: each[0])
ALL = st.dictionaries(st.integers(0, LENGTH - 1), TAKEN, min_size=1)


INSTANTS = st.integers(0, 1001)


@given(readings=ALL, archived=INSTANTS, kept=INSTANTS, scored=INSTANTS, width=st.sampled_from([10, 25, 200]))
def test_wherever_the_seam_lies_the_series_is_that_of_all_readings(readings, archived, kept, scored, width):
    """The archive took all until `archived`. Memory has what the stream took from `kept` until `scored`; it may be behind."""
    kept = min(kept, archived)
    of_history, of_memory, newest = [], [], {}
    for number, versions in readings.items():
        if before := [each for each in versions if each[0] < archived]:
            of_history.append((ms(number), max(before)[1], max(before)[0]))
        held = [each for each in versions if kept <= each[0] < scored]
        of_memory += [Reading(ms(number), value, None, None, None, False, -1, taken) for taken, value in held]
        if before or held:
            newest[number] = max([*before, *held])[1]
    until = START + dt.timedelta(seconds=INTERVAL * LENGTH)
    shown = Window(START, until, until, live=True)
    live = live_of(of_memory).scored(ms(0), ms(LENGTH))
    found = series(FEED, "a", shown, width, archived_of(of_history), live, baseline, 4)
    cut = grid(FEED, START.timestamp(), until.timestamp(), width)
    assert cut.buckets <= width
    per = cut.per_bucket
    shift = (round(START.timestamp()) - cut.start) // INTERVAL
    for bucket in range(cut.buckets):
        numbers = range(bucket * per - shift, (bucket + 1) * per - shift)
        values = [newest[number] for number in numbers if number in newest]
        columns = {name: column[bucket] for name, column in found["buckets"].items()}
        assert columns["count"] == len(values)
        assert columns["anomalies"] == sum(flagged(newest[number], plainly(number)) for number in numbers if number in newest)
        if values:
            assert (columns["min"], columns["max"]) == (min(values), max(values))
            assert columns["mean"] == pytest.approx(sum(values) / len(values))
        else:
            assert all(math.isnan(columns[name]) for name in ("min", "max", "mean"))
        beside = [each[0] for number in numbers if (each := plainly(number)) is not None]
        assert columns["expected"] == (
            pytest.approx(sum(beside) / len(beside)) if beside else pytest.approx(math.nan, nan_ok=True)
        )
    last = max(newest, default=None)
    seen = found["newest"] and (found["newest"]["at"].timestamp() * 1000, found["newest"]["value"])
    assert seen == (None if last is None else (ms(last), newest[last]))


def test_a_correction_that_was_archived_after_the_stream_scored_the_reading_replaces_it():
    live = live_of([Reading(ms(0), 5, 10.0, 1.0, 50.0, True, 3, 100), Reading(ms(1), 6, 10.0, 1.0, 60.0, True, 3, 100)])
    once = merged(archived_of([(ms(0), 9, 200), (ms(1), 4, 50), (ms(2), 7, 0)]), live.scored(0, ms(9)))
    assert list(zip(once.at, once.value, once.baseline_version, strict=True)) == [(ms(0), 9, -1), (ms(1), 6, 3), (ms(2), 7, -1)]


def test_the_verdict_is_the_streams_where_it_scored_with_a_baseline_and_else_that_of_the_baseline_in_force():
    live = live_of([Reading(ms(1), 500, 500.0, 1.0, 100.0, False, 3), Reading(ms(2), 500, None, None, None, False, -1)])
    until = START + dt.timedelta(hours=1)
    shown = Window(START, until, until, live=True)
    found = series(FEED, "a", shown, 100, archived_of([(ms(0), 500, 0)]), live.scored(0, ms(9)), baseline, 4)
    assert found["buckets"]["anomalies"].tolist() == [1, 0, 1, 0, 0]
    assert found["newest"]["baseline_version"] == 4
    before = series(FEED, "a", shown, 100, archived_of([(ms(0), 500, 0)]), NOTHING, lambda day: None, None)
    assert (before["buckets"]["mean"][0], before["buckets"]["anomalies"].sum()) == (500, 0), "shown before there is a baseline"
    assert before["newest"]["baseline_version"] == -1


def test_readings_of_one_time_are_put_in_any_order_and_the_one_taken_later_stays():
    first, second = (Reading(ms(0), value, 10.0, 1.0, 100.0, False, 3, value) for value in (1, 2))
    for order in ([first, second], [second, first]):
        assert live_of(order).scored(0, ms(9)).value.tolist() == [2]
