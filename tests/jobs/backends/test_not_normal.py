"""Which readings are not normal: what people said has the last word."""

import datetime as dt

import pyarrow as pa
import pytest

from contracts.exclusions import Excluded, Statement
from contracts.feeds import load_feed
from jobs.backends import exclusions, not_normal, tables
from jobs.transforms import incident_rows
from tests.jobs.conftest import platform_in

FEED = load_feed("service-use")
NOON = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
HOUR, STEP = dt.timedelta(hours=1), dt.timedelta(seconds=10)


def ms(instant):
    return round(instant.timestamp() * 1000)


def event(service, state, at, end=None, kind="deviation"):
    found = dict.fromkeys(incident_rows.COLUMNS) | {"Id": f"{service}@{NOON:%H}", "ServiceName": service, "Kind": kind}
    times = {"Start": ms(NOON), "Last": ms(at), "At": ms(at), "End": end and ms(end)}
    return found | {"Date": NOON.date(), "State": state, **times}


def said(number, kind, incident=None, span=(None, None), service="a"):
    return Statement(number, kind, service, span[0], span[1], None, incident, "mara", "a drill", NOON, f"r{number}")


@pytest.fixture
def platform(tmp_path):
    found = platform_in(tmp_path)
    events = [
        event("a", "closed", NOON + 2 * HOUR, NOON + 2 * HOUR),
        event("a", "opened", NOON),
        event("b", "opened", NOON),
        event("b", "updated", NOON + HOUR) | {"Group": "all@12"},
        event("c", "opened", NOON, kind="silence"),
        event("all", "opened", NOON, kind="group"),
    ]
    rows = pa.Table.from_pylist(events, incident_rows.SCHEMA)
    tables.incidents(found, FEED).write(iter(rows.to_batches()), [NOON.date()], {}, after=-1)
    return found


OPEN = Excluded("b", NOON, NOON + HOUR + STEP)


def test_incidents_are_not_normal_up_to_their_end_or_to_the_last_reading_that_is_known(platform):
    assert not_normal.known(platform, FEED) == [Excluded("a", NOON, NOON + 2 * HOUR), OPEN]


def test_an_incident_that_was_none_is_normal_and_what_people_excluded_is_not(platform):
    table, span = exclusions.table_of(platform, FEED), (NOON - 5 * HOUR, NOON - 4 * HOUR)
    exclusions.add(table, said(1, "false", incident="a@12"), after=-1)
    exclusions.add(table, said(2, "exclude", span=span, service=None), after=0)
    exclusions.add(table, said(3, "note", incident="a@12"), after=1)
    exclusions.add(table, said(4, "note", incident="b@12"), after=2)
    assert not_normal.known(platform, FEED) == [Excluded(None, *span), OPEN], "nothing follows from a note"


def test_if_a_group_was_a_false_alarm_its_members_are_normal(platform):
    exclusions.add(exclusions.table_of(platform, FEED), said(1, "false", incident="all@12", service="*"), after=-1)
    assert not_normal.known(platform, FEED) == [Excluded("a", NOON, NOON + 2 * HOUR)]


def test_a_feed_without_incidents_and_statements_is_all_normal(tmp_path):
    assert not_normal.known(platform_in(tmp_path), FEED) == []
