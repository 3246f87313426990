"""Incidents of a part of time: those that the nightly walk found (incidents/<feed>), and the newest ones, which come live."""

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from contracts.feeds import Feed
from serving.incidents import Incident, Incidents, chosen
from serving.lake import Lake, if_readable

STATES = pa.array(["opened", "updated", "closed"])  # in which an incident's events of one moment follow each other
FIELDS = {
    "".join(word.capitalize() for word in name.split("_")): name for name in Incident.__dataclass_fields__ if name != "service"
} | {"ServiceName": "service"}


def between(
    lake: Lake,
    live: Incidents,
    feed: Feed,
    start: dt.datetime,
    end: dt.datetime,
    service: str | None = None,
    only_open: bool = False,
    group: str | None = None,
) -> list[Incident]:
    """Those that last between the instants, chosen and ordered as by `Incidents.of`."""
    return chosen(lasting(lake, live, feed, start, end), service, only_open, group)


def lasting(lake: Lake, live: Incidents, feed: Feed, start: dt.datetime, end: dt.datetime) -> list[Incident]:
    """All that last between the instants, in no order. Of an incident that both know, the record counts by which more is known;
    of two that know as much, that of the table, which late readings have corrected."""
    first, last = (round(each.timestamp() * 1000) for each in (start, end))
    newest_live = live.all(feed.name)
    newest = {each.id: each for each in _past_if_readable(lake, feed, first, last, [each.id for each in newest_live])}
    for each in newest_live:
        if each.id not in newest or each.at > newest[each.id].at:
            newest[each.id] = each
    return [each for each in newest.values() if _lasts(each, first, last)]


def _lasts(incident: Incident, first: int, last: int) -> bool:
    return incident.start < last and (incident.end is None or incident.end > first)


def _past_if_readable(lake: Lake, feed: Feed, first: int, last: int, ids: list[str]) -> list[Incident]:
    """Nothing while the table can't be read (see `Archive.unreadable`): live ones are to be seen nevertheless."""
    return if_readable(_past, [], lake, feed, first, last, ids)


def _past(lake: Lake, feed: Feed, first: int, last: int, ids: list[str]) -> list[Incident]:
    """Those that last between first and last (epoch milliseconds), and those of the ids, whenever they last."""
    table = lake.open(f"incidents/{feed.table}")
    if table is None:
        return []
    known: pa.Table = lake.of_version(("incidents", feed.name), table, lambda: _newest_of_each(table))
    lasts = pc.and_(pc.less(known["Start"], last), pc.or_kleene(pc.is_null(known["End"]), pc.greater(known["End"], first)))
    there = pc.or_(lasts, pc.is_in(known["Id"], pa.array(ids, pa.string())))
    return [Incident(**{FIELDS[name]: cell for name, cell in row.items()}) for row in known.filter(there).to_pylist()]


def _newest_of_each(table: DeltaTable) -> pa.Table:
    """The last event of each incident."""
    events = table.to_pyarrow_dataset().to_table(columns=list(FIELDS))
    events = events.append_column("_rank", pc.index_in(events["State"], STATES))
    events = (
        events.sort_by([("Id", "ascending"), ("At", "ascending"), ("_rank", "ascending")]).drop_columns("_rank").combine_chunks()
    )
    ids = events["Id"].combine_chunks()
    followed = pc.equal(ids[:-1], ids[1:]).to_pylist() if len(ids) > 1 else []
    return events.filter(pa.array([not each for each in followed] + [True] * min(len(ids), 1), pa.bool_()))
