"""A feed's declaration: every mistake is named, and names, calendar and dates follow from it."""

import datetime as dt
from pathlib import Path

import pytest
import yaml

from contracts.declarations import DeclarationError
from contracts.feeds import FEEDS, Feed, load_feed, load_feeds
from contracts.public_holidays import Holidays


def feed(**overrides) -> Feed:
    return Feed(**{"name": "calls", "description": "calls", "record": "service_use_record"} | overrides)


def declare(folder: Path, name: str, **overrides) -> None:
    declaration = {"name": name, "description": "calls", "record": "service_use_record"} | overrides
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(declaration))


def test_the_declared_feeds_load():
    feeds = load_feeds()
    assert set(feeds) == {file.stem for file in FEEDS.glob("*.yaml")}
    assert {"service-use", "world-cup", "road-traffic", "web-requests", "web-errors", "web-bytes"} <= set(feeds)


def test_every_mistake_of_every_file_is_listed_at_once(tmp_path):
    declare(tmp_path, "one", timezone="Mars/Olympus", interval_seconds=7)
    declare(tmp_path, "two", rule={"percent": None}, colour="red")
    declare(tmp_path, "three", record="no_such_record")
    (tmp_path / "four.yaml").write_text("name: [")
    declare(tmp_path, "five", holidays={"country": "XX"})
    declare(tmp_path, "six", record="sensor_reading", time="Sensor", value="Celcius", partitions=0, rule={"percent": -1})
    declare(tmp_path, "seven", record="sensor_reading", time="At", value="Celsius", interval=7)
    with pytest.raises(DeclarationError) as error:
        load_feeds(tmp_path)
    said = str(error.value).splitlines()
    for expected in (
        "five.yaml: holidays: no holiday calendar for country 'XX'",
        "four.yaml: not YAML",
        "one.yaml: timezone: no time zone 'Mars/Olympus'",
        "one.yaml: declaration: interval_seconds 7 does not divide a day",
        "three.yaml: record: no schemas/avro/no_such_record/v1.avsc",
        "two.yaml: rule: percent and spread are both off",
        "two.yaml: colour: no field is called so",
        "six.yaml: partitions: Input should be greater than or equal to 1",
        "six.yaml: rule.percent: Input should be greater than or equal to 0",
        "six.yaml: time: the field 'Sensor' of sensor_reading is string, must be timestamp-millis or timestamp-micros",
        "six.yaml: value: sensor_reading has no field 'Celcius': one of Sensor, At, Celsius",
        "seven.yaml: interval: no field is called so",
        "seven.yaml: value: the field 'Celsius' of sensor_reading is double, must be int or long",
    ):
        assert [line for line in said if line.startswith(expected)], f"{expected!r} is not among {said}"
    assert len(said) == 13, said


@pytest.mark.parametrize("mistake", [{"time": 5}, {"value": ["Value"]}, {"record": None}])
def test_a_wrong_field_is_named_once_and_for_nothing_else(tmp_path, mistake):
    declare(tmp_path, "one", **mistake)
    with pytest.raises(DeclarationError) as error:
        load_feeds(tmp_path)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"one.yaml: {next(iter(mistake))}: Input should be a valid string")


@pytest.mark.parametrize("name", ["../etc", "Calls", "a b", "x" * 64, "a;drop", ""])
def test_a_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(ValueError, match="name"):
        feed(name=name)


def test_an_unknown_feed_is_answered_with_the_known_ones():
    with pytest.raises(DeclarationError, match=r"no feed 'nope': one of .*road-traffic, service-use, .*web-bytes, .*world-cup"):
        load_feed("nope")


def test_spread_windows_must_divide_the_day():
    with pytest.raises(ValueError, match="spread_window_seconds 7000 is no multiple of interval_seconds 10 that divides a day"):
        feed(spread_window_seconds=7000)
    assert feed(spread_window_seconds=900).spread_windows == 96


def test_interval_must_divide_the_day():
    with pytest.raises(ValueError, match="interval_seconds 7 does not divide a day"):
        feed(interval_seconds=7, spread_window_seconds=7)


def test_a_public_holiday_is_a_sunday():
    us = feed(holidays={"country": "US"})
    thanksgiving, friday = dt.date(2026, 11, 26), dt.date(2026, 11, 27)
    assert (us.calendar.day_type(thanksgiving), us.calendar.day_type(friday)) == (7, 5)
    assert feed().calendar.day_type(thanksgiving) == 4


def test_baseline_dates_are_the_last_four_of_each_day_type():
    us = feed(holidays={"country": "US"})
    by_type = us.calendar.baseline_dates(dt.date(2026, 12, 1))  # a Tuesday; Thanksgiving was Thursday the 26th
    assert {day_type: len(found) for day_type, found in by_type.items()} == dict.fromkeys(range(1, 8), 4)
    assert by_type[4] == [dt.date(2026, 10, 29), dt.date(2026, 11, 5), dt.date(2026, 11, 12), dt.date(2026, 11, 19)]
    # Veterans Day (Wednesday the 11th) and Thanksgiving count among the Sundays, the two oldest of which they push out.
    assert by_type[7] == [dt.date(2026, 11, 15), dt.date(2026, 11, 22), dt.date(2026, 11, 26), dt.date(2026, 11, 29)]
    assert by_type[3] == [dt.date(2026, 10, 28), dt.date(2026, 11, 4), dt.date(2026, 11, 18), dt.date(2026, 11, 25)]
    assert max(date for dates in by_type.values() for date in dates) == dt.date(2026, 11, 30)
    assert all(us.calendar.day_type(date) == day_type for day_type, dates in by_type.items() for date in dates)


def test_the_same_holiday_of_the_year_before_is_the_one_of_its_name():
    us, thanksgiving = Holidays(country="US"), dt.date(2026, 11, 26)
    assert us.year_before(thanksgiving) == dt.date(2025, 11, 27)
    assert us.year_before(dt.date(2026, 1, 1)) == dt.date(2025, 1, 1)
    assert us.year_before(thanksgiving + dt.timedelta(days=1)) is None
