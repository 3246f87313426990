"""Special days and maintenance windows as they are declared: every mistake is named; a window is what the local clock shows."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.calendar_entries import Entry, Window, load_calendar, windows
from contracts.declarations import DeclarationError
from contracts.feeds import load_feed, load_feeds

NEW_YORK = ZoneInfo("America/New_York")
SPRING, AUTUMN = dt.date(2026, 3, 8), dt.date(2026, 11, 1)  # clocks go forward and back at two o'clock
SALE = dt.date(2026, 11, 27)
# Days on which clocks change: by half an hour, at midnight in both directions, over a whole date, and two without a change.
CHANGES = [
    ("America/New_York", SPRING),
    ("America/New_York", AUTUMN),
    ("Australia/Lord_Howe", dt.date(2026, 4, 5)),
    ("Australia/Lord_Howe", dt.date(2026, 10, 4)),
    ("America/Havana", dt.date(2026, 3, 8)),
    ("America/Havana", dt.date(2026, 11, 1)),
    ("America/Sao_Paulo", dt.date(2018, 11, 4)),
    ("America/Sao_Paulo", dt.date(2019, 2, 16)),
    ("Pacific/Apia", dt.date(2011, 12, 30)),
    ("Asia/Kolkata", dt.date(2026, 6, 1)),
    ("UTC", dt.date(2026, 6, 1)),
]


def entry(**fields) -> Entry:
    return Entry.model_validate({"name": "move", "description": "move", "feeds": ["calls"], "dates": [SALE]} | fields)


def window(begin: str, end: str, day: dt.date = SALE, zone: dt.tzinfo = NEW_YORK, **fields) -> list[Window]:
    return windows([entry(dates=[day], times={"begin": begin, "end": end}, **fields)], zone)


def spans(found: list[Window]) -> list[tuple[str, str]]:
    return [(each.start.strftime("%d %H:%M"), each.end.strftime("%d %H:%M")) for each in found]


def declare(folder: Path, name: str, text: str | None = None, **fields) -> None:
    folder.mkdir(exist_ok=True)
    declared = {"name": name, "description": name, "feeds": ["calls"], "dates": [SALE]} | fields
    (folder / f"{name}.yaml").write_text(text or yaml.safe_dump(declared))


def test_every_mistake_of_every_file_is_listed_at_once_with_those_of_the_feeds(tmp_path):
    calendar, feeds = tmp_path / "calendar", tmp_path / "feeds"
    declare(calendar, "both", like="sunday", times={"begin": "02:00", "end": "04:00"})
    declare(calendar, "day-of-some", services="shop-.*")
    declare(calendar, "late", times={"begin": "22:00", "end": "02:00"})
    declare(calendar, "no-date", text="name: no-date\ndescription: d\nfeeds: [calls]\ndates: [2026-02-30]\n")
    declare(
        calendar,
        "noon",
        text="name: noon\ndescription: d\nfeeds: [calls]\ndates: [2026-11-27]\ntimes: {begin: 12:00, end: 25:00}\n",
    )
    declare(
        calendar, "odd", dates=["soon", {"first": SALE, "last": SALE - dt.timedelta(days=1)}], feeds=["Not A Name"], color="red"
    )
    declare(calendar, "past", dates=[dt.date(1969, 12, 31)], like="friday", times=None)
    declare(calendar, "pattern", times={"begin": "02:00", "end": "04:00"}, services="shop-(")
    declare(feeds, "calls", interval_seconds=7)
    with pytest.raises(DeclarationError) as error:
        load_feeds(feeds)
    said = str(error.value).splitlines()
    for expected in (
        "both.yaml: declaration: like is for special days, and times make maintenance windows: leave out one of them",
        "day-of-some.yaml: declaration: services is for maintenance windows",
        "late.yaml: times: end 02:00 is not after begin 22:00; past midnight, declare the next date's part too",
        "no-date.yaml: not YAML: day is out of range for month",
        "noon.yaml: times.begin: must be a time in quotes, such as '02:00'",
        "noon.yaml: times.end: must be a time in quotes",
        "odd.yaml: dates.0: must be a date such as 2026-11-27, or a range",
        "odd.yaml: dates.1: 2026-11-27 to 2026-11-26 is no range",
        "odd.yaml: feeds.0: String should match pattern",
        "odd.yaml: color: no field is called so",
        "past.yaml: dates.0.first: 1969-12-31 is not from 1970-01-01 to 2199-12-31",
        "past.yaml: like: Input should be 'sunday', 'weekday' or 'itself'",
        "pattern.yaml: services: not a regular expression",
        "calls.yaml: record: Field required",
    ):
        assert [line for line in said if line.startswith(expected)], f"{expected!r} is not among {said}"


def test_a_feed_that_is_not_there_and_a_day_that_is_declared_twice_are_named(tmp_path):
    declare(tmp_path, "one")
    declare(tmp_path, "two", dates=[{"first": SALE - dt.timedelta(days=3), "last": SALE}], feeds=["calls", "cals"])
    declare(tmp_path, "window", times={"begin": "02:00", "end": "04:00"})
    with pytest.raises(DeclarationError) as error:
        load_calendar(tmp_path, {"calls": None})
    assert str(error.value).splitlines() == [
        "two.yaml: dates: 2026-11-27 is a special day of calls by one.yaml already",
        "two.yaml: feeds: no feed 'cals': one of calls",
    ]


def test_without_a_folder_or_a_file_there_are_none(tmp_path):
    assert load_calendar(tmp_path / "none") == load_calendar(tmp_path) == {}


def test_a_feed_has_the_entries_that_name_it(tmp_path):
    feeds, calendar = tmp_path / "feeds", tmp_path / "calendar"
    for name in ("calls", "visits"):
        declare(feeds, name, text=f"name: {name}\ndescription: d\nrecord: service_use_record\n")
    declare(calendar, "sale", feeds=["calls", "visits"])
    declare(calendar, "move", times={"begin": "02:00", "end": "04:00"})
    declared = load_feeds(feeds)
    assert {name: len(feed.calendar.windows()) for name, feed in declared.items()} == {"calls": 1, "visits": 0}
    assert {name: list(feed.calendar.special_days(SALE, SALE)) for name, feed in declared.items()} == {
        "calls": [SALE],
        "visits": [SALE],
    }
    assert declared["calls"].model_copy(update={"partitions": 3}).calendar.windows(), "a changed copy keeps its calendar"


def test_the_declared_calendar_loads():
    assert load_calendar(feeds=load_feeds()), "schemas/calendar has an example"
    assert dt.date(2017, 11, 24) in load_feed("road-traffic").calendar.special_days(dt.date(2017, 1, 1), dt.date(2017, 12, 31))


def test_a_range_is_all_of_its_dates_and_each_date_counts_once():
    days = entry(dates=[{"first": SALE, "last": SALE + dt.timedelta(days=3)}, SALE]).days
    assert days == [SALE + dt.timedelta(days=day) for day in range(4)]
    with pytest.raises(ValueError, match="last comes at most 365 days after first"):
        entry(dates=[{"first": SALE, "last": SALE + dt.timedelta(days=366)}])


def test_the_year_before_is_the_date_nearest_to_the_same_weekday():
    sales = [dt.date(2024, 11, 29), dt.date(2025, 11, 27), dt.date(2025, 11, 28), dt.date(2025, 12, 1), SALE]
    assert entry(dates=sales).year_before(SALE) == dt.date(2025, 11, 28)
    assert entry(dates=[dt.date(2025, 6, 1), SALE]).year_before(SALE) is None


def test_a_window_is_of_the_local_clock():
    assert spans(window("02:00", "04:00")) == [("27 07:00", "27 09:00")]
    assert spans(window("02:00", "04:00", dt.date(2026, 7, 1))) == [("01 06:00", "01 08:00")]
    assert spans(window("22:30", "24:00")) == [("28 03:30", "28 05:00")]
    assert window("02:00", "04:00")[0].services == ".*"
    assert window("02:00", "04:00", services="shop-.*")[0].services == "shop-.*"


def test_a_time_that_clocks_skip_is_the_instant_at_which_they_do():
    """New York, 8 March 2026: at 07:00 UTC the clocks show 03:00 after 01:59."""
    assert spans(window("02:30", "04:00", SPRING)) == [("08 07:00", "08 08:00")]
    assert spans(window("01:30", "02:30", SPRING)) == [("08 06:30", "08 07:00")]
    assert window("02:15", "02:45", SPRING) == []
    assert spans(window("00:00", "24:00", SPRING)) == [("08 05:00", "09 04:00")]


def test_where_clocks_go_back_both_hours_are_in_the_window():
    """New York, 1 November 2026: 01:30 comes at 05:30 and again at 06:30 UTC."""
    assert spans(window("01:30", "02:30", AUTUMN)) == [("01 05:30", "01 07:30")]
    assert spans(window("00:30", "01:30", AUTUMN)) == [("01 04:30", "01 06:30")]
    assert spans(window("00:00", "24:00", AUTUMN)) == [("01 04:00", "02 05:00")]


@settings(max_examples=8 * settings.default.max_examples)  # of these days, few quarters are special
@given(st.sampled_from(CHANGES), st.integers(0, 95), st.integers(1, 96))
def test_a_window_is_from_the_first_to_the_last_quarter_of_an_hour_that_the_clock_shows(change, begin, length):
    """Clocks change at such a quarter only. From the first that is not before the begin, to the last that is the end, or to the
    end of the last that is before it."""
    zone, day = ZoneInfo(change[0]), change[1]
    end = min(begin + length, 96)
    at = dt.datetime.combine(day, dt.time(), dt.UTC)
    quarters = [at + dt.timedelta(minutes=15 * number) for number in range(-96, 192)]
    local = [(each, each.astimezone(zone)) for each in quarters]
    shown = [(each, (clock.hour * 60 + clock.minute) // 15) for each, clock in local if clock.date() == day]
    first = [each for each, number in shown if number >= begin]
    ends = [each for each, number in shown if number == end]
    ends = ends or [each + dt.timedelta(minutes=15) for each, number in shown if number < end]
    expected = [(first[0], ends[-1])] if first and ends and first[0] < ends[-1] else []
    found = window(_time(begin), _time(end), day, zone)
    assert [(each.start, each.end) for each in found] == expected


def _time(quarter: int) -> str:
    return f"{quarter // 4:02}:{quarter % 4 * 15:02}"
