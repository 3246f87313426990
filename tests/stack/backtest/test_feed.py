"""The walk through a feed's own history: the incidents of the night, one line per reading, and what a rule would open."""

import csv
import datetime as dt
import shutil
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from contracts.calendar_entries import Entry
from contracts.incident_queries import of_incidents, settings_of
from contracts.incidents import Incidents
from jobs.find_incidents import walked
from jobs.transforms.incident_walk import Known, Settings
from stack.backtest.feed import FeedWalk, span_of
from stack.backtest.history import History
from stack.backtest.suggestion import suggestion
from stack.errors import StackError
from tests.stack.backtest.histories import Row, excluded, feed_of, history, said
from tests.transforms.detector.walks import days

FEED = feed_of(incidents={"score": 1.0, "overrides": [{"services": "n.*", "rule": {"persistence": "2 of 3"}}]})
FIRST = dt.date(2026, 10, 12)  # daylight saving ends on 1 November
MIDNIGHT = round(dt.datetime.combine(FIRST, dt.time(), FEED.zone).timestamp() * 1000)
DAYS, HOUR = 28, dt.timedelta(hours=1)


def rows_of_weeks() -> list[Row]:
    """By service: one with a surge, one that is new on the tenth day, with an outage."""
    values = days(DAYS, services=2).astype(int)
    values[48 * 24 + 20 : 48 * 24 + 26, 0] *= 2
    values[48 * 26 + 30 : 48 * 26 + 40, 1] = 0
    at = MIDNIGHT + np.arange(len(values)) * 1_800_000
    rows = [("new, web", int(when), int(value)) for when, value in zip(at[480:], values[480:, 1], strict=True)]
    return rows + [("www", int(when), int(value)) for when, value in zip(at, values[:, 0], strict=True)]


ROWS = rows_of_weeks()


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    history(lake, FEED, ROWS[: len(ROWS) // 2])
    history(lake, FEED, ROWS[len(ROWS) // 2 :])
    return lake


def walk(
    lake: Path, path: Path, first=None, last=None, warmup=7, incidents: Incidents = FEED.incidents, per_week=None, feed=FEED
) -> FeedWalk:
    found = History(str(lake), feed)
    settings = Settings.of(settings_of(feed) | of_incidents(incidents))
    made = FeedWalk(found, span_of(found, first, last, warmup), incidents, settings, per_week)
    made.write(path, lambda *_: None)
    return made


def night(lake: Path, feed=FEED, ranges=()) -> list[dict]:
    """The events that the night finds in all of the history. ranges: that people excluded."""
    known, events = Known(), []
    table = History(str(lake), FEED)._dataset.to_table()
    for date in sorted(set(table.column("Date").to_pylist())):
        rows = table.filter(pc.equal(table.column("Date"), date)).select(["ServiceName", "Timestamp", "Slot", "Value"])
        known, found = walked(Settings.of(settings_of(feed)), known, date, rows, list(ranges))
        events += found
    return events


def test_the_incidents_are_those_of_the_night(lake, tmp_path):
    made = walk(lake, tmp_path / "out.csv", warmup=0)
    opened = [each for each in night(lake) if each["State"] == "opened"]
    assert [(each.id, each.opened) for each in made.reported] == [(each["Id"], each["At"]) for each in opened]
    assert {each["ServiceName"] for each in opened} == {"www", "new, web"}
    lines = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert {each["incident_id"] for each in lines} - {""} == {each["Id"] for each in opened}


@pytest.mark.full
def test_maintenance_windows_and_special_days_are_those_of_the_night(lake, tmp_path):
    move = {"times": {"begin": "09:00", "end": "14:00"}, "dates": [FIRST + dt.timedelta(days=24)], "services": "w.*"}
    entries = [{"dates": [FIRST + dt.timedelta(days=15)], "like": "sunday"}, move]
    declared = [Entry(**{"name": "e", "description": "e", "feeds": [FEED.name]} | each) for each in entries]
    feed = FEED.with_entries(declared)
    made = walk(lake, tmp_path / "out.csv", warmup=0, feed=feed)
    opened = [each for each in night(lake, feed) if each["State"] == "opened"]
    assert [(each.id, each.opened) for each in made.reported] == [(each["Id"], each["At"]) for each in opened]
    assert "www@2026-11-05T15:00:00Z" in {each["Id"] for each in night(lake)}
    assert "www@2026-11-05T15:00:00Z" not in {each["Id"] for each in opened}
    assert made.rows == len(ROWS)


def opened_by_both(lake: Path, path: Path, feed=FEED, ranges=()) -> list[str]:
    """The incidents of the backtest, which are those of the night."""
    made = walk(lake, path, warmup=0, feed=feed, incidents=feed.incidents)
    opened = [each for each in night(lake, feed, ranges) if each["State"] == "opened"]
    assert [(each.id, each.opened) for each in made.reported] == [(each["Id"], each["At"]) for each in opened]
    return [each.id for each in made.reported]


SURGE = "www@2026-11-05T15:00:00Z"


@pytest.mark.full
def test_what_people_excluded_is_left_out_as_at_night(lake, tmp_path):
    shutil.copytree(lake, tmp_path / "lake")
    at = dt.datetime(2026, 11, 5, 15, tzinfo=dt.UTC)
    drill, taken_back = (said(number, "exclude", service="www", start=at, end=at + HOUR * 4) for number in (1, 2))
    excluded(tmp_path / "lake", FEED, [drill, taken_back, said(3, "take_back", takes_back=2)])
    ranges = [("www", *(round(each.timestamp() * 1000) for each in (at, at + HOUR * 4)))]
    found = opened_by_both(tmp_path / "lake", tmp_path / "out.csv", ranges=ranges)
    assert SURGE not in found
    assert SURGE in opened_by_both(lake, tmp_path / "out.csv")


def test_a_retired_service_has_no_incidents(lake, tmp_path):
    feed = feed_of(incidents=FEED.incidents.model_dump() | {"retired": ["w.*"]})
    found = opened_by_both(lake, tmp_path / "out.csv", feed)
    assert {each.split("@")[0] for each in found} == {"new, web"}
    assert len((tmp_path / "out.csv").read_text().splitlines()) == len(ROWS) + 1, "its readings are written"


@pytest.mark.full
def test_a_service_that_was_forgotten_is_new(tmp_path):
    first, last = (MIDNIGHT + day * 86_400_000 for day in (20, 24))
    before = [(name, at, value) for name, at, value in ROWS if not (name == "www" and first <= at < last)]
    rows = [(name, at, value * 3 if name == "www" and at >= last - 86_400_000 * 5 else value) for name, at, value in before]
    history(tmp_path / "lake", FEED, rows)
    found = {}
    for days_ in (3, 56):
        feed = feed_of(incidents=FEED.incidents.model_dump() | {"forget_days": days_})
        found[days_] = opened_by_both(tmp_path / "lake", tmp_path / "out.csv", feed)
    assert found[3] != found[56], "a service that is new has learned nothing"


def test_there_is_one_line_for_each_reading_by_time_and_service(lake, tmp_path):
    made = walk(lake, tmp_path / "out.csv", warmup=0)
    lines = list(csv.DictReader((tmp_path / "out.csv").open()))
    times = [dt.datetime.fromisoformat(each["timestamp"]).timestamp() * 1000 for each in lines]
    cells = [(each["service"], int(each["value"])) for each in lines]
    assert [(at, *rest) for at, rest in zip(times, cells, strict=True)] == sorted((at, name, value) for name, at, value in ROWS)
    assert lines[0]["timestamp"] == "2026-10-12T05:00:00Z"
    assert made.rows == len(ROWS)


@pytest.mark.full
def test_the_warm_up_comes_from_before_and_is_not_written(lake, tmp_path):
    whole, part = tmp_path / "whole.csv", tmp_path / "part.csv"
    walk(lake, whole)
    first, last = FIRST + dt.timedelta(days=20), FIRST + dt.timedelta(days=25)
    made = walk(lake, part, first, last, warmup=60)
    wanted = [line for line in whole.read_text().splitlines()[1:] if "2026-11-01T05:00" <= line < "2026-11-07T06:00"]
    assert part.read_text().splitlines()[1:] == wanted
    assert made.rows == len(wanted) == 6 * 48 * 2 + 4  # an hour comes twice
    [surge] = [each for each in made.reported if each.id == "www@2026-11-05T15:00:00Z"]
    assert surge.service == made.names.index("www")
    short = walk(lake, tmp_path / "short.csv", first, last, warmup=1)
    assert (short.rows, len(short._span.dates)) == (made.rows, 7)


@pytest.mark.full
@pytest.mark.parametrize("wanted", [0.5, 1])
def test_the_suggested_rule_run_again_keeps_to_the_load(lake, tmp_path, wanted):
    low = FEED.incidents.with_score(0.5)
    made = walk(lake, tmp_path / "out.csv", incidents=low, per_week=wanted)
    suggested, lines = suggestion(made.load, low, made.names, made.reported)
    again = walk(lake, tmp_path / "out.csv", incidents=suggested)
    assert suggested.overrides == FEED.incidents.overrides
    assert len(again.reported) / again._span.weeks <= wanted
    assert lines[0].startswith(f"# {len(again.reported) / again._span.weeks:.1f} incidents a week, {wanted} wanted; ")
    lasts = {(each.service, each.last) for each in again.reported}
    missed = [each for each in made.reported if (each.service, each.last) not in lasts]
    assert lines[0].endswith(f"; {len(missed)} of {len(made.reported)} incidents of this run missed")
    assert missed


def test_without_a_first_date_the_warm_up_is_at_most_half(lake):
    found = History(str(lake), FEED)
    assert span_of(found, None, None, 7).counted == FIRST + dt.timedelta(days=7)
    assert span_of(found, None, None, 60).counted == FIRST + dt.timedelta(days=14)
    assert span_of(found, None, None, 60).written == FIRST


def test_what_is_not_there_is_refused_with_what_to_do(lake, tmp_path):
    found = History(str(lake), FEED)
    before, after = FIRST - dt.timedelta(days=1), FIRST + dt.timedelta(days=DAYS + 1)
    for first, last in ((before, None), (None, after)):
        with pytest.raises(StackError, match="the history of half-hours has dates from 2026-10-12 to 2026-11-08"):
            span_of(found, first, last, 7)
    with pytest.raises(StackError, match="--to 2026-10-12 is before 2026-10-13"):
        span_of(found, FIRST + dt.timedelta(days=1), FIRST, 7)
    with pytest.raises(StackError, match=r"history/half_hours does not exist in .*"):
        History(str(tmp_path), FEED)
    history(tmp_path, FEED, ROWS[:5], timezone="UTC")
    with pytest.raises(StackError, match="another interval or time zone: timezone was UTC and is America/Chicago"):
        History(str(tmp_path), FEED)
