"""The nightly walk and what people exclude: as if the readings had never been there, and as if nobody had excluded them."""

import datetime as dt

import pyarrow as pa
import pytest

from contracts.calendar_entries import Entry
from contracts.exclusions import Statement
from contracts.incident_queries import settings_of
from jobs import find_incidents
from jobs.backends import exclusions, tables
from jobs.backends.history_table import merge
from jobs.transforms.incident_walk import Known, Settings
from tests.jobs.conftest import platform_in
from tests.jobs.readings import arrived
from tests.transforms.half_hours import FEED, HALF_HOUR, MANY, events_of, half_hours

MONDAY = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
EPOCH = int(MONDAY.timestamp() * 1000)
STEP = dt.timedelta(milliseconds=HALF_HOUR)
ROWS = half_hours()
SURGE = ("a", 700, 704)  # service, first half hour, end (excluded)
OUTAGE = ("b", 648, 656)


def within(row, *ranges) -> bool:
    return any(service in (None, row[0]) and first <= row[1] < end for service, first, end in ranges)


def walk(rows, *ranges) -> list[dict]:
    """The events of a walk, date by date, without these ranges of half hours."""
    known, found = Known(), []
    for day in range(MANY // 48):
        of_day = [row for row in rows if row[1] // 48 == day]
        names, numbers, values = (list(column) for column in zip(*of_day, strict=True))
        times = pa.array([EPOCH + number * HALF_HOUR for number in numbers], pa.timestamp("ms", "UTC"))
        columns = {"ServiceName": names, "Timestamp": times, "Slot": [number % 48 for number in numbers], "Value": values}
        cut = [(service, EPOCH + first * HALF_HOUR, EPOCH + end * HALF_HOUR) for service, first, end in ranges]
        date = (MONDAY + dt.timedelta(days=day)).date()
        known, events = find_incidents.walked(Settings.of(settings_of(FEED)), known, date, pa.table(columns), cut)
        found += events
    return sorted(found, key=lambda each: (each["At"], each["Id"]))


def wanted(rows, kind: str) -> list[dict]:
    events = sorted(events_of(rows, EPOCH), key=lambda each: (each["At"], each["Id"]))
    return [each for each in events if each["Kind"] == kind]


@pytest.mark.parametrize(
    "ranges",
    [[], [SURGE], [OUTAGE, SURGE], [(None, 640, 720)], [("a", 0, MANY)], [("nobody", 0, MANY)]],
    ids=["nothing", "a surge", "two incidents", "a day of all services", "all of a service", "a service without readings"],
)
def test_the_detector_walks_as_if_there_were_no_excluded_readings_and_silences_are_those_of_all(ranges):
    found = walk(ROWS, *ranges)
    kept = [row for row in ROWS if not within(row, *ranges)]
    assert [each for each in found if each["Kind"] == "deviation"] == wanted(kept, "deviation")
    assert [each for each in found if each["Kind"] == "silence"] == wanted(ROWS, "silence")


def test_what_is_excluded_is_no_incident():
    onsets = {(each["ServiceName"], each["Start"]) for each in walk(ROWS) if each["Kind"] == "deviation"}
    assert {("a", EPOCH + 700 * HALF_HOUR), ("b", EPOCH + 650 * HALF_HOUR)} <= onsets
    left = {(each["ServiceName"], each["Start"]) for each in walk(ROWS, SURGE) if each["Kind"] == "deviation"}
    assert ("a", EPOCH + 700 * HALF_HOUR) not in left
    assert ("b", EPOCH + 650 * HALF_HOUR) in left


@pytest.fixture(scope="module")
def archived(spark, prebuilt):
    """A lake with history alone."""

    def fill(platform) -> None:
        came = [(name, MONDAY + number * STEP, int(value), 0, number) for name, number, value in ROWS]
        merge(spark, tables.history(platform, FEED), arrived(spark, FEED, came), {"offsets": {}})

    return prebuilt(fill)


@pytest.fixture
def lakes(tmp_path, prebuilt, archived, monkeypatch):
    """Two platforms with the same history."""
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: FEED)
    folders = [prebuilt(lambda platform: None, archived).parent for _ in range(2)]
    return [platform_in(folder) for folder in folders]


@pytest.fixture
def night(run_job):
    """night(platform, run): the dates that it walked through."""

    def run(platform, run_id: str) -> list[str]:
        as_of = (MONDAY + dt.timedelta(days=MANY // 48)).date()
        run_job(find_incidents, platform, f"--feed={FEED.name}", f"--run-id={run_id}", f"--as-of={as_of}")
        commits = tables.detector(platform, FEED).commits()
        return sorted({each.note["walked"] for each in commits if each.note.get("run_id") == run_id})

    return run


def say(platform, number: int, kind: str, ranges=(None, None, None), takes_back: int | None = None) -> None:
    service, first, end = ranges
    span = (None, None) if first is None else (MONDAY + first * STEP, MONDAY + end * STEP)
    table = exclusions.table_of(platform, FEED)
    said = Statement(number, kind, service, *span, takes_back, None, "mara", "a drill", MONDAY, f"r{number}")
    exclusions.add(table, said, table.version())


def contents(platform) -> list[list[dict]]:
    """All rows of incidents/<feed> and of detector/<feed>, states and digests included."""
    found = []
    for table in (tables.incidents(platform, FEED), tables.detector(platform, FEED)):
        rows = table.dataset(table.version()).to_table().to_pylist()
        found.append(sorted(rows, key=lambda row: (row["Date"], row.get("At", 0), row.get("Id") or row["ServiceName"] or "")))
    return found


def date_of(number: int) -> str:
    return str((MONDAY + number * STEP).date())


@pytest.mark.full
def test_an_exclusion_walks_again_from_its_first_date_and_taken_back_leaves_nothing_behind(lakes, night):
    late, early = lakes
    assert len(night(late, "n1")) == MANY // 48
    never = contents(late)
    say(late, 1, "exclude", SURGE)
    say(late, 2, "exclude", OUTAGE)
    assert night(late, "n2")[0] == date_of(648), "earlier dates stay as they are"
    say(early, 1, "exclude", OUTAGE)
    say(early, 2, "exclude", SURGE)
    assert len(night(early, "n1")) == MANY // 48
    assert contents(late) == contents(early) != never
    say(late, 3, "take_back", takes_back=1)
    assert night(late, "n3")[0] == date_of(700)
    say(late, 4, "take_back", takes_back=2)
    assert night(late, "n4")[0] == date_of(648)
    assert contents(late) == never


@pytest.mark.full
def test_what_excludes_no_other_reading_walks_nothing_again(lakes, night):
    platform = lakes[0]
    say(platform, 1, "exclude", ("a", 640, 730))
    night(platform, "n1")
    say(platform, 2, "false", ("b", 650, 655))
    say(platform, 3, "exclude", ("a", 640, 730))
    say(platform, 4, "take_back", takes_back=1)
    assert night(platform, "n2") == []
    say(platform, 5, "exclude", ("a", 640, 740))  # goes on into the next date, which alone is touched
    assert night(platform, "n3") == [date_of(720)]


@pytest.fixture
def declare(monkeypatch):
    """declare(windows, ...): the feed of the jobs has these, each as (pattern, first half hour, end) within one date."""

    def declared(*windows) -> None:
        entries = []
        for number, (pattern, first, end) in enumerate(windows):
            begin, until = (f"{each % 48 // 2:02}:{each % 2 * 30:02}" for each in (first, end))
            times = {"begin": begin, "end": until}
            day = (MONDAY + first * STEP).date()
            name = f"w{number}"
            entries.append(Entry(name=name, description=name, feeds=[FEED.name], dates=[day], times=times, services=pattern))
        monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: FEED.with_entries(entries))

    return declared


@pytest.mark.full
def test_a_maintenance_window_walks_again_from_its_date_as_an_exclusion_does(lakes, night, declare):
    windowed, excluded = lakes
    night(windowed, "n1")
    never = contents(windowed)
    declare(("a.*", *SURGE[1:]), ("nobody", 100, 110))
    assert night(windowed, "n2")[0] == date_of(100), "its own date is walked again, as it is not known whose readings it has"
    say(excluded, 1, "exclude", SURGE)
    declare()
    night(excluded, "n1")
    assert [each["Id"] for each in contents(windowed)[0]] == [each["Id"] for each in contents(excluded)[0]]
    assert contents(windowed)[0] == contents(excluded)[0] != never[0]
    assert night(windowed, "n3")[0] == date_of(100)
    assert contents(windowed) == never
