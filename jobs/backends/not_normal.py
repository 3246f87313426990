"""Which readings of a feed are not normal: those of its incidents, and those that people excluded."""

import datetime as dt

import pyarrow.dataset as ds

from contracts import exclusions as statements
from contracts.exclusions import Excluded
from contracts.feeds import Feed
from jobs.backends import exclusions, tables
from jobs.backends.settings import Platform

COLUMNS = ["Id", "ServiceName", "Start", "Last", "At", "End", "Group"]


def known(platform: Platform, feed: Feed) -> list[Excluded]:
    """As of now, of all dates. An incident counts unless a person said that it, or its group, is a false alarm. One that is open
    counts up to the last of its readings that is known; a later night knows more. A silence has no readings, and a group's are
    those of its members.
    """
    table = exclusions.table_of(platform, feed)
    log = exclusions.read(table, table.version())
    valid = statements.in_force(log)
    found = statements.excluded(log)
    for each in _incidents(platform, feed):
        start, last = _instant(each["Start"]), _instant(each["Last"])
        said = statements.verdict(valid, each["Id"], each["ServiceName"], start, each["Group"])
        if said is None or said.kind != "false":
            end = last + dt.timedelta(seconds=feed.interval_seconds) if each["End"] is None else _instant(each["End"])
            found.append(Excluded(each["ServiceName"], start, end))
    return found


def _incidents(platform: Platform, feed: Feed) -> list[dict]:
    """The newest event of each incident that has readings of its own."""
    table = tables.incidents(platform, feed)
    version = table.version()
    if version < 0:
        return []
    rows = table.dataset(version).to_table(columns=COLUMNS, filter=ds.field("Kind") == "deviation").sort_by("At").to_pylist()
    return list({row["Id"]: row for row in rows}.values())


def _instant(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
