"""The midnight at which the latency benchmark measures a new day, and feeds that a benchmark declares for itself."""

import datetime as dt
import zoneinfo
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import new_day
from bench.declared import declared, score_in
from bench.promotions import by_the_robust_normal
from contracts.feeds import Feed, load_feed

EPOCHS = st.integers(1_700_000_000, 1_900_000_000)


def in_zone(zone: str, folder: Path) -> Feed:
    return declared("service-use", folder, new_day.in_zone(zone))


@given(EPOCHS)
def test_somewhere_a_new_day_begins_within_an_hour(earliest: int):
    name, midnight = new_day.next_midnight(earliest)
    assert earliest < midnight <= earliest + 3600
    zone = zoneinfo.ZoneInfo(name)
    new, old = (dt.datetime.fromtimestamp(at, zone).date() for at in (midnight, midnight - 1))
    assert new == old + dt.timedelta(days=1)


def test_the_feed_is_declared_in_that_zone_in_a_copy(tmp_path):
    feed = in_zone("Asia/Kathmandu", tmp_path)
    assert (feed.timezone, feed.holidays) == ("Asia/Kathmandu", type(feed).model_fields["holidays"].default)
    assert score_in(tmp_path).is_file()
    assert not (tmp_path / "dags").exists()


@pytest.mark.parametrize("day", [dt.date(2026, 11, 27), dt.date(2026, 12, 31), dt.date(2027, 3, 14)])
def test_each_midnight_needs_another_day_type(tmp_path, day: dt.date):
    calendar = in_zone("America/New_York", tmp_path).calendar
    near = [{calendar.day_type(at + dt.timedelta(days=days)) for days in (-1, 0, 1)} for at in (day, day + dt.timedelta(days=1))]
    assert near[0] != near[1]


def test_a_feed_by_the_robust_normal_differs_in_nothing_else(tmp_path):
    feed, plain = declared("service-use", tmp_path, by_the_robust_normal), load_feed("service-use")
    assert (plain.rule.normal, feed.rule.normal) == ("plain", "robust")
    assert feed.model_copy(update={"rule": plain.rule}) == plain
