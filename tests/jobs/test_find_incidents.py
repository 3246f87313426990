"""The nightly walk: the events of one walk through all of history, whether date by date, after late readings or a kill."""

import datetime as dt

import numpy as np
import pytest

from contracts.incident_queries import settings_of
from contracts.incidents import IncidentGroup
from jobs import find_incidents
from jobs.backends import detector_states, tables
from jobs.backends.history_table import merge
from jobs.errors import JobError
from jobs.transforms import incident_rows
from jobs.transforms.incident_groups import GroupRule
from jobs.transforms.incident_walk import Settings, followed_through, readings_of
from tests.jobs.readings import arrived
from tests.transforms.half_hours import FEED, HALF_HOUR, MANY, events_of, half_hours

MONDAY = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
EPOCH = int(MONDAY.timestamp() * 1000)
ROWS = half_hours()


@pytest.fixture
def lake(lake_platform, monkeypatch):
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: FEED)
    return lake_platform


def arrive(spark, platform, rows) -> None:
    """As archiving brings them in."""
    half_hour = dt.timedelta(milliseconds=HALF_HOUR)
    came = [(name, MONDAY + number * half_hour, int(value), 0, number) for name, number, value in rows]
    merge(spark, tables.history(platform, FEED), arrived(spark, FEED, came), {"offsets": {}})


def night(run_job, platform, day: int, *more) -> None:
    as_of = (MONDAY + dt.timedelta(days=day)).date()
    run_job(find_incidents, platform, "--feed", FEED.name, "--run-id", f"night-{day}", "--as-of", str(as_of), *more)


def events(platform) -> list[dict]:
    table = tables.incidents(platform, FEED)
    rows = table.dataset(table.version()).to_table().sort_by([("At", "ascending"), ("Id", "ascending")]).to_pylist()
    return [{name: row[name] for name in incident_rows.COLUMNS} for row in rows]


def wanted(rows=ROWS, group: GroupRule | None = None) -> list[dict]:
    return sorted(events_of(rows, EPOCH, group), key=lambda each: (each["At"], each["Id"]))


def walked_dates(platform, run: str) -> list[str]:
    return sorted({each.note["walked"] for each in tables.detector(platform, FEED).commits() if each.note.get("run_id") == run})


@pytest.mark.full
def test_nights_one_by_one_come_to_the_events_of_one_walk(spark, run_job, lake):
    arrive(spark, lake, [row for row in ROWS if row[1] < 12 * 48])
    night(run_job, lake, 12)
    assert len(walked_dates(lake, "night-12")) == 12
    for day in range(12, MANY // 48):
        arrive(spark, lake, [row for row in ROWS if row[1] // 48 == day])
        night(run_job, lake, day + 1, "--days", str(20 - day))  # what is further back is taken as it is
        assert walked_dates(lake, f"night-{day + 1}") == [str((MONDAY + dt.timedelta(days=day)).date())]
    assert events(lake) == wanted()
    night(run_job, lake, MANY // 48, "--days", "3")
    assert events(lake) == wanted()


@pytest.mark.full
def test_a_history_that_ended_long_ago_is_walked_through_to_its_end(spark, run_job, lake):
    arrive(spark, lake, ROWS)
    night(run_job, lake, 1000)
    assert events(lake) == wanted()
    night(run_job, lake, 1001)
    assert walked_dates(lake, "night-1001") == []


def test_a_walk_has_the_days_that_end_with_the_last_date():
    first, gap, last = dt.date(2026, 1, 1), dt.date(2026, 2, 3), dt.date(2026, 3, 31)
    assert find_incidents._last(56, [first, gap, last]) == [last], "56 days with the last one begin on 4 February"
    assert find_incidents._last(57, [first, gap, last]) == [gap, last]
    assert find_incidents._last(56, []) == []


@pytest.mark.full
def test_late_readings_and_corrections_leave_nothing_behind(spark, run_job, lake):
    late = [row for row in ROWS if row[1] in (650, 651, 652)]
    wrong = [(name, number, value * 4) for name, number, value in ROWS if number in range(560, 566)]
    arrive(spark, lake, [row for row in ROWS if row not in late and row[1] not in range(560, 566)] + wrong)
    night(run_job, lake, 16)
    assert events(lake) != wanted()
    half_hour = dt.timedelta(milliseconds=HALF_HOUR)
    right = [row for row in ROWS if row[1] in range(560, 566)]
    came = [(name, MONDAY + number * half_hour, int(value), 0, 10_000 + number) for name, number, value in late + right]
    rows = arrived(spark, FEED, came)
    merge(
        spark,
        tables.history(lake, FEED),
        rows.withColumn("KafkaTimestamp", rows.KafkaTimestamp + dt.timedelta(days=60)),
        {"offsets": {}},
    )
    night(run_job, lake, 17)
    assert events(lake) == wanted()
    first = str((MONDAY + dt.timedelta(days=560 // 48)).date())
    assert walked_dates(lake, "night-17")[0] == first, "earlier dates stay as they are"


@pytest.mark.full
def test_a_run_that_dies_between_its_tables_is_made_good_by_the_next(spark, run_job, lake, monkeypatch):
    arrive(spark, lake, ROWS)
    write, written = detector_states.write, []

    def dies(table, date, known, note):
        if len(written) == 13:
            raise RuntimeError("killed")
        written.append(date)
        write(table, date, known, note)

    monkeypatch.setattr(detector_states, "write", dies)
    with pytest.raises(RuntimeError):
        night(run_job, lake, 16)
    monkeypatch.setattr(detector_states, "write", write)
    night(run_job, lake, 17)
    assert events(lake) == wanted()
    assert len(walked_dates(lake, "night-17")) == 3


def test_a_stream_that_takes_up_the_state_of_midnight_goes_on_with_the_same_events(spark, run_job, lake, monkeypatch):
    pairs = FEED.model_copy(
        update={"incidents": FEED.incidents.model_copy(update={"group": IncidentGroup(services=2, within=2)})}
    )
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: pairs)
    night_of = [(name, number + 43, value) for name, number, value in ROWS]  # both services' surge is at midnight
    arrive(spark, lake, [row for row in night_of if row[1] < 13 * 48])
    night(run_job, lake, 13)
    known = detector_states.read(tables.detector(lake, FEED), (MONDAY + dt.timedelta(days=13)).date()).known
    rest = [row for row in night_of if row[1] >= 13 * 48]
    names = sorted({name for name, _, _ in rest})
    at = EPOCH + np.array([number for _, number, _ in rest]) * HALF_HOUR
    settings = Settings.of(settings_of(pairs))
    values = np.array([value for _, _, value in rest])
    readings = readings_of(settings, names, [name for name, _, _ in rest], at, at, values)
    _, found = followed_through(settings, known, names, readings, int(at.max()))
    midnight, pair = EPOCH + 13 * 48 * HALF_HOUR, GroupRule(2, 2 * HALF_HOUR)
    every = wanted(night_of, pair)
    assert sorted(found, key=lambda each: (each["At"], each["Id"])) == [each for each in every if each["At"] >= midnight]
    assert [(each["State"], each["At"] >= midnight) for each in every if each["Kind"] == "group"] == [
        ("opened", True),
        ("closed", True),
    ]
    assert events(lake) == [each for each in every if each["At"] < midnight]


@pytest.mark.full
def test_another_rule_begins_again(spark, run_job, lake, monkeypatch):
    arrive(spark, lake, ROWS)
    night(run_job, lake, 16)
    other = FEED.model_copy(update={"incidents": FEED.incidents.model_copy(update={"silence": None})})
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: other)
    night(run_job, lake, 17)
    assert len(walked_dates(lake, "night-17")) == 16
    assert {each["Kind"] for each in events(lake)} == {"deviation"}


def test_without_history_there_is_nothing_to_walk_through(run_job, lake):
    with pytest.raises(JobError, match="history/half_hours does not exist; archive the feed first"):
        night(run_job, lake, 16)
